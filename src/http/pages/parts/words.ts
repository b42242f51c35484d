import type { Commission } from "../../../core/kernel/rows.ts";
import {
  isList,
  REF_KINDS,
  type Condition,
  type RefKind,
  type ConditionTrace,
  type ConditionValue,
} from "../../../domain/condition.ts";
import type { Rate } from "../../../domain/commission.ts";
import type { FlowEvent, Skip } from "../../../domain/flow.ts";
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
    why: "Neither the payment nor its subscription or customer has a reference. If a partner referred this customer, the checkout did not pass the reference on.",
  },
  unknown_ref: {
    short: "unknown partner",
    why: "No reference of the payment belongs to a partner. If one is meant for a partner, give that slug to the right one, then recalculate this payment. If the payment has a partner's promotion code, assign it: they get this payment.",
  },
  unknown_code: {
    short: "unknown code",
    why: "The customer used a promotion code that belongs to no partner, and the payment has no other reference. If it is a partner's code, assign it: they get this payment.",
  },
  partner_not_active: {
    short: "partner invited",
    why: "The payment is held until the partner is active. Then it earns a commission with the date of the payment.",
  },
  partner_deactivated: {
    short: "partner deactivated",
    why: "The partner was deactivated at the time of the payment. If that was a mistake, reactivate the partner, then recalculate this payment.",
  },
  zero_amount: {
    short: "nothing paid",
    why: "The customer paid nothing for what counts, so there is nothing to share.",
  },
  unpaid: {
    short: "not paid yet",
    why: "The customer has not paid yet. The commission follows when the money arrives.",
  },
  test_mode: {
    short: "test mode",
    why: "This is a test payment, and by your settings test payments earn nothing.",
  },
  no_flow: {
    short: "no flow of leads",
    why: "No active flow for leads applied when it was reported. Only such a flow pays for leads.",
  },
  too_large: {
    short: "too large",
    why: "The payment, or a balance with its commission, exceeds the limit of this service. Recalculate the payment once the balance is smaller, or pay its commission another way.",
  },
  claimed_elsewhere: {
    short: "another program's",
    why: "The provider's event names another program, which has also received it. The payment counts there and earns nothing here.",
  },
  merged: {
    short: "part of another",
    why: "The provider reported this payment twice. It counts once, under its other id.",
  },
};

/** Why a provider's API key cannot be used for reading, and the remedy. */
const KEY_TROUBLE_TEXTS: Record<KeyTrouble, { why: string; help: string }> = {
  api_key_refused: {
    why: "the provider does not accept the API key",
    help: "It may be revoked or expired. Create a new one there and paste it in the settings.",
  },
  permission_missing: {
    why: "the API key lacks a permission at the provider",
    help: "The settings list the permissions that the key needs.",
  },
  test_key: {
    why: "the API key is of the provider's test mode, which shows no live payments",
    help: "Create a live-mode key there and paste it in the settings.",
  },
  rate_limited: {
    why: "the provider's rate limit is reached",
    help: "We retry later. Nothing is lost in the meantime.",
  },
  unavailable: {
    why: "the provider does not answer",
    help: "We keep trying. Nothing is lost in the meantime.",
  },
  unreadable: {
    why: "the provider's answer does not match its documentation",
    help: "We keep trying. If it lasts for a day, report it to the operator of this service.",
  },
  refused: {
    why: "the provider refuses the request",
    help: "We keep trying. If it lasts for a day, report it to the operator of this service.",
  },
};

/** Why a provider's list of events cannot be read, and the remedy. */
export const READ_TROUBLE_TEXTS: Record<ReadTrouble, { why: string; help: string }> = {
  ...KEY_TROUBLE_TEXTS,
  not_stored: {
    why: "one of its events could not be stored",
    help: "We keep trying. If it lasts for a day, report it to the operator of this service.",
  },
};

const UNREAD_TEXTS = Object.fromEntries(
  KEY_TROUBLES.map((reason) => {
    const { why, help } = KEY_TROUBLE_TEXTS[reason];
    return [
      reason,
      {
        why: `it only has a reference to its data, which could not be read: ${why}`,
        help: `${help} The provider resends refused events automatically.`,
      },
    ];
  }),
) as Record<KeyTrouble, { why: string; help: string }>;

