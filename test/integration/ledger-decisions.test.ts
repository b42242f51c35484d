/** Decisions of people and events of vendors, in any order: the partner never owes money that was not paid (LAW-5). */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { generatePayouts } from "../../src/core/payouts/generate.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { eventsOf } from "../support/commissions.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import {
  chargeRefunded,
  disputeClosed,
  disputeEvent,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  refundEvent,
} from "../support/provider-a-changes.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { adjustmentCreated, transactionCompleted } from "../support/provider-b.ts";
import { reconcileRound } from "../support/reconcile.ts";
import { all } from "../support/rows.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";
import { approvedSale, decide, generate, nextSale, rowsOf, type Row } from "../support/decisions.ts";

async function earnedBy(program: TestProgram, partner_id: string): Promise<number> {
  const { body } = await program.api<{ stats: { total_earned_cents: number } }>(
    "GET",
    `/api/v1/partners/${partner_id}`,
  );
  return body.stats.total_earned_cents;
}

/**
 * A sale of 10,000 with a refund of a quarter. The payout that contained it is canceled, and another payout deducted the
 * difference of 500. The remaining amount and the deducted amount are due with the sale.
 */
async function saleWithDifference() {
  const sold = await approvedSale();
  const [first] = await generate(sold.program);
  await sold.refund(2_500);
  await nextSale(sold.program, sold.partner.slug);
  expect(await generate(sold.program)).toMatchObject([{ amount_cents: 3_500 }]);
  await sold.program.api("POST", `/api/v1/payouts/${first!.id}/cancel`);
  return sold;
}

/** The commissions of a sale's payment that are not in a payout. */
async function freeOf(program: TestProgram, { payment_id }: Row): Promise<string[]> {
  return (await rowsOf(program))
    .filter((row) => row.payment_id === payment_id && row.payout_id === null)
    .map(({ kind, status, amount_cents }) => `${kind} ${status} ${amount_cents}`)
    .toSorted();
}

/** Calls the API and ends the process before the remaining settlements of the change are written. */
async function callAndDie({ api_key }: TestProgram, method: string, path: string, body: object): Promise<number> {
  const { binding } = watchDatabase(env.DB, {
    before: (statements) => {
      if (statements.some((text) => /^update "payments" set .*"settled_revision"/s.test(text))) throw new Error("died");
    },
  });
  const headers = { authorization: `Bearer ${api_key}`, "content-type": "application/json" };
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { status } = await callWith({ DB: binding }, path, { method, headers, body: JSON.stringify(body) });
  vi.restoreAllMocks();
  return status;
}

/** The API shows the decision and the unchanged amounts; payouts, time and the reconciler do not touch them. */
async function expectLeftAlone(program: TestProgram, sale: Row, rows: string[]): Promise<void> {
  expect(await freeOf(program, sale)).toEqual(rows);
  expect(await generate(program)).toEqual([]);
  await serveAll(approveDueCommissions(testContext()));
  await serveAll(settleUnsettled(testContext()));
  await reconcileRound(programContext(program), undefined, true);
  expect(await all("select * from differences where program_id = ?", program.id)).toEqual([]);
  expect(await freeOf(program, sale)).toEqual(rows);
}

