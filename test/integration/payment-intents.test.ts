/**
 * Payment intents of provider A: they are payments if no other event reports the payment, and are never counted twice.
 */
import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { earnedAfter, inAnyOrder } from "../support/any-order.ts";
import { readerOf } from "../support/parsed.ts";
import {
  chargeRefunded,
  chargeSucceeded,
  disputeClosed,
  disputeEvent,
  invoicePaid,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  sessionAsyncSucceeded,
  sessionCompleted,
  refundEvent,
} from "../support/provider-a.ts";

const { factsOf, paymentOf, refusedPaths } = readerOf(providerA);

/** Seconds: the vendor's own order is the same however its events arrive. */
const AT = 1_790_000_000;
const IDS = { payment_intent: "pi_1", charge: "ch_1" };
const intent = (fields: Parameters<typeof paymentIntentSucceeded>[0] = {}) =>
  paymentIntentSucceeded({ ...IDS, ref: "jane", amount: 12_000, created: AT, ...fields });

describe("a payment intent that succeeded", () => {
  it("is a payment by the reference in its metadata, net of the tax that it states (PAY-24)", () => {
    expect(paymentOf(intent({ tax: 2_000, customer: "cus_1", email: "buyer@example.com" }))).toMatchObject({
      ...{ key: "pi_1", source: "intent", aliases: ["pi_1", "ch_1"], paid: true, currency: "USD" },
      ...{ base_cents: 10_000, gross_cents: 12_000, refs: [{ ref: "jane", place: "metadata" }] },
      ...{ customer_id: "cus_1", customer_email: "buyer@example.com", subscription_id: null },
    });
  });

  it("is one without a reference too, and says only what belongs together if it is for an invoice (PAY-24)", () => {
    expect(factsOf(intent({ ref: null }))).toMatchObject([{ kind: "payment", key: "pi_1", ref: null, refs: [] }]);
    for (const of of [{ invoice: "in_1" }, { order_reference: "in_1" }]) {
      expect(factsOf(intent(of))).toMatchObject([{ kind: "link", aliases: ["pi_1", "ch_1", "in_1"] }]);
    }
    for (const order_reference of ["order-7", "in_store-7", "in_store_7", "in_", "xin_1"]) {
      expect(paymentOf(intent({ order_reference })).aliases).toEqual(["pi_1", "ch_1"]);
    }
  });

  it("is refused without the money that it received", () => {
    expect(refusedPaths(intent({ object: { amount_received: null } }))).toEqual(["data.object.amount_received"]);
    expect(refusedPaths(intent({ object: { currency: null } }))).toEqual(["data.object.currency"]);
    expect(refusedPaths(intent({ ref: null, object: { amount_received: null } }))).toEqual([
      "data.object.amount_received",
    ]);
  });

  it("earns, and loses what is refunded and disputed of its charge, in any order (PAY-24)", async () => {
    const refund = chargeRefunded({ ...IDS, amount: 12_000, refunded: 3_000, created: AT + 10 });
    const dispute = { charge: "ch_1", id: "du_1", amount: 3_000 };
    const opened = disputeEvent("charge.dispute.created", { ...dispute, created: AT + 20 });
    expect((await inAnyOrder([intent(), refund, opened])).commissions).toMatchObject([
      { amount_cents: 1_800, flagged: true },
    ]);
    const lost = disputeClosed({ ...dispute, created: AT + 30 });
    expect((await inAnyOrder([intent(), refund, lost])).commissions).toMatchObject([{ amount_cents: 1_200 }]);
  });

  it("counts once with its session, which knows the tax, in any order (PAY-24)", async () => {
    const session = sessionCompleted({ ref: "jane", ...IDS, amount: 12_000, tax: 2_000, created: AT + 2 });
    const charge = chargeSucceeded({ ...IDS, amount: 12_000, created: AT });
    const refund = chargeRefunded({ ...IDS, amount: 12_000, refunded: 6_000, created: AT + 10 });
    const earned = await inAnyOrder([intent(), session, charge, refund]);
    expect(earned).toMatchObject({
      payments: [{ outcome: "commission", txn_amount_cents: 10_000, gross_cents: 12_000, adjusted_cents: 5_000 }],
      commissions: [{ amount_cents: 1_000 }],
    });
  });

  it("counts once with its invoice, of which another event says that it belongs to it, in any order (PAY-24)", async () => {
    const invoice = invoicePaid({ id: "in_1", ref: "jane", amount: 12_000, tax: 2_000, created: AT + 2 });
    const link = invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1", created: AT + 3 });
    const earned = await inAnyOrder([intent(), invoice, link]);
    expect(earned).toMatchObject({ payments: [{ txn_amount_cents: 10_000 }], commissions: [{ amount_cents: 2_000 }] });
  });

  it("pays one invoice at a time: of two the one that was paid later counts, in any order (PAY-5)", async () => {
    const paid = (invoice: string, amount: number, created: number) => [
      invoicePaid({ id: invoice, ref: "jane", amount, created }),
      invoicePaymentPaid({ invoice, payment_intent: "pi_1", created }),
    ];
    const events = [...paid("in_1", 12_000, AT), ...paid("in_2", 9_000, AT + 100)];
    const earned = await inAnyOrder(events);
    expect(earned).toMatchObject({ payments: [{ txn_amount_cents: 9_000 }], commissions: [{ amount_cents: 1_800 }] });
  });

  it("pays the session that waits for the money, by the session's sum (PAY-24)", async () => {
    const fields = { id: "cs_1", ref: "jane", ...IDS, amount: 12_000, tax: 2_000 };
    const begun = sessionCompleted({ ...fields, payment_status: "unpaid", created: AT - 100 });
    const paid = sessionAsyncSucceeded({ ...fields, created: AT + 1 });
    const without = await inAnyOrder([begun, intent()]);
    expect(without).toMatchObject({ payments: [{ txn_amount_cents: 10_000 }], commissions: [{ amount_cents: 2_000 }] });
    expect(await inAnyOrder([begun, intent(), paid])).toEqual(without);
  });
});

