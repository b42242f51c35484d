import type { Context } from "hono";
import type { Child } from "../../../jsx.ts";
import type { BulkMove } from "../../../../core/payouts/bulk.ts";
import { getExport } from "../../../../core/payouts/exports.ts";
import { readMovedAt, readPaidByFile, type MovedPayouts } from "../../../../core/payouts/open.ts";
import { findPayouts } from "../../../../core/payouts/payouts.ts";
import type { Payout } from "../../../../core/kernel/rows.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { sumUp } from "../../../../domain/amount.ts";
import type { PayoutStatus } from "../../../../domain/payout.ts";
import { ID_PATTERN } from "../../../../lib/id.ts";
import type { PageEnv } from "../../../session.ts";
import { countText, Money, plural, sumsText } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PartnerLink, partnerText } from "../../parts/partner.tsx";
import { payoutObstacle } from "../../parts/payout-move.ts";
import { Table } from "../../parts/table.tsx";

const AT = "/dashboard/payouts";

/** A finished change, as the address of the next page carries it. */
export type Moved =
  | { moved: BulkMove | "prepare"; at: number; left?: readonly string[] }
  | { moved: "file"; file: string };

/** The verb and the new status of each change. */
const DONE = {
  prepare: { status: "pending", verb: "prepared" },
  pay: { status: "paid", verb: "paid" },
  mark_paid: { status: "paid", verb: "marked as paid" },
  cancel: { status: "canceled", verb: "canceled" },
} as const satisfies Record<BulkMove | "prepare", { status: PayoutStatus; verb: string }>;

/** The address of a page that begins with the result of a change. */
export function withMoved(path: string, result: Moved): string {
  const query = new URLSearchParams(path.slice(path.indexOf("?") + 1 || path.length));
  query.set("moved", result.moved);
  if ("file" in result) query.set("file", result.file);
  else {
    query.set("at", String(result.at));
    if (result.left && result.left.length > 0) query.set("left", result.left.join());
  }
  return `${path.split("?", 1).join()}?${query.toString()}`;
}

/** The most payouts that a result lists. */
const MAX_LEFT = 100;

/** The result of the change that led to the page: partners and sums, and each payout that was not changed, with the reason. */
export async function movedNotice(c: Context<PageEnv>): Promise<Child> {
  const moved = c.req.query("moved") ?? "";
  if (moved === "file") return fileNotice(c, c.req.query("file") ?? "");
  if (!Object.hasOwn(DONE, moved)) return null;
  const move = moved as keyof typeof DONE;
  const at = Number(c.req.query("at"));
  if (!Number.isSafeInteger(at) || at <= 0) return null;
  const { status, verb } = DONE[move];
  const ids = (c.req.query("left") ?? "").split(",").filter((id) => ID_PATTERN.test(id));
  const [done, open, left] = await Promise.all([
    readMovedAt(c.var.ctx, { move, at, status }),
    move === "pay" ? readMovedAt(c.var.ctx, { move, at, status: "processing" }) : null,
    move === "prepare" ? [] : findPayouts(c.var.ctx, ids.slice(0, MAX_LEFT)),
  ]);
  const isNothing = countOf(done) + left.length + (open ? countOf(open) : 0) === 0;
  return (
    <>
      {isNothing ? (
        <Notice tone="calm">
          <p>{move === "prepare" ? "There was nothing left to prepare." : `No payout was left to be ${verb}.`}</p>
        </Notice>
      ) : null}
      {countOf(done) > 0 ? (
        <Notice tone="good">
          <p>{await movedText(c, done, verb)}</p>
        </Notice>
      ) : null}
      {open && countOf(open) > 0 ? (
        <Notice tone="warn">
          <p>
            {await movedText(c, open, "in progress")} The provider has not confirmed it yet; we keep checking, and never
            send it twice.
          </p>
        </Notice>
      ) : null}
      {move === "prepare" || left.length === 0 ? null : (
        <NotMoved {...{ c, move, verb }} left={left} names={await namesOf(c, left)} />
      )}
    </>
  );
}

async function fileNotice(c: Context<PageEnv>, id: string): Promise<Child> {
  if (!ID_PATTERN.test(id)) return null;
  const { status, reference } = await getExport(c.var.ctx, id);
  if (status !== "paid") return null;
  const paid = await readPaidByFile(c.var.ctx, id);
  return (
    <Notice tone="good">
      <p>
        {await movedText(c, paid, "marked as paid")}
        {reference === null ? "" : ` Reference: ${reference}.`} <a href={`${AT}/exports/${id}`}>The file's page</a>{" "}
        lists them. If one was not paid, or its money comes back, mark it as returned on its own page: its commissions
        go into the next payout, and the partner gets an e-mail.
      </p>
    </Notice>
  );
}

function countOf({ sums }: MovedPayouts): number {
  return sums.reduce((sum, { count }) => sum + count, 0);
}

/** "71 payouts paid: 3,200.00 USD, to Ada, Grace and 69 more." */
async function movedText(c: Context<PageEnv>, moved: MovedPayouts, verb: string): Promise<string> {
  const { sums, partners, partner_ids } = moved;
  const names = await readPartnerNames(c.var.ctx, partner_ids);
  const named = partner_ids.flatMap((id) => names.get(id) ?? []).map(partnerText);
  const shown = partners > 3 ? named.slice(0, 2) : named;
  const more = partners - shown.length;
  const payees = more > 0 ? [...shown, `${countText(more)} more`] : shown;
  const last = payees.at(-1) ?? "";
  const to = payees.length < 2 ? last : `${payees.slice(0, -1).join(", ")} and ${last}`;
  return `${plural(countOf(moved), "payout")} ${verb}: ${sumsText(sumUp(sums, c.var.session.program))}, to ${to}.`;
}

const namesOf = (c: Context<PageEnv>, left: readonly Payout[]) =>
  readPartnerNames(
    c.var.ctx,
    left.map(({ partner_id }) => partner_id),
  );

interface NotMovedProps {
  c: Context<PageEnv>;
  move: BulkMove;
  verb: string;
  left: readonly Payout[];
  names: Awaited<ReturnType<typeof namesOf>>;
}

function NotMoved({ c, move, verb, left, names }: NotMovedProps) {
  return (
    <section class="card flush">
      <h2>
        {plural(left.length, "payout")} not {verb}
      </h2>
      <Table
        label={`Payouts that were not ${verb}`}
        columns={[{ label: "Partner" }, { label: "Why" }, { label: "Amount", align: "end" }]}
        rows={left.map((payout) => [
          <PartnerLink partner={names.get(payout.partner_id)} />,
          <a href={`${AT}/${payout.id}`}>{whyNot(c, move, payout)}</a>,
          <Money of={payout} />,
        ])}
      />
    </section>
  );
}

/** The reason as the payout now shows it. */
function whyNot(c: Context<PageEnv>, move: BulkMove, payout: Payout): string {
  if (payout.status === "failed" && move === "pay") return payout.failure_message ?? "The transfer failed.";
  if (payout.status === "processing") return "It is in a file, or its transfer is in progress.";
  return payoutObstacle(move, payout, c.var.session.program) ?? "It was not started. Choose it again.";
}
