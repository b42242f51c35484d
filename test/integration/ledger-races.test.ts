/** Changes between the read and the commit of a settlement have the same result as before or after it. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { updateMatching } from "../../src/core/commissions/bulk.ts";
import { updateCommission } from "../../src/core/commissions/commissions.ts";
import type { ProgramCtx } from "../../src/core/kernel/context.ts";
import { MINUTE } from "../../src/lib/time.ts";
import type { Bindings } from "../../src/env.ts";
import { sendImport } from "../support/imports.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, customerEvent, disputeEvent } from "../support/provider-a-changes.ts";
import { invoicePaid, sessionCompleted, subscriptionDeleted } from "../support/provider-a.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

/** A database that runs `act` once, after a settlement's reads and before its write. */
function actBeforeSettling(act: () => Promise<unknown>): Partial<Bindings> {
  return actBefore(/^update "payments" set .*"settled_revision"/s, act);
}

/** A database that runs `act` once, before the first batch with a matching statement. */
function actBefore(statement: RegExp, act: () => Promise<unknown>): Partial<Bindings> {
  let isDone = false;
  const watched = watchDatabase(env.DB, {
    before: async (statements) => {
      if (isDone || !statements.some((text) => statement.test(text))) return;
      isDone = true;
      await act();
    },
  });
  return { DB: watched.binding };
}

async function change(program: TestProgram, method: "POST" | "PATCH", path: string, body: object = {}): Promise<void> {
  expect((await program.api(method, `/api/v1/${path}`, body)).status).toBe(200);
}

it("a partner who turns active while a payment is settled earns of it (PART-4)", async () => {
  const program = await makeProgram();
  const partner = await makePartner(program, {}, "invited");
  const activate = () => change(program, "PATCH", `partners/${partner.id}`, { status: "active" });
  await sendA(program, sessionCompleted({ ref: partner.slug }), actBeforeSettling(activate));
  expect((await ledgerOf(program)).commissions).toMatchObject([{ partner_id: partner.id, amount_cents: 2_000 }]);
});

/** A sale of 10,000 that earns 2,000, in a payout. */
async function saleInPayout() {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  await sendA(program, sessionCompleted({ ref: slug, amount: 10_000, payment_intent: `pi_${slug}` }));
  const sale = (await ledgerOf(program)).commissions[0]!;
  await change(program, "PATCH", `commissions/${sale.id}`, { status: "approved" });
  await change(program, "POST", "payouts/generate");
  const held = (await ledgerOf(program)).commissions[0]!;
  const refund = chargeRefunded({ payment_intent: `pi_${slug}`, amount: 10_000, refunded: 2_500 });
  return { program, slug, sale, payout_id: held.payout_id!, refund };
}

it("of a payout that is canceled while a refund is settled no difference is left beside its sale (COM-4)", async () => {
  const { program, payout_id, refund } = await saleInPayout();
  const cancel = () => change(program, "POST", `payouts/${payout_id}/cancel`);
  await sendA(program, refund, actBeforeSettling(cancel));
  expect((await ledgerOf(program)).commissions).toMatchObject([{ kind: "sale", amount_cents: 1_500, payout_id: null }]);
});

it("a payout that is canceled while a refund is settled leaves nothing unsettled (COM-4)", async () => {
  const { program, payout_id, refund } = await saleInPayout();
  const refunded = actBefore(/^update "payouts"/, () => sendA(program, refund));
  const headers = { authorization: `Bearer ${program.api_key}` };
  expect((await callWith(refunded, `/api/v1/payouts/${payout_id}/cancel`, { method: "POST", headers })).status).toBe(
    200,
  );
  expect((await ledgerOf(program)).commissions).toMatchObject([{ kind: "sale", amount_cents: 1_500, payout_id: null }]);
});