/** Why a provider's delivery was refused, and the remedy. */
export const REFUSAL_TEXTS: Record<RefusalReason, { why: string; help: string }> = {
  wrong_signature: {
    why: "its signature does not match the signing secret that is set here",
    help: "Copy the secret of exactly this webhook address again: each address has its own, and test mode and live mode differ.",
  },
  time: {
    why: "its signature is more than five minutes older or newer than its arrival",
    help: "Resend it at the provider. If that is refused too, something delays deliveries in between, or a clock is wrong.",
  },
  no_signature: {
    why: "it has no readable signature",
    help: "A provider signs every delivery. If it goes through a server of yours, that server must pass on the body and the signature header unchanged.",
  },
  not_configured: {
    why: "no signing secret is set here, or the stored one can no longer be read",
    help: "Paste the secret in the settings. The provider resends refused events automatically.",
  },
  unparsable: {
    why: "it comes from the provider, but does not match the provider's documentation",
    help: "Send the provider's own events to this address, unchanged, and not in a custom format or version.",
  },
  no_api_key: {
    why: "it only has a reference to its data, and no API key is set here to read it",
    help: "Paste an API key in the settings, or have the provider send complete events. It resends refused events automatically.",
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
  remembered_subscription: "stored for the subscription",
  remembered_customer: "stored for the customer",
  remembered_email: "stored for the customer's e-mail address, from an import, a lead or a claim",
  code_given_later: "a promotion code that was assigned after the payment",
};

/** Why a commission waits for a person. */
export const REVIEW_TEXTS: Record<string, string> = {
  disputed: "The customer disputes the payment. The commission stays out of payouts until the dispute is closed.",
  self_referral: "The customer's e-mail address is the partner's own.",
  mostly_refunded: "More than half of the payment was refunded.",
  possible_duplicate:
    "Another payment of this customer has the same amount, and the provider does not report whether it is the same payment.",
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
  partner_group: "Partner's group",
  currency: "Currency",
  product_id: "Product or price",
  payment_number: "Number of the customer's payment",
  months_since_first_payment: "Months since the customer's first payment",
  new_customer: "The customer is new",
  ref_source: "Referred by",
};

/** The owner of the rate that decided a payment. */
export const SOURCE_TEXTS: Record<Rate["source"], string> = {
  flow: "The flow's rate",
  partner: "The partner's own rate",
  group: "The rate of the partner's group",
  program: "The program's rate",
  manual: "Entered by hand",
};

/** Why a flow was not compared with a payment. */
export const SKIP_TEXTS: Record<Skip, string> = {
  not_started: "it had not started when the payment was made",
  ended: "it had ended when the payment was made",
  other_currency: "it is for another currency",
};

export const OP_TEXTS: Record<Condition["op"], string> = {
  eq: "is",
  neq: "is not",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  contains: "contains",
  in: "is one of",
  not_in: "is none of",
};

export const REF_KIND_TEXTS: Record<RefKind, string> = {
  link: "a link",
  code: "a promotion code",
  api: "your server",
  import: "an import",
  manual: "an approved claim",
  remembered: "an earlier visit or payment",
};

/** Formats the value of a condition. Amounts are in the payment's currency. */
export function conditionValueText(
  field: Condition["field"],
  value: ConditionValue | ConditionTrace["saw"],
  money: MoneyFormat,
): string {
  if (value === null) return field === "product_id" ? "unknown: the provider did not state the products" : "nothing";
  if (isList(value)) return value.map((one) => conditionValueText(field, one, money)).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return field === "txn_amount_cents" && isCents(value) ? money(value) : String(value);
  if (field === "provider") return providerText(value);
  const kind = field === "ref_source" ? REF_KINDS.find((one) => one === value) : undefined;
  return kind ? REF_KIND_TEXTS[kind] : `“${value}”`;
}

export function conditionText({ field, op, value }: Condition, money: MoneyFormat): string {
  return `${FIELD_TEXTS[field]} ${OP_TEXTS[op]} ${conditionValueText(field, value, money)}`;
}