describe("a clawback never outlives its sale (COM-8)", () => {
  it.each([10_000, 5_000])(
    "sale in a payout, refund of %i, payout canceled, sale rejected: the next sale is paid in full",
    async (refunded) => {
      const { program, partner, sale, refund } = await approvedSale();
      const [payout] = await generate(program);
      await refund(refunded);
      await program.api("POST", `/api/v1/payouts/${payout!.id}/cancel`);
      const left = 2_000 - refunded / 5;
      expect(await rowsOf(program)).toMatchObject([{ id: sale.id, status: "approved", amount_cents: left }]);
      await decide(program, sale.id, "rejected");
      expect(await earnedBy(program, partner.id)).toBe(0);
      await nextSale(program, partner.slug);
      expect(await generate(program)).toMatchObject([{ amount_cents: 4_000 }]);
    },
  );

  it("also where the clawback went into another payout meanwhile: what that one took is given back", async () => {
    const { program, partner, sale, refund } = await approvedSale();
    const [first] = await generate(program);
    await refund(10_000);
    await nextSale(program, partner.slug);
    const [second] = await generate(program);
    expect(second).toMatchObject({ amount_cents: 2_000 });
    await program.api("POST", `/api/v1/payouts/${first!.id}/cancel`);
    await decide(program, sale.id, "rejected");
    // The second payout pays 2,000 of the earned 4,000; the other 2,000 are still due.
    expect(await earnedBy(program, partner.id)).toBe(4_000);
    expect(await generate(program)).toMatchObject([{ amount_cents: 2_000 }]);
    // Reopening and approving it again does not add to its value.
    await decide(program, sale.id, "pending");
    expect(await earnedBy(program, partner.id)).toBe(4_000);
  });

  it("rejecting in bulk does the same", async () => {
    const { program, partner, sale, refund } = await approvedSale();
    const [payout] = await generate(program);
    await refund(10_000);
    await program.api("POST", `/api/v1/payouts/${payout!.id}/cancel`);
    const bulk = await program.api<{ data: unknown[] }>("POST", "/api/v1/commissions/bulk", {
      ids: [sale.id],
      status: "rejected",
    });
    expect(bulk.body.data).toMatchObject([{ ok: true, status: "rejected" }]);
    await nextSale(program, partner.slug);
    expect(await generate(program)).toMatchObject([{ amount_cents: 4_000 }]);
  });
});

describe("where a change holds and its payment is not settled yet (COM-8)", () => {
  const CHANGES = {
    "a commission reopened": {
      before: ["rejected"],
      ask: ({ sale }: { sale: Row }) => ["PATCH", `/api/v1/commissions/${sale.id}`, { status: "pending" }] as const,
      between: ["clawback approved 500", "sale pending 1500"],
      after: ["sale pending 2000"],
      due: 2_000,
    },
    "commissions reopened in bulk": {
      before: ["rejected"],
      ask: ({ sale }: { sale: Row }) =>
        ["POST", "/api/v1/commissions/bulk", { ids: [sale.id], status: "pending" }] as const,
      between: ["clawback approved 500", "sale pending 1500"],
      after: ["sale pending 2000"],
      due: 2_000,
    },
    "a commission rejected": {
      before: [],
      ask: ({ sale }: { sale: Row }) => ["PATCH", `/api/v1/commissions/${sale.id}`, { status: "rejected" }] as const,
      between: ["sale rejected 2000"],
      after: ["clawback approved 500", "sale rejected 1500"],
      due: 500,
    },
  };

  it.each(Object.entries(CHANGES))("%s: nothing takes it before the minute's job has settled it", async (_, change) => {
    const sold = await saleWithDifference();
    const { program, sale } = sold;
    for (const status of change.before) await decide(program, sale.id, status);
    // Pending and settled commissions are approved automatically.
    await program.api("PATCH", "/api/v1/programs/me", { auto_approve_days: 0 });

    const [method, path, body] = change.ask(sold);
    expect(await callAndDie(program, method, path, body)).toBe(503);
    await expectLeftAlone(program, sale, change.between);

    await serveAll(settleUnsettled(testContext(Date.now() + 2 * MINUTE)));
    expect(await freeOf(program, sale)).toEqual(change.after);
    await serveAll(approveDueCommissions(testContext()));
    // A difference has the date of its settlement.
    const later = Date.now() + 3 * MINUTE;
    const period = { period_start: null, period_end: later, dry_run: false };
    const { payouts } = await generatePayouts(programContext(program, later), period);
    expect(payouts).toMatchObject([{ amount_cents: change.due }]);
  });

  it("a payout canceled: no other one takes what it frees before that", async () => {
    const { program, sale, refund } = await approvedSale();
    const [payout] = await generate(program);
    await refund(2_500);
    expect(await callAndDie(program, "POST", `/api/v1/payouts/${payout!.id}/cancel`, {})).toBe(503);
    await expectLeftAlone(program, sale, ["clawback approved -500", "sale approved 2000"]);
    await serveAll(settleUnsettled(testContext(Date.now() + 2 * MINUTE)));
    expect(await freeOf(program, sale)).toEqual(["sale approved 1500"]);
    expect(await generate(program)).toMatchObject([{ amount_cents: 1_500 }]);
  });
});

