/** Flags that the version before left on what is final, after the upgrade (src/docs/deploy.md). */
import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { journalOldCommissions } from "../../src/core/ledger/journal.ts";
import { openDatabase } from "../../src/db/client.ts";
import { fill, goBack, goOn } from "../support/before-journal.ts";
import { serveAll } from "../support/jobs.ts";
import type { CommissionRow } from "../support/payouts.ts";
import { all } from "../support/rows.ts";

/** All that were ever in the recorded program, before the migration. */
async function recordedRows(): Promise<CommissionRow[]> {
  await goBack(env.DB);
  await fill(env.DB, 1);
  await goOn(
    env.DB,
    env.TEST_MIGRATIONS.findIndex(({ name }) => name.endsWith("_paid_unflagged.sql")),
  );
  return all<CommissionRow>("select * from commissions order by id");
}

const FLAG = "update commissions set flagged = 1, review_reason = ?, review_reasons = ? where id = ?";
const FLAGGED =
  "select id from commissions where (flagged = 1 or review_reason is not null or review_reasons <> '') and id in (?, ?, ?)";
const COUNTED = "select sum(count) as n from list_counts where list = 'flagged' and state = 'paid'";

let rows: CommissionRow[];
beforeEach(async () => {
  rows = await recordedRows();
});

it("go from what is paid, whoever pays it, and who flagged it stays known (PAY-11, LAW-7)", async () => {
  const held = rows.filter(({ kind, payout_id }) => kind === "sale" && payout_id !== null);
  const [posted, unposted] = held.filter(({ status }) => status === "paid").map(({ id }) => id) as [string, string];
  const next = held.find(({ status }) => status === "approved")!.id;
  await all("update commissions set journaled = 1 where id in (?, ?)", posted, next);
  for (const id of [posted, unposted, next]) await all(FLAG, "manual", "", id);
  const flagged = async () => {
    const found = (await all<{ id: string }>(FLAGGED, posted, unposted, next)).map(({ id }) => id);
    const names = Object.entries({ posted, unposted, next }).flatMap(([name, id]) =>
      found.includes(id) ? [name] : [],
    );
    return [names, ...(await all<{ n: number }>(COUNTED)).map(({ n }) => n)];
  };
  expect(await flagged()).toEqual([["posted", "unposted", "next"], 2]);
  await goOn(env.DB);
  // What the journal has yet to read keeps its flag until then: it says that somebody decided.
  expect(await flagged()).toEqual([["unposted", "next"], 1]);
  // As the version before pays, while the newer schema is there.
  await all("update commissions set status = 'paid' where id = ?", next);
  expect(await flagged()).toEqual([["unposted"], 1]);
  await serveAll(journalOldCommissions({ db: openDatabase(env.DB) }));
  expect(await flagged()).toEqual([[], 0]);
  const decided = await all("select kind from decisions where commission_id = ? and kind = 'flag'", unposted);
  expect(decided).toEqual([{ kind: "flag" }]);
});

it("go from differences that are rejected and from what is another's by now, but what a person flagged (PAY-10, PAY-11)", async () => {
  const differences = rows.filter(({ kind, status }) => kind === "clawback" && status === "rejected");
  const held = rows.filter(
    ({ kind, status, payout_id }) => kind === "sale" && status === "approved" && payout_id !== null,
  );
  const [one, other, own, moved, movedByHand] = [...differences, ...held].map(({ id }) => id);
  const manual = "disputed,manual";
  for (const [id, reasons] of [
    [one, "disputed"],
    [other, manual],
    [own, manual],
    [moved, "disputed"],
    [movedByHand, manual],
  ]) {
    await all(FLAG, "disputed", reasons!, id!);
  }
  await all(
    `update payments set partner_id = (select id from partners where id <> payments.partner_id limit 1)
      where id in (select payment_id from commissions where id in (?, ?))`,
    ...[moved!, movedByHand!],
  );
  await goOn(env.DB);
  const left = await all<CommissionRow>("select * from commissions");
  const shown = [one, other, own, moved, movedByHand].map((id) => {
    const row = left.find((each) => each.id === id)!;
    return [row.flagged, row.review_reason, row.review_reasons];
  });
  const [gone, byHand] = [
    [0, null, ""],
    [1, "manual", "manual"],
  ];
  expect(shown).toEqual([gone, byHand, [1, "disputed", manual], gone, byHand]);
});
