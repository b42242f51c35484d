/** The vendors' real events, customer by customer: only money that moved earns (LAW-2). */
import { describe, expect, it } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { inAnyOrder } from "../support/any-order.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import {
  balanceTransaction,
  chargeRefunded,
  disputeClosed,
  disputeEvent,
  sessionCompleted,
} from "../support/provider-a.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  transactionCompleted,
  type TransactionOverrides,
} from "../support/provider-b.ts";

type CommissionBody = Record<"status" | "review_reason" | "payout_id", string> & { flagged: boolean };
type Generated = Record<"payouts" | "skipped" | "totals", { id: string; amount_cents: number; reason: string }[]>;

async function programOfJane(): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane", email: "jane@partners.example" });
  return program;
}

/** Key, outcome and base of each payment, and the commissions' amounts by payment. */
async function earned(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return payments.map((row) => ({
    key: row.provider_transaction_id,
    outcome: row.outcome,
    base: row.txn_amount_cents,
    amounts: commissions.filter(({ payment_id }) => payment_id === row.id).map(({ amount_cents }) => amount_cents),
  }));
}

describe("a downgrade at provider B, and renewals paid from its credit", () => {
  const ids = { customer: "ctm_1", subscription: "sub_1" };
  const paid = (id: string, fields: TransactionOverrides) => transactionCompleted({ id, ...ids, ...fields });

  it.each(["new", "repeated", "old"] as const)(
    "earn on the money that moved and no more (totals of the %s shape)",
    async (shape) => {
      const program = await programOfJane();
      const events = [
        paid("txn_1", { ref: "jane", amount: 23_994, tax: 3_999, shape, occurred_at: "2026-06-01T10:00:00Z" }),
        // total "-19195", credit_to_balance "19195", no adjustment.
        paid("txn_2", { amount: -19_195, tax: -3_199, shape, occurred_at: "2026-06-03T10:00:00Z" }),
        paid("txn_3", { amount: 12_000, tax: 2_000, credit: 12_000, shape, occurred_at: "2026-07-01T10:00:00Z" }),
        paid("txn_4", { amount: 12_000, tax: 2_000, credit: 7_195, shape, occurred_at: "2026-08-01T10:00:00Z" }),
        paid("txn_5", { amount: 12_000, tax: 2_000, shape, occurred_at: "2026-09-01T10:00:00Z" }),
      ];
      for (const event of events) expect((await sendB(program, event)).status).toBe(200);
      expect(await earned(program)).toEqual([
        { key: "txn_1", outcome: "commission", base: 19_995, amounts: [3_999] },
        { key: "txn_2", outcome: "zero_amount", base: 0, amounts: [] },
        { key: "txn_3", outcome: "zero_amount", base: 0, amounts: [] },
        // 4805 charged, of which 800.83 is tax.
        { key: "txn_4", outcome: "commission", base: 4_004, amounts: [801] },
        { key: "txn_5", outcome: "commission", base: 10_000, amounts: [2_000] },
      ]);
    },
  );

  it("earns nothing (`zero_amount`) and is remembered (PAY-4)", async () => {
    const program = await programOfJane();
    await sendB(program, paid("txn_1", { ref: "jane", amount: -5_000 }));
    await sendB(program, paid("txn_2", { amount: 12_000, tax: 2_000 }));
    expect(await earned(program)).toMatchObject([
      { outcome: "zero_amount", amounts: [] },
      { outcome: "commission", amounts: [2_000] },
    ]);
  });

  it("by adjustments, as before 2024: the credit deducts nothing, the renewal that it pays is less", async () => {
    const program = await programOfJane();
    await sendB(program, paid("txn_1", { ref: "jane", amount: 12_000, tax: 2_000 }));
    const credit = { transaction: "txn_1", amount: 6_000, tax: 1_000, status: "approved" as const };
    const reply = await sendB(program, adjustmentCreated({ ...credit, action: "credit" }));
    expect(reply.body).toEqual({ received: true, outcome: "ignored", reason: "counted_by_later_totals" });
    await sendB(program, adjustmentCreated({ ...credit, action: "credit_reverse" }));
    await sendB(program, paid("txn_2", { amount: 6_000, tax: 1_000, credit: 6_000 }));
    expect(await earned(program)).toMatchObject([{ amounts: [2_000] }, { outcome: "zero_amount", amounts: [] }]);
    await sendB(program, adjustmentCreated({ ...credit, action: "refund" }));
    expect(await earned(program)).toMatchObject([{ amounts: [1_000] }, { amounts: [] }]);
  });
});

