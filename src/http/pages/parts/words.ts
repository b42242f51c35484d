import type { Commission } from "../../../core/kernel/rows.ts";
import type { Condition, FlowEvent } from "../../../domain/flow.ts";
import { isCents } from "../../../domain/money.ts";
import type { Outcome } from "../../../domain/payment.ts";
import type { CandidateSource } from "../../../domain/reference.ts";
import { KEY_TROUBLES, type KeyTrouble, type ReadTrouble } from "../../../domain/read-trouble.ts";
import type { RefusalReason } from "../../../domain/refusal.ts";
import { providerText, type MoneyFormat } from "./figures.tsx";

/** The outcome of a payment, in a few words and in a sentence. */
export const OUTCOME_TEXTS: Record<Outcome, { short: string; why: string }> = {
  commission: { short: "commission", why: "It earned a commission." },
  no_ref: {
    short: "no partner named",
    why: "Neither the payment nor its subscription or customer carried a reference. If a partner brought this customer, the checkout did not pass the reference on.",
  },
  unknown_ref: {
    short: "unknown partner",
    why: "No reference of the payment is a partner's. If one was meant for a partner, give that slug to the right one, then recalculate this payment. If it carries a promotion code that is a partner's, give it to them: this payment is then theirs.",
  },
  unknown_code: {
    short: "unknown code",
    why: "It was paid with a promotion code that is no partner's, and nothing else names a partner. If the code is a partner's, give it to them: this payment is then theirs.",
  },
  partner_not_active: {
    short: "partner invited",
    why: "The payment waits for the partner to turn active. The commission is made then, dated by the payment.",
  },
  partner_deactivated: {
    short: "partner deactivated",
    why: "The partner was deactivated when the payment came. If that was a mistake, make the partner active again, then recalculate this payment.",
  },
  zero_amount: { short: "nothing paid", why: "The customer paid nothing, so there is nothing to share." },
  unpaid: {
    short: "not paid yet",
    why: "The customer has not paid yet. The commission is made when the money arrives.",
  },
  test_mode: {
    short: "test mode",
    why: "It is a test payment of the provider, and the settings say that those earn nothing.",
  },
  no_flow: {
    short: "no flow of leads",
    why: "No active flow of leads applied when it was reported, and nothing else gives anything for a lead.",
  },
  too_large: {
    short: "too large",
    why: "The payment, or a balance with its commission, is larger than this service keeps. Recalculate the payment once the balance is smaller, or pay its commission in another way.",
  },
  claimed_elsewhere: {
    short: "another program's",
    why: "The provider's event names another program, which has received the same event itself. It is decided there and earns nothing here.",
  },
  merged: {
    short: "part of another",
    why: "The provider reported this payment twice; it is counted once, under its other name.",
  },
};

/** Why a provider's API key cannot be used for reading, and the remedy. */
const KEY_TROUBLE_TEXTS: Record<KeyTrouble, { why: string; help: string }> = {
  api_key_refused: {
    why: "the provider does not accept the API key",
    help: "It may have been revoked, or have expired. Make a new one there and paste it in the settings.",
  },
  permission_missing: {
    why: "the provider does not let the API key read what is needed",
    help: "The key lacks a permission: the settings list those that it needs.",
  },
  test_key: {
    why: "the API key is of the provider's test mode, which shows no live payments",
    help: "Make one of live mode there and paste it in the settings.",
  },
  rate_limited: {
    why: "the provider asks to come later",
    help: "We do. Nothing is lost meanwhile.",
  },
  unavailable: {
    why: "the provider does not answer",
    help: "We try again. Nothing is lost meanwhile.",
  },
  unreadable: {
    why: "the provider's answer is not of the form that it documents",
    help: "We try again. If it lasts for a day, report it to the operator of this service.",
  },
  refused: {
    why: "the provider refuses the request",
    help: "We try again. If it lasts for a day, report it to the operator of this service.",
  },
};

/** Why a provider's list of events cannot be read, and the remedy. */
export const READ_TROUBLE_TEXTS: Record<ReadTrouble, { why: string; help: string }> = {
  ...KEY_TROUBLE_TEXTS,
  not_stored: {
    why: "an event of it could not be stored",
    help: "We try again. If it lasts for a day, report it to the operator of this service.",
  },
};

