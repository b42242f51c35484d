/** Invoices of provider A that are paid in parts: each part earns before all is paid, even if the rest is written off. */
import { describe, expect, it } from "vitest";
import { earnedAfter, inAnyOrder } from "../support/any-order.ts";
import {
  chargeRefunded,
  invoicePaid,
  invoicePaymentPaid,
  invoicePaymentSucceeded,
  invoiceWrittenOff,
  paymentIntentSucceeded,
  refundEvent,
} from "../support/provider-a.ts";

/** Seconds: the vendor's own order is the same however its events arrive. */
const AT = 1_790_000_000;
const OF_CUSTOMER = { ref: "jane", ref_in: "invoice", subscription: null, customer: "cus_1" } as const;
const INVOICE = { id: "in_1", amount: 12_000, tax: 2_000, ...OF_CUSTOMER };

describe("an invoice that was written off", () => {
  const writtenOff = invoiceWrittenOff({ ...INVOICE, amount_paid: 6_000, created: AT + 100 });

  it("earns on what was paid of it (PAY-1, PAY-17)", async () => {
    expect(await earnedAfter([writtenOff])).toMatchObject({
      payments: [{ outcome: "commission", txn_amount_cents: 5_000, gross_cents: 6_000 }],
      commissions: [{ amount_cents: 1_000 }],
    });
    const unpaid = invoiceWrittenOff({ ...INVOICE, amount_paid: 0, created: AT + 100 });
    expect(await earnedAfter([unpaid])).toEqual({ payments: [], commissions: [] });
  });

  it("and on all of it once it is paid, also in the same second, in any order (PAY-17)", async () => {
    for (const later of [0, 50]) {
      const more = invoicePaymentSucceeded({
        ...INVOICE,
        status: "uncollectible",
        amount_paid: 9_000,
        created: AT + 110,
      });
      const paid = invoicePaid({ ...INVOICE, created: AT + 100 + later });
      const events = later === 0 ? [writtenOff, paid] : [writtenOff, more, paid];
      expect(await inAnyOrder(events)).toMatchObject({
        payments: [{ txn_amount_cents: 10_000, gross_cents: 12_000 }],
        commissions: [{ amount_cents: 2_000 }],
      });
    }
  });

  it("loses what is refunded of what was paid, in any order (PAY-18)", async () => {
    const link = invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1", created: AT });
    const refund = chargeRefunded({
      charge: "ch_1",
      payment_intent: "pi_1",
      amount: 6_000,
      refunded: 1_200,
      created: AT + 200,
    });
    expect(await inAnyOrder([writtenOff, link, refund])).toMatchObject({
      payments: [{ txn_amount_cents: 5_000, adjusted_cents: 1_000 }],
      commissions: [{ amount_cents: 800 }],
    });
  });
});

describe("payment intents that pay one invoice", () => {
  const intent = (n: number, fields: Parameters<typeof paymentIntentSucceeded>[0]) => {
    const ids = { payment_intent: `pi_${n}`, charge: `ch_${n}`, created: AT + n };
    return paymentIntentSucceeded({ ...ids, ref: "jane", ...fields });
  };
  const link = (n: number) => invoicePaymentPaid({ invoice: "in_1", payment_intent: `pi_${n}`, created: AT + n });
  const parts = [intent(1, { amount: 3_600, tax: 600 }), intent(2, { amount: 6_000, tax: 1_000 }), link(1), link(2)];

  it("are one payment of all that they took until the invoice is paid, in any order (PAY-24)", async () => {
    expect(await inAnyOrder(parts)).toMatchObject({
      payments: [{ txn_amount_cents: 8_000, gross_cents: 9_600 }],
      commissions: [{ amount_cents: 1_600 }],
    });
  });

  it("count once each, and of two currencies those of the newest (PAY-24)", async () => {
    const again = { ...parts[0]!, id: "evt_again", created: AT + 1 };
    expect(await inAnyOrder([parts[0]!, again, link(1)])).toMatchObject({ payments: [{ txn_amount_cents: 3_000 }] });
    const other = intent(3, { amount: 500, currency: "eur" });
    expect(await earnedAfter([...parts, other, link(3)])).toMatchObject({ payments: [{ txn_amount_cents: 500 }] });
  });

  it("count as the invoice says once it says so, whether it is paid or written off, in any order (PAY-24)", async () => {
    const intents = [1, 2].map((n) => ({ payment: { type: "payment_intent", payment_intent: `pi_${n}` } }));
    const object = { payments: { object: "list", data: intents, has_more: false } };
    const whole = { txn_amount_cents: 10_000, gross_cents: 12_000 };
    const paid = invoicePaid({ ...INVOICE, created: AT + 3 });
    const naming = invoicePaid({ ...INVOICE, created: AT + 3, object });
    expect(await inAnyOrder([parts[0]!, parts[1]!, naming])).toMatchObject({
      ...{ payments: [whole], commissions: [{ amount_cents: 2_000 }] },
    });
    for (const events of [
      [...parts, paid],
      [paid, ...parts],
    ]) {
      expect(await earnedAfter(events)).toMatchObject({ payments: [whole], commissions: [{ amount_cents: 2_000 }] });
    }
    const writtenOff = invoiceWrittenOff({ ...INVOICE, amount_paid: 6_000, created: AT + 10, object });
    expect(await inAnyOrder([parts[0]!, parts[1]!, writtenOff])).toMatchObject({
      payments: [{ txn_amount_cents: 5_000, gross_cents: 6_000 }],
      commissions: [{ amount_cents: 1_000 }],
    });
  });

  it("lose what is refunded of each, and not what was let go (PAY-18)", async () => {
    const held = (n: number) => intent(n, { amount: 4_000, captured: 3_000 });
    const refunded = (n: number) =>
      chargeRefunded({
        ...{ charge: `ch_${n}`, payment_intent: `pi_${n}`, amount: 4_000, captured: 3_000 },
        ...{ refunded: 1_500, created: AT + 10 + n },
      });
    const events = [held(1), held(2), link(1), link(2)];
    expect(await earnedAfter([...events, refunded(1), refunded(2)])).toMatchObject({
      payments: [{ txn_amount_cents: 6_000, adjusted_cents: 1_000 }],
      commissions: [{ amount_cents: 1_000 }],
    });
    const letGo = [1, 2].map((n) => {
      const ids = { id: `re_${n}`, charge: `ch_${n}`, payment_intent: `pi_${n}` };
      return refundEvent("refund.created", { ...ids, amount: 1_000, created: AT + 10 });
    });
    expect(await earnedAfter([...events, ...letGo])).toMatchObject({
      payments: [{ txn_amount_cents: 6_000, adjusted_cents: 0 }],
    });
  });
});