describe("what was forgiven counts as given (LAW-2, COM-4)", () => {
  it("sale paid, chargeback, clawback forgiven, chargeback reversed: nothing is paid twice", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const sale = transactionCompleted({ ref: partner.slug, amount: 10_000, program: program.id });
    await sendB(program, sale);
    const [row] = await rowsOf(program);
    await decide(program, row!.id, "approved");
    const [payout] = await generate(program);
    await program.api("POST", `/api/v1/payouts/${payout!.id}/mark-paid`, {});
    await sendB(
      program,
      adjustmentCreated({ transaction: sale.data.id, action: "chargeback", status: "approved", amount: 10_000 }),
    );
    const clawback = (await rowsOf(program)).find(({ kind }) => kind === "clawback");
    expect(clawback).toMatchObject({ status: "approved", amount_cents: -2_000 });
    await decide(program, clawback!.id, "rejected");
    await sendB(
      program,
      adjustmentCreated({
        transaction: sale.data.id,
        action: "chargeback_reverse",
        status: "approved",
        amount: 10_000,
      }),
    );
    expect(await earnedBy(program, partner.id)).toBe(2_000);
    expect(await generate(program)).toEqual([]);
    const { body } = await program.api<{ data: object[] }>("GET", `/api/v1/partners/${partner.id}/balance`);
    expect(body.data).toMatchObject([{ paid_cents: 2_000, payable_cents: 0, forgiven_cents: 2_000 }]);
  });
});

describe("a canceled payout's sale and its refund are one again (LAW-5)", () => {
  it("nothing is left of a commission of nothing whose payment came to be another's in the payout", async () => {
    const { program, partner } = await approvedSale();
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { commission_pct: 0 });
    const other = await makePartner(program);
    const [id, subscription] = [`in_${partner.slug}`, `sub_${partner.slug}`];
    const remembered = sessionCompleted({ ref: other.slug, metadata: null, subscription: `${subscription}x` });
    await sendA(program, remembered);
    await sendA(program, invoicePaid({ id, ref: partner.slug, subscription }));
    const nothing = (await rowsOf(program)).find(({ amount_cents }) => amount_cents === 0)!;
    await decide(program, nothing.id, "approved");
    const [payout] = await generate(program);
    await sendA(program, sessionCompleted({ ref: other.slug, subscription, invoice: id }));
    await program.api("POST", `/api/v1/payouts/${payout!.id}/cancel`);
    const after = (await rowsOf(program)).filter(({ payment_id }) => payment_id === nothing.payment_id);
    expect(after).toMatchObject([{ partner_id: other.id, amount_cents: 2_000 }]);
  });

  it("the month that is generated again pays what is due, not what was", async () => {
    const { program, refund } = await approvedSale();
    const period_end = new Date(Date.now() + 1).toISOString();
    await scheduler.wait(2);
    const [payout] = await generate(program, { period_end });
    await refund(10_000);
    await program.api("POST", `/api/v1/payouts/${payout!.id}/cancel`);
    expect(await generate(program, { period_end })).toEqual([]);
  });

  it("no payout takes a commission whose payment is not settled yet", async () => {
    const { program, sale } = await approvedSale();
    const { payments } = await ledgerOf(program);
    const unsettle = (by: number) =>
      env.DB.prepare("update payments set facts_revision = facts_revision + ? where id = ?")
        .bind(by, payments[0]!.id)
        .run();
    await unsettle(1);
    expect(await generate(program)).toEqual([]);
    await unsettle(-1);
    expect(await generate(program)).toMatchObject([{ amount_cents: 2_000 }]);
    expect((await rowsOf(program))[0]).toMatchObject({ id: sale.id });
  });
});