describe("a change of plan at provider B between items of several tax rates", () => {
  const ids = { id: "txn_1", customer: "ctm_1", subscription: "sub_1" };
  // Given back: 10000 without tax. Charged: 9500, and 1900 of tax.
  const change = transactionCompleted({ ...ids, ref: "jane", amount: 1_400, tax: 1_900 });

  it("whose tax is more than what was charged is accepted, earns nothing and is remembered (PAY-4)", async () => {
    const program = await programOfJane();
    expect((await sendB(program, change)).body).toMatchObject({ outcome: "zero_amount" });
    await sendB(program, transactionCompleted({ id: "txn_2", subscription: "sub_1", amount: 11_400, tax: 1_900 }));
    expect(await earned(program)).toEqual([
      { key: "txn_1", outcome: "zero_amount", base: 0, amounts: [] },
      { key: "txn_2", outcome: "commission", base: 9_500, amounts: [1_900] },
    ]);
  });

  it.each([
    ["more than", 1_400, 1_900, 0, []],
    ["below", 1_000, -50, 1_000, [0]],
  ] as const)("is refunded whole where the tax is %s the total or 0 (PAY-8)", async (_, amount, tax, base, amounts) => {
    const program = await programOfJane();
    const refund = adjustmentCreated({ transaction: "txn_1", status: "approved", amount, tax });
    for (const event of [transactionCompleted({ ...ids, ref: "jane", amount, tax }), refund]) {
      expect((await sendB(program, event)).status).toBe(200);
    }
    expect(await earned(program)).toMatchObject([{ base, amounts }]);
  });
});