const UNREAD_TEXTS = Object.fromEntries(
  KEY_TROUBLES.map((reason) => {
    const { why, help } = KEY_TROUBLE_TEXTS[reason];
    return [
      reason,
      {
        why: `it only names what happened, and the rest could not be read: ${why}`,
        help: `${help} The provider resends what was refused automatically.`,
      },
    ];
  }),
) as Record<KeyTrouble, { why: string; help: string }>;

/** Why a provider's delivery was refused, and the remedy. */
export const REFUSAL_TEXTS: Record<RefusalReason, { why: string; help: string }> = {
  wrong_signature: {
    why: "its signature does not match the signing secret that is set here",
    help: "Copy the secret of this very webhook address again: each address has its own, and test mode has another one than live mode.",
  },
  time: {
    why: "its signature was made more than five minutes before or after it came",
    help: "Send it again from the provider's side. If that is refused too, something between the provider and us holds deliveries back, or a clock is wrong.",
  },
  no_signature: {
    why: "it carried no signature that can be read",
    help: "A provider signs every delivery. If it goes through a server of yours, that server must pass on the body and the signature header unchanged.",
  },
  not_configured: {
    why: "no signing secret is set here, or what is set cannot be opened any more",
    help: "Paste the secret into the settings. The provider resends what was refused automatically.",
  },
  unparsable: {
    why: "it is signed, or in the provider's list of events, but is not an event as the provider documents it",
    help: "Let the address receive the provider's own events, unchanged, and not in a format or version of your own.",
  },
  no_api_key: {
    why: "it only names what happened, and no API key is set here to read it with",
    help: "Paste an API key into the settings, or have the provider send whole events. It resends what was refused automatically.",
  },
  ...UNREAD_TEXTS,
};

/** The source of a reference. */
export const CANDIDATE_TEXTS: Record<CandidateSource, string> = {
  client_reference_id: "the checkout's client_reference_id",
  metadata: "the payment's own metadata or custom data",
  subscription_metadata: "the subscription's metadata",
  line_metadata: "the metadata of an invoice line",
  invoice_metadata: "the invoice's metadata",
  customer_metadata: "the customer's metadata",
  promotion_code: "a promotion code",
  payment: "the payment itself",
  remembered_subscription: "remembered for the subscription",
  remembered_customer: "remembered for the customer",
  remembered_email: "remembered for the customer's e-mail address, by an import, a lead or a claim",
  code_given_later: "a promotion code that was given to its partner after the payment",
};

/** Why a commission waits for a person. */
export const REVIEW_TEXTS: Record<string, string> = {
  disputed: "The customer disputes the payment. The commission enters no payout until that is decided.",
  self_referral: "The customer's e-mail address is the partner's own.",
  mostly_refunded: "More than half of the payment was refunded.",
  possible_duplicate:
    "Another payment of this customer has the same amount, and the provider does not report whether the two are one.",
  subscription_canceled: "The customer canceled the subscription.",
  manual: "Flagged by hand.",
};

/** A flow's trigger, and the noun for one of its events. */
export const EVENT_TEXTS: Record<FlowEvent, { of: string; every: string; name: string }> = {
  transaction_completed: { of: "payments", every: "every payment", name: "payment" },
  lead_created: { of: "leads that your server reports", every: "every lead", name: "lead" },
};

/** The source of a commission in a list: the provider of its payment, or its kind. */
export function kindText({ kind, provider }: Pick<Commission, "kind" | "provider">): string {
  return kind === "sale" ? providerText(provider) : kind;
}

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

/** Formats the value of a condition. Amounts are in the payment's currency. */
export function conditionValueText(
  field: Condition["field"],
  value: number | string | null,
  money: MoneyFormat,
): string {
  if (value === null) return "nothing";
  if (field === "txn_amount_cents" && typeof value === "number" && isCents(value)) return money(value);
  return field === "provider" ? providerText(String(value)) : `“${value}”`;
}

export function conditionText({ field, op, value }: Condition, money: MoneyFormat): string {
  return `${FIELD_TEXTS[field]} ${OP_TEXTS[op]} ${conditionValueText(field, value, money)}`;
}
