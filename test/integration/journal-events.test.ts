/** Each journal entry names the audit event of its change (PART-8). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { iso } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { commissionsOf, makeCommissions } from "../support/payouts.ts";
import { chargeRefunded } from "../support/provider-a-changes.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { all, type Entry } from "../support/rows.ts";

interface Named extends Entry {
  type: string | null;
  program_id: string | null;
  /** The event's payload as JSON. */
  payload: string | null;
}

/** Returns the movements since the last call, in order, each with the type of its event. */
function follower(program: TestProgram) {
  const seen = new Set<string>();
  return async (): Promise<string[]> => {
    const rows = await all<Named>(
      `select e.*, v.type, v.program_id, v.payload from entries e left join events v on v.id = e.event_id
        where e.program_id = ?`,
      program.id,
    );
    const fresh = rows.filter(({ id }) => !seen.has(id));
    for (const { id, type, program_id, payload, commission_id, payout_id, partner_id } of fresh) {
      seen.add(id);
      const about = JSON.parse(payload ?? "{}") as Record<string, string>;
      expect([program_id, about["partner_id"]]).toEqual([program.id, partner_id]);
      if (type?.startsWith("payout.")) expect(about["payout_id"]).toBe(payout_id);
      else expect(about["commission_id"]).toBe(commission_id);
    }
    return fresh
      .map(
        ({ from_account, to_account, amount_cents, type }) => `${from_account} > ${to_account} ${amount_cents} ${type}`,
      )
      .toSorted();
  };
}

async function journey() {
  const program = await makeProgram({ auto_approve_days: 1 });
  const partner = await makePartner(program);
  return { program, partner, posted: follower(program), payment_intent: `pi_${partner.slug}` };
}

async function generate(program: TestProgram): Promise<string> {
  const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
  return body.payouts[0]!.id;
}

describe("the event of an entry", () => {
  it("is the commission's own where it is earned, refunded, approved, paid, clawed back and forgiven", async () => {
    const { program, partner, posted, payment_intent } = await journey();
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, payment_intent }));
    expect(await posted()).toEqual(["expense > pending 2000 commission.created"]);
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 1_000 }));
    expect(await posted()).toEqual(["pending > expense 200 commission.updated"]);
    const [sale] = (await ledgerOf(program)).commissions;
    await program.api("PATCH", `/api/v1/commissions/${sale!.id}`, { status: "approved" });
    expect(await posted()).toEqual(["pending > payable 1800 commission.updated"]);
    await program.api("POST", `/api/v1/payouts/${await generate(program)}/mark-paid`, {});
    expect(await posted()).toEqual([
      "in_payout > paid 1800 commission.updated",
      "payable > in_payout 1800 payout.generated",
    ]);
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 10_000 }));
    expect(await posted()).toEqual(["payable > expense 1800 commission.created"]);
    const clawback = (await ledgerOf(program)).commissions.find(({ kind }) => kind === "clawback");
    const forgiving = { status: "rejected", reason: "goodwill" };
    await program.api("PATCH", `/api/v1/commissions/${clawback!.id}`, forgiving);
    expect(await posted()).toEqual(["forgiven > payable 1800 commission.updated"]);
  });

  it("is the payout's where it is generated or canceled, each partner's own, and then what settling it leaves", async () => {
    const { program, partner, posted, payment_intent } = await journey();
    const other = await makePartner(program);
    for (const amount_cents of [1_000, 700]) {
      await program.api("POST", "/api/v1/commissions", { partner_id: other.id, amount_cents, note: "a bonus" });
    }
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 10_000, payment_intent }));
    expect(await posted()).toEqual([
      "expense > pending 1000 commission.created",
      "expense > pending 2000 commission.created",
      "expense > pending 700 commission.created",
    ]);
    await program.api("POST", "/api/v1/commissions/bulk", { filter: {}, status: "approved" });
    expect(await posted()).toEqual([
      "pending > payable 1000 commission.updated",
      "pending > payable 2000 commission.updated",
      "pending > payable 700 commission.updated",
    ]);
    await generate(program);
    expect(await posted()).toEqual([
      "payable > in_payout 1000 payout.generated",
      "payable > in_payout 2000 payout.generated",
      "payable > in_payout 700 payout.generated",
    ]);
    await sendA(program, chargeRefunded({ payment_intent, amount: 10_000, refunded: 4_000 }));
    expect(await posted()).toEqual(["payable > expense 800 commission.created"]);
    const [held] = await all<{ id: string }>("select id from payouts where partner_id = ?", partner.id);
    await program.api("POST", `/api/v1/payouts/${held!.id}/cancel`, {});
    expect(await posted()).toEqual([
      "expense > payable 800 commission.updated",
      "in_payout > payable 2000 payout.updated",
      "payable > expense 800 commission.updated",
    ]);
  });

  it("is the withdrawal's, and the creation's, where a late fact gives the payment to another partner", async () => {
    const { program, partner, posted } = await journey();
    const other = await makePartner(program);
    const ids = { subscription: `sub_${program.id}`, invoice: `in_${program.id}` };
    await sendA(program, invoicePaid({ id: ids.invoice, ref: partner.slug, subscription: ids.subscription }));
    expect(await posted()).toEqual(["expense > pending 2000 commission.created"]);
    await sendA(program, sessionCompleted({ ref: other.slug, ...ids }));
    expect(await posted()).toEqual([
      "expense > pending 2000 commission.created",
      "pending > expense 2000 commission.updated",
    ]);
  });

  it("is each commission's own where time approves many at once, and one has an event of before", async () => {
    const { program, partner, posted } = await journey();
    const note = "a bonus";
    for (const amount_cents of [1, 2, 3]) {
      await program.api("POST", "/api/v1/commissions", { partner_id: partner.id, amount_cents, note });
    }
    await posted();
    await serveAll(approveDueCommissions(testContext(Date.now() + 3 * 86_400_000)));
    expect(await posted()).toEqual([1, 2, 3].map((n) => `pending > payable ${n} commission.updated`));
    const events = (await commissionsOf(program)).map(({ event_id }) => event_id);
    expect(new Set(events).size).toBe(3);
  });

  it("is null where a row is written past the service, whatever the change before was", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const [known] = await makeCommissions(program, partner.id, [{ status: "pending" }]);
    await program.api("PATCH", `/api/v1/commissions/${known!.id}`, { status: "approved" });
    await env.DB.prepare("update commissions set status = 'rejected', updated_at = ?2 where id = ?1")
      .bind(known!.id, iso(Date.now()))
      .run();
    const { body } = await program.api<{ data: Entry[] }>("GET", `/api/v1/partners/${partner.id}/entries`);
    const eventsOf = (commission_id: string) =>
      Object.fromEntries(
        body.data
          .filter((entry) => entry.commission_id === commission_id)
          .map(({ from_account, to_account, event_id }) => [`${from_account} > ${to_account}`, event_id]),
      );
    const [approval] = await all<{ id: string }>(
      "select id from events where program_id = ? and type = 'commission.updated'",
      program.id,
    );
    expect(eventsOf(known!.id)).toEqual({
      "expense > pending": null,
      "pending > payable": approval!.id,
      "payable > expense": null,
    });
  });
});