it("what a canceled payout frees waits for the next generation until it is settled, also where it is 0 (OUT-1, COM-4)", async () => {
  const { program, slug, payout_id } = await saleInPayout();
  const generate = () => change(program, "POST", "payouts/generate");
  const sell = async () => {
    await sendA(program, sessionCompleted({ ref: slug, amount: 5_000 }));
    const sold = (await ledgerOf(program)).commissions.find(({ status }) => status === "pending")!;
    await change(program, "PATCH", `commissions/${sold.id}`, { status: "approved" });
  };
  await sendA(program, chargeRefunded({ payment_intent: `pi_${slug}`, amount: 10_000, refunded: 10_000 }));
  await sell();
  const headers = { authorization: `Bearer ${program.api_key}` };
  const path = `/api/v1/payouts/${payout_id}/cancel`;
  expect((await callWith(actBeforeSettling(generate), path, { method: "POST", headers })).status).toBe(200);
  await sell();
  await generate();
  const { body } = await program.api<{ data: Record<"amount_cents" | "commission_count", number>[] }>(
    "GET",
    "/api/v1/payouts?status=pending",
  );
  // The first payout lacks the commission of 0; the next contains it.
  const made = body.data.map((one) => `${one.amount_cents} in ${one.commission_count}`);
  expect(made.toSorted()).toEqual(["1000 in 1", "1000 in 2"]);
  const amounts = (await ledgerOf(program)).commissions.map((row) => row.amount_cents);
  expect(amounts.toSorted((a, b) => a - b)).toEqual([0, 1_000, 1_000]);
});

it("of a sale that is freed and rejected while its refund is settled nothing is owed back (LAW-5)", async () => {
  const { program, sale, payout_id, refund } = await saleInPayout();
  const reject = async () => {
    await change(program, "POST", `payouts/${payout_id}/cancel`);
    await change(program, "PATCH", `commissions/${sale.id}`, { status: "rejected" });
  };
  await sendA(program, refund, actBeforeSettling(reject));
  expect((await ledgerOf(program)).commissions).toMatchObject([{ kind: "sale", status: "rejected" }]);
});

it("a commission whose dispute is recorded and not settled yet is not approved by time (COM-6)", async () => {
  const program = await makeProgram({ auto_approve_days: 0 });
  const { slug } = await makePartner(program);
  const payment_intent = `pi_${slug}`;
  await sendA(program, sessionCompleted({ ref: slug, payment_intent }));
  const dies = actBeforeSettling(() => Promise.reject(new Error("the machine is lost")));
  const dispute = disputeEvent("charge.dispute.created", { id: `dp_${slug}`, payment_intent, amount: 10_000 });
  expect((await sendA(program, dispute, dies)).status).toBe(503);
  await serveAll(approveDueCommissions(testContext(Date.now() + 60_000)));
  expect((await ledgerOf(program)).commissions).toMatchObject([{ status: "pending" }]);
  await sendA(program, dispute);
  expect((await ledgerOf(program)).commissions).toMatchObject([{ status: "pending", review_reason: "disputed" }]);
});

it("an event that comes again under its id and names another payment joins nothing (LAW-1)", async () => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  for (const n of [1, 2]) await sendA(program, sessionCompleted({ ref: slug, payment_intent: `pi_${slug}_${n}` }));
  const charge = `ch_${slug}`;
  const refund = chargeRefunded({ payment_intent: `pi_${slug}_1`, charge, amount: 10_000, refunded: 2_500 });
  const dies = actBeforeSettling(() => Promise.reject(new Error("the machine is lost")));
  expect((await sendA(program, refund, dies)).status).toBe(503);
  const other = chargeRefunded({ payment_intent: `pi_${slug}_2`, charge, amount: 10_000, refunded: 2_500 });
  expect((await sendA(program, { ...other, id: refund.id })).status).toBe(200);
  const { payments, commissions } = await ledgerOf(program);
  expect(payments.map(({ outcome }) => outcome)).toEqual(["commission", "commission"]);
  expect(commissions.map(({ amount_cents }) => amount_cents).toSorted()).toEqual([1_500, 2_000]);
});

it("a subscription that ends while a payment of nobody becomes a partner's flags the commission (PAY-11)", async () => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  const [invoice, subscription] = [`in_${slug}`, `sub_${slug}`];
  await sendA(program, invoicePaid({ id: invoice, subscription, ref: null }));
  expect((await ledgerOf(program)).payments).toMatchObject([{ outcome: "no_ref" }]);
  const ends = actBeforeSettling(() => sendA(program, subscriptionDeleted({ id: subscription })));
  await sendA(program, sessionCompleted({ ref: slug, invoice, subscription }), ends);
  expect((await ledgerOf(program)).commissions).toMatchObject([
    { flagged: true, review_reason: "subscription_canceled" },
  ]);
});

