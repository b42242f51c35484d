import type { Condition } from "../../../domain/flow.ts";
import type { Outcome } from "../../../domain/payment.ts";
import { moneyText, providerText } from "./figures.tsx";

/** What became of a payment, in a few words and in a sentence. */
export const OUTCOME_TEXTS: Record<Outcome, { short: string; why: string }> = {
  commission: { short: "commission", why: "It earned a commission." },
  no_ref: {
    short: "no partner named",
    why: "Neither the payment nor its subscription or customer carried a partner's reference. If a partner brought this customer, the checkout did not pass the reference on.",
  },
  unknown_ref: {
    short: "unknown partner",
    why: "The payment carried a reference that no partner has. Give that slug to the right partner, then work this payment out again.",
  },
  partner_not_active: {
    short: "partner invited",
    why: "The partner is invited and not active yet. The commission is made, dated by the payment, as soon as they turn active.",
  },
  partner_deactivated: {
    short: "partner deactivated",
    why: "The partner was deactivated when the payment came. Such a payment never earns a commission.",
  },
  zero_amount: { short: "nothing paid", why: "The customer paid nothing, so there is nothing to share." },
  unpaid: {
    short: "not paid yet",
    why: "The customer has not paid yet. The commission is made when the money arrives.",
  },
  merged: {
    short: "part of another",
    why: "The provider told this payment twice; it is counted once, under its other name.",
  },
};

/** Why a commission waits for a person. */
export const REVIEW_TEXTS: Record<string, string> = {
  self_referral: "The customer's e-mail address is the partner's own.",
  mostly_refunded: "More than half of the payment was refunded.",
  subscription_canceled: "The customer canceled the subscription.",
  manual: "Flagged by hand.",
};

export const FIELD_TEXTS: Record<Condition["field"], string> = {
  txn_amount_cents: "Amount",
  customer_email: "Customer's e-mail",
  partner_slug: "Partner's slug",
  provider: "Provider",
};

export const OP_TEXTS: Record<Condition["op"], string> = {
  eq: "is",
  neq: "is not",
  gt: "is more than",
  lt: "is less than",
  contains: "contains",
};

/** A value of a condition as people read it. Amounts are of the payment's currency. */
export function conditionValueText(field: Condition["field"], value: number | string | null, currency: string): string {
  if (value === null) return "nothing";
  if (field === "txn_amount_cents" && typeof value === "number") return moneyText(value, currency);
  return field === "provider" ? providerText(String(value)) : `“${value}”`;
}

export function conditionText({ field, op, value }: Condition, currency: string): string {
  return `${FIELD_TEXTS[field]} ${OP_TEXTS[op]} ${conditionValueText(field, value, currency)}`;
}