describe("a judgement belongs to the partner it was made about (LAW-6, LAW-3)", () => {
  it.each(["rejected", "approved"])(
    "a's commission was %s, a late fact gives the payment to b: b's begins pending",
    async (status) => {
      const program = await makeProgram();
      const [a, b] = [await makePartner(program), await makePartner(program)];
      const id = `in_${a.slug}`;
      const subscription = `sub_${a.slug}`;
      await sendA(
        program,
        sessionCompleted({ ref: b.slug, metadata: null, subscription: `${subscription}x`, invoice: `${id}x` }),
      );
      await sendA(program, invoicePaid({ id, ref: a.slug, subscription }));
      const row = (await rowsOf(program)).find(({ partner_id }) => partner_id === a.id)!;
      await decide(program, row.id, status);
      await sendA(program, sessionCompleted({ ref: b.slug, subscription, invoice: id }));
      const after = (await rowsOf(program)).filter(({ payment_id }) => payment_id === row.payment_id);
      expect(after).toMatchObject([{ partner_id: b.id, status: "pending", amount_cents: 2_000 }]);
    },
  );
});

describe("two payments that turn out to be one (PAY-5)", () => {
  /** Sends an intent that names the partner. Returns functions that send the invoice and the event that joins both. */
  async function soldTwice() {
    const program = await makeProgram();
    const partner = await makePartner(program);
    const ids = { payment_intent: `pi_${partner.slug}`, invoice: `in_${partner.slug}` };
    await sendA(program, paymentIntentSucceeded({ payment_intent: ids.payment_intent, ref: partner.slug }));
    const [sale] = await rowsOf(program);
    await decide(program, sale!.id, "approved");
    const invoice = () => sendA(program, invoicePaid({ id: ids.invoice, ref: partner.slug, payment_intent: null }));
    return { program, partner, sale: sale!, invoice, ids, join: () => sendA(program, invoicePaymentPaid(ids)) };
  }

  it("of which one is paid, and the other was rejected: nothing is taken back", async () => {
    const { program, partner, sale, invoice, join } = await soldTwice();
    await invoice();
    const other = (await rowsOf(program)).find(({ id }) => id !== sale.id);
    await decide(program, other!.id, "rejected");
    const [payout] = await generate(program);
    await program.api("POST", `/api/v1/payouts/${payout!.id}/mark-paid`, {});
    await join();
    expect(await rowsOf(program)).toMatchObject([{ id: sale.id, status: "paid", amount_cents: 2_000 }]);
    expect(await earnedBy(program, partner.id)).toBe(2_000);
    expect(await eventsOf(program, "commission.created")).toHaveLength(2);
  });

  it("of which one was refunded and paid back before: what that took is given back with the other", async () => {
    const { program, partner, sale, invoice, ids, join } = await soldTwice();
    const [first] = await generate(program);
    await sendA(program, chargeRefunded({ payment_intent: ids.payment_intent, amount: 10_000, refunded: 10_000 }));
    await nextSale(program, partner.slug);
    expect(await generate(program)).toMatchObject([{ amount_cents: 2_000 }]);
    await invoice();
    await join();
    await program.api("POST", `/api/v1/payouts/${first!.id}/cancel`);
    await decide(program, sale.id, "rejected");
    // The second payout pays 2,000 of the earned 4,000.
    expect(await earnedBy(program, partner.id)).toBe(4_000);
    expect(await generate(program)).toMatchObject([{ amount_cents: 2_000 }]);
  });
});

it("what comes back of a refund while a dispute is open enters no payout, until the dispute is won (PAY-10)", async () => {
  const { program, partner, refund } = await approvedSale();
  const ids = { payment_intent: `pi_${partner.slug}`, charge: `ch_${partner.slug}` };
  const pay = async () => {
    const made = await generate(program);
    for (const { id } of made) await program.api("POST", `/api/v1/payouts/${id}/mark-paid`);
    return made.map(({ amount_cents }) => amount_cents);
  };
  expect(await pay()).toEqual([2_000]);
  await refund(5_000);
  await nextSale(program, partner.slug);
  expect(await pay()).toEqual([3_000]);
  const dispute = { id: `dp_${partner.slug}`, ...ids, amount: 10_000 };
  await sendA(program, disputeEvent("charge.dispute.created", dispute));
  await sendA(program, refundEvent("refund.failed", { ...ids, amount: 5_000, status: "failed" }));
  const back = (await rowsOf(program)).filter(({ status }) => status === "approved");
  expect(back).toMatchObject([{ kind: "clawback", amount_cents: 1_000, flagged: true, review_reason: "disputed" }]);
  expect(await pay()).toEqual([]);
  await sendA(program, disputeClosed({ ...dispute, status: "won" }));
  expect(await pay()).toEqual([1_000]);
});