it("a customer who is imported by the address while a payment is settled earns for the partner (REF-3)", async () => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  const email = `${slug}@buyers.example`;
  const file = `customer_email,partner_code\n${email},${slug}`;
  const bind = async () => expect((await sendImport(program, { kind: "customers" }, file)).body.added).toBe(1);
  const created = Math.ceil(Date.now() / 1000) + 60;
  await sendA(program, sessionCompleted({ customer: null, email, created }), actBeforeSettling(bind));
  const { commissions } = await ledgerOf(program);
  expect(commissions).toHaveLength(1);
});

describe("decisions hold in the order taken, however long their requests last (LAW-1, LAW-6, LAW-7)", () => {
  const day = (n: number) => Math.floor(Date.now() / 1_000) - (30 - n) * 86_400;
  const WAYS = {
    "by hand": (ctx: ProgramCtx, id: string) => updateCommission(ctx, id, { status: "rejected", reason: "" }),
    "in bulk": (ctx: ProgramCtx) =>
      updateMatching(ctx, {}, { status: "rejected", include_flagged: false }, { clock: () => 0 }),
  };

  it.each(Object.entries(WAYS))("approved, then rejected %s by one that began before", async (_, reject) => {
    const { program, rowOfJane } = await movedSale();
    const began = Date.now() + MINUTE;
    const { id } = await rowOfJane();
    await updateCommission(programContext(program, began + 3_000), id, { status: "approved" });
    await reject(programContext(program, began), id);
    expect(await rowOfJane()).toMatchObject({ status: "rejected" });
    for (const [ref, n] of [
      ["bob", 11],
      ["jane", 12],
    ] as const) {
      await sendA(program, customerEvent({ id: "cus_1", ref, created: day(n) }));
    }
    expect(await rowOfJane()).toMatchObject({ status: "rejected", approved_at: null });
  });

  it("reopened, then approved by time in a run that began before", async () => {
    const { program, rowOfJane } = await movedSale();
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 0 });
    const began = Date.now() + MINUTE;
    const { id } = await rowOfJane();
    for (const [ms, status] of [
      [2_000, "rejected"],
      [3_000, "pending"],
    ] as const) {
      await updateCommission(programContext(program, began + ms), id, { status });
    }
    await serveAll(approveDueCommissions(testContext(began)));
    const approved = await rowOfJane();
    expect(approved).toMatchObject({ status: "approved" });
    for (const [ref, n] of [
      ["bob", 11],
      ["jane", 12],
    ] as const) {
      await sendA(program, customerEvent({ id: "cus_1", ref, created: day(n) }));
    }
    expect(await rowOfJane()).toMatchObject({ status: "approved", approved_at: approved.approved_at });
  });

  /** A sale that is attributed to jane by its customer's remembered reference. */
  async function movedSale() {
    const program = await makeProgram();
    for (const slug of ["jane", "bob"]) await makePartner(program, { slug });
    await sendA(program, customerEvent({ id: "cus_1", ref: "jane", created: day(10) }));
    await sendA(program, sessionCompleted({ ref: null, customer: "cus_1", created: day(20) }));
    const rowOfJane = async () => {
      const [row, ...others] = (await ledgerOf(program)).commissions;
      expect(others).toEqual([]);
      return row!;
    };
    return { program, rowOfJane };
  }
});

it("what is settled while a payout takes the commission is in it once the payout is canceled (LAW-1, COM-8)", async () => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  const [payment_intent, subscription] = [`pi_${slug}`, `sub_${slug}`];
  await sendA(program, sessionCompleted({ ref: slug, payment_intent }));
  const { id } = (await ledgerOf(program)).commissions[0]!;
  await change(program, "PATCH", `commissions/${id}`, { status: "approved" });
  const takes = actBefore(/insert into "?facts"?/i, () => change(program, "POST", "payouts/generate"));
  await sendA(program, invoicePaid({ ref: slug, payment_intent, subscription }), takes);
  const [held] = (await ledgerOf(program)).commissions;
  expect(held).toMatchObject({ id, status: "approved", subscription_id: null });
  await change(program, "POST", `payouts/${held!.payout_id}/cancel`);
  expect((await ledgerOf(program)).commissions).toMatchObject([{ id, payout_id: null, subscription_id: subscription }]);
});
