/** Facts of one payment for tests of the decision functions, which need no database. */
import type { AdjustmentFact, AttributionFact, PaymentFact } from "../../src/domain/fact.ts";
import { cents } from "../../src/domain/money.ts";

export const PAID_AT = "2026-03-01T12:00:00.000Z";

/** `PAID_AT` and some milliseconds more. */
export function afterPaid(ms: number): string {
  return new Date(Date.parse(PAID_AT) + ms).toISOString();
}

/** A paid invoice of 1000 USD. */
export function paymentFact(fields: Partial<PaymentFact> = {}): PaymentFact {
  return {
    ...{ kind: "payment", key: "in_1", source: "invoice", aliases: ["in_1"], paid: true, occurred_at: PAID_AT },
    ...{ currency: "USD", base_cents: cents(100_000), gross_cents: cents(100_000), ref: null, refs: [] },
    ...{ customer_email: null, customer_id: "cus_1", subscription_id: null },
    ...fields,
  };
}

/** A deduction of 100 USD in force. */
export function adjustmentFact(fields: Partial<AdjustmentFact> = {}): AdjustmentFact {
  return {
    ...{ kind: "adjustment", adjustment_id: "adj_1", aliases: ["in_1"], mode: "single", occurred_at: PAID_AT },
    ...{ amount_cents: cents(10_000), net_of_tax: false, direction: "deduct", stage: 0, effective: true },
    ...fields,
  };
}

/** A stored reference of the customer. */
export function attributionFact(fields: Partial<AttributionFact> = {}): AttributionFact {
  return {
    ...{ kind: "attribution", ref: "jane", subscription_id: null, customer_id: "cus_1", occurred_at: PAID_AT },
    ...fields,
  };
}