describe("a dispute at provider A (PAY-10)", () => {
  const ids = { payment_intent: "pi_1", charge: "ch_1" };
  const T = 1_780_000_000;
  const opened = (created = T + 10) => disputeEvent("charge.dispute.created", { id: "du_1", ...ids, created });
  const withdrawn = disputeEvent("charge.dispute.funds_withdrawn", { id: "du_1", ...ids, created: T + 10 });
  const closed = (status: string) => disputeClosed({ id: "du_1", ...ids, status, created: T + 20 });
  const reinstated = disputeEvent("charge.dispute.funds_reinstated", {
    id: "du_1",
    ...ids,
    status: "won",
    created: T + 20,
  });
  const bought = (fields: Parameters<typeof sessionCompleted>[0] = {}) =>
    sessionCompleted({ ref: "jane", payment_intent: "pi_1", created: T, ...fields });

  async function sold(fields: Parameters<typeof sessionCompleted>[0] = {}) {
    const program = await programOfJane();
    await sendA(program, bought(fields));
    const [row] = (await ledgerOf(program)).commissions;
    const patch = (body: object) => program.api<CommissionBody>("PATCH", `/api/v1/commissions/${row!.id}`, body);
    const generate = async () => (await program.api<Generated>("POST", "/api/v1/payouts/generate", {})).body;
    const commission = async () => (await program.api<CommissionBody>("GET", `/api/v1/commissions/${row!.id}`)).body;
    return { program, patch, generate, commission };
  }

  it("flags the commissions when it is opened; won, the flag goes", async () => {
    const { program, commission } = await sold();
    expect((await sendA(program, opened())).body).toEqual({ received: true, outcome: "flagged" });
    await sendA(program, withdrawn);
    expect(await commission()).toMatchObject({ flagged: true, review_reason: "disputed", amount_cents: 2_000 });
    await sendA(program, closed("won"));
    await sendA(program, reinstated);
    expect(await commission()).toMatchObject({ flagged: false, review_reason: null, amount_cents: 2_000 });
    const { eventCounts } = await ledgerOf(program);
    expect(eventCounts["commission.updated"]).toBe(2);
  });

  it("lost, the commission is recalculated", async () => {
    const { program, commission } = await sold();
    for (const event of [opened(), withdrawn, closed("lost")]) await sendA(program, event);
    expect(await commission()).toMatchObject({ flagged: true, review_reason: "mostly_refunded", amount_cents: 0 });
  });

  it("ends the same in any order, also of events of one second", async () => {
    for (const [last, expected] of [
      [closed("won"), { flagged: false, amount_cents: 2_000 }],
      [closed("lost"), { flagged: true, review_reason: "mostly_refunded", amount_cents: 0 }],
    ] as const) {
      const events = [bought(), opened(T + 20), withdrawn, last];
      for (const order of [
        [3, 2, 1, 0],
        [1, 3, 0, 2],
        [0, 3, 1, 2],
      ]) {
        const program = await programOfJane();
        for (const i of order) await sendA(program, events[i]!);
        expect((await ledgerOf(program)).commissions).toMatchObject([expected]);
      }
    }
  });

  // "If it's not [resolved in your favor], only the partially refunded amount is returned": the vendor's support, on the
  // dispute for a full charge after a partial refund.
  it.each([20, 21])("lost after a part was refunded, only that part is given back (%s s)", async (after) => {
    const refunded = chargeRefunded({ ...ids, amount: 10_000, refunded: 3_000, created: T + 5 });
    const given = disputeEvent("charge.dispute.funds_reinstated", {
      ...{ id: "du_1", ...ids, status: "lost", created: T + after },
      object: { balance_transactions: [balanceTransaction(-10_000), balanceTransaction(3_000)] },
    });
    const { payments, commissions } = await inAnyOrder([bought(), refunded, closed("lost"), given]);
    expect(payments).toMatchObject([{ txn_amount_cents: 10_000, adjusted_cents: 10_000 }]);
    expect(commissions).toMatchObject([{ amount_cents: 0 }]);
  });

  // "List of zero, one, or two balance transactions that show funds withdrawn and reinstated to your Stripe account as a
  // result of this dispute": the vendor's own words on a dispute, whatever its status. A prevented dispute may be
  // blocked or resolved; a resolved one gives the customer the money.
  it("prevented, it takes what it withdrew and kept, in any order", async () => {
    const prevented = (change: string, moves: readonly number[], after: number) =>
      disputeEvent(`charge.dispute.${change}`, {
        ...{ id: "du_1", ...ids, amount: 4_000, status: "prevented", created: T + after },
        object: { balance_transactions: moves.map((move) => balanceTransaction(move)) },
      });
    const blocked = [bought(), prevented("created", [], 10), prevented("closed", [], 10)];
    const untouched = [{ amount_cents: 2_000, flagged: false }];
    expect((await inAnyOrder(blocked)).commissions).toMatchObject(untouched);
    const resolved = [bought(), prevented("created", [], 10), prevented("closed", [-4_000], 10)];
    expect((await inAnyOrder(resolved)).commissions).toMatchObject([{ amount_cents: 1_200, flagged: false }]);
    const givenBack = prevented("funds_reinstated", [-4_000, 4_000], 10);
    expect((await inAnyOrder([bought(), resolved[2]!, givenBack])).commissions).toMatchObject(untouched);
  });

  it("its commissions do not approve themselves, not by time either", async () => {
    const { program, commission } = await sold();
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 0 });
    await sendA(program, opened());
    await serveAll(approveDueCommissions(testContext()));
    expect(await commission()).toMatchObject({ status: "pending" });
    await sendA(program, closed("won"));
    await serveAll(approveDueCommissions(testContext()));
    expect(await commission()).toMatchObject({ status: "approved" });
  });

  it("they enter no payout: an approved one waits, is reported, and is paid when it is won", async () => {
    const { program, patch, generate } = await sold();
    await sendA(program, sessionCompleted({ ref: "jane", payment_intent: "pi_2", amount: 5_000, created: T + 1 }));
    const { commissions } = await ledgerOf(program);
    for (const { id } of commissions) await program.api("PATCH", `/api/v1/commissions/${id}`, { status: "approved" });
    await sendA(program, opened());
    const dry = (await program.api<Generated>("POST", "/api/v1/payouts/generate", { dry_run: true })).body;
    const made = await generate();
    for (const { payouts, skipped, totals } of [dry, made]) {
      expect(payouts).toMatchObject([{ amount_cents: 1_000, commission_count: 1 }]);
      expect(skipped).toMatchObject([{ amount_cents: 2_000, commission_count: 1, reason: "disputed" }]);
      expect(totals).toMatchObject([{ payouts: 1, amount_cents: 1_000, skipped: 1, skipped_cents: 2_000 }]);
    }
    expect(await generate()).toMatchObject({ payouts: [], skipped: [{ reason: "disputed" }] });
    await sendA(program, closed("won"));
    expect(await generate()).toMatchObject({ payouts: [{ amount_cents: 2_000 }], skipped: [] });
    expect((await patch({ flagged: true })).status).toBe(409);
  });

  it("is shown on a commission that a payout holds, which is paid as it is; canceled, it waits", async () => {
    const { program, patch, generate, commission } = await sold();
    await patch({ status: "approved" });
    const [payout] = (await generate()).payouts;
    await sendA(program, opened());
    expect(await commission()).toMatchObject({ payout_id: payout!.id, flagged: true, review_reason: "disputed" });
    expect((await program.api("POST", `/api/v1/payouts/${payout!.id}/cancel`)).status).toBe(200);
    expect(await generate()).toMatchObject({ payouts: [], skipped: [{ reason: "disputed" }] });
    await sendA(program, closed("won"));
    const [again] = (await generate()).payouts;
    await program.api("POST", `/api/v1/payouts/${again!.id}/mark-paid`);
    // A commission that is paid is never edited (LAW-4): a second dispute is carried by a clawback when lost.
    await sendA(program, disputeEvent("charge.dispute.created", { id: "du_2", ...ids, created: T + 30 }));
    expect(await commission()).toMatchObject({ status: "paid", flagged: false });
    await sendA(program, disputeClosed({ id: "du_2", ...ids, created: T + 40 }));
    expect((await ledgerOf(program)).commissions.map((row) => row.amount_cents)).toEqual([2_000, -2_000]);
  });

  it("is the gravest reason; clearing the flag clears all that holds, and lets it be approved and paid", async () => {
    const { program, patch, generate, commission } = await sold({ email: "jane@partners.example" });
    expect(await commission()).toMatchObject({ review_reason: "self_referral" });
    await sendA(program, opened());
    expect(await commission()).toMatchObject({ review_reason: "disputed" });
    expect((await patch({ status: "approved" })).body).toMatchObject({ flagged: true });
    expect(await generate()).toMatchObject({ payouts: [], skipped: [{ reason: "disputed" }] });
    expect((await patch({ flagged: false })).body).toMatchObject({ flagged: false, review_reason: null });
    // The same facts do not flag it again, even if other events are settled meanwhile.
    await sendA(program, chargeRefunded({ ...ids, refunded: 1_000, created: T + 11 }));
    await sendA(program, withdrawn);
    expect(await commission()).toMatchObject({ flagged: false, amount_cents: 1_800 });
    expect(await generate()).toMatchObject({ payouts: [{ amount_cents: 1_800 }], skipped: [] });
  });

  it("leaves the owner's own flag where it was", async () => {
    const { program, patch, commission } = await sold();
    await patch({ flagged: true });
    await sendA(program, opened());
    expect(await commission()).toMatchObject({ review_reason: "disputed" });
    await sendA(program, closed("won"));
    expect(await commission()).toMatchObject({ flagged: true, review_reason: "manual" });
    expect((await patch({ flagged: false })).body).toMatchObject({ flagged: false, review_reason: null });
  });

  it("that comes before its payment waits for it", async () => {
    const program = await programOfJane();
    expect((await sendA(program, opened())).body).toEqual({ received: true, outcome: "waiting" });
    await sendA(program, bought());
    expect((await ledgerOf(program)).commissions).toMatchObject([{ flagged: true, review_reason: "disputed" }]);
  });
});

describe("a chargeback at provider B", () => {
  it("flags while it waits for the vendor, deducts when it is approved, and comes back when it is reversed", async () => {
    const program = await programOfJane();
    await sendB(program, transactionCompleted({ id: "txn_1", ref: "jane", amount: 10_000 }));
    const chargeback = { id: "adj_1", transaction: "txn_1", action: "chargeback", amount: 4_000 } as const;
    const at = (minute: number) => ({ occurred_at: `2026-06-01T10:0${minute}:00Z` });
    const row = async () => (await ledgerOf(program)).commissions[0];
    await sendB(program, adjustmentCreated({ ...chargeback, ...at(1) }));
    expect(await row()).toMatchObject({ flagged: true, review_reason: "disputed", amount_cents: 2_000 });
    await sendB(program, adjustmentUpdated({ ...chargeback, ...at(2) }));
    expect(await row()).toMatchObject({ flagged: false, amount_cents: 1_200 });
    const reversal = { ...chargeback, id: "adj_2", action: "chargeback_reverse", status: "approved" } as const;
    await sendB(program, adjustmentCreated({ ...reversal, ...at(3) }));
    expect(await row()).toMatchObject({ flagged: false, amount_cents: 2_000 });
  });
});