describe("money that was held and taken later", () => {
  const fields = { id: "cs_1", ref: "jane", payment_intent: "pi_1", amount: 12_000, tax: 2_000 };
  const held = sessionCompleted({ ...fields, payment_status: "unpaid", created: AT - 100 });
  const taken = (captured = 12_000) => intent({ ref: null, captured });

  it("is a payment once its intent says that it was taken, for no session says so, in any order (PAY-6)", async () => {
    const earned = await inAnyOrder([held, taken()]);
    expect(earned).toMatchObject({
      payments: [{ outcome: "commission", txn_amount_cents: 10_000, gross_cents: 12_000 }],
      commissions: [{ amount_cents: 2_000, created_at: new Date(AT * 1000).toISOString() }],
    });
    expect((await earnedAfter([held])).payments).toMatchObject([{ outcome: "unpaid" }]);
  });

  it("is as much as was taken, net of the tax in it, in any order (PAY-1)", async () => {
    const part = {
      payments: [{ txn_amount_cents: 5_000, gross_cents: 6_000 }],
      commissions: [{ amount_cents: 1_000 }],
    };
    expect(await inAnyOrder([held, taken(6_000)])).toMatchObject(part);
    expect(await inAnyOrder([held, intent({ captured: 6_000 })])).toMatchObject(part);
  });

  it("loses what was refunded, and not what was let go, which its charge counts among the refunds (PAY-18)", async () => {
    const charge = { ...IDS, amount: 12_000, captured: 6_000 };
    const letGo = chargeRefunded({ ...charge, refunded: 6_000, created: AT });
    const asRefund = refundEvent("refund.created", { id: "re_0", ...IDS, amount: 6_000, created: AT });
    const refunded = chargeRefunded({ ...charge, refunded: 7_200, created: AT + 10 });
    const own = intent({ captured: 6_000 });
    for (const paid of [[held, taken(6_000)], [own]]) {
      const events = [...paid, letGo];
      const base = paid.length === 1 ? 6_000 : 5_000;
      expect(await inAnyOrder(events)).toMatchObject({ commissions: [{ amount_cents: base / 5 }] });
      expect(await earnedAfter([...events, asRefund])).toMatchObject({ commissions: [{ amount_cents: base / 5 }] });
      expect(await earnedAfter([...paid, asRefund])).toMatchObject({ commissions: [{ amount_cents: base / 5 }] });
      const less = (base / 5) * 0.8;
      expect(await inAnyOrder([...paid, refunded])).toMatchObject({ commissions: [{ amount_cents: less }] });
      const again = refundEvent("refund.created", { id: "re_1", ...IDS, amount: 1_200, created: AT + 10 });
      for (const events of [
        [asRefund, again],
        [letGo, asRefund, again],
        [refunded, asRefund, again],
      ]) {
        expect(await earnedAfter([...paid, ...events])).toMatchObject({ commissions: [{ amount_cents: less }] });
      }
    }
  });

  it("that was let go whole is no refund of anything (PAY-6)", async () => {
    const expired = chargeRefunded({ ...IDS, amount: 12_000, captured: 0, refunded: 12_000, created: AT });
    expect(await inAnyOrder([held, expired])).toMatchObject({
      payments: [{ outcome: "unpaid", adjusted_cents: 0 }],
      commissions: [],
    });
  });
});
