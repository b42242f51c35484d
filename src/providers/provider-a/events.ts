import * as z from "zod";
import {
  charge,
  checkoutSession,
  couponObject,
  creditNote,
  customer,
  discount,
  dispute,
  invoice,
  invoicePayment,
  newCharge,
  paymentIntent,
  promotionCode,
  refund,
  subscription,
  transfer,
  type Charge,
  type Dispute,
  type Refund,
} from "./schema.ts";
import { mulDivHalfUp, negate, NOTHING, sumWithin, type Cents } from "../../domain/money.ts";
import { discountsOf, namesOfCoupon, namesOfPromotionCode } from "./discounts.ts";
import {
  chargeReading,
  intentReading,
  invoiceReading,
  linkOf,
  takenAmount,
  releasedAmount,
  sessionReading,
} from "./payment.ts";
import { CONNECTED_ACCOUNT, type Fact, type WebhookFormat } from "../provider.ts";
import { checkHeader, verifySignature } from "../signature.ts";
import { isThin, parseThin, thinEvent } from "./thin.ts";
import {
  aliasesOf,
  codeUseOf,
  factsOf,
  factsOr,
  field,
  id,
  ignore,
  ignoreAll,
  instant,
  parseIgnored,
  parseWith,
  reader,
  refIn,
  refuse,
  typesRead,
  type Reader,
} from "../wire.ts";

const SCHEME = { separator: ",", timestamp_key: "t", signature_key: "v1", joiner: "." };

/** Provider A sends Stripe's webhook formats, before and after API version 2025-03-31 (IN-9). */
export const webhooks: WebhookFormat = {
  signature_headers: ["Provider-A-Signature", "Stripe-Signature"],
  whyRefused: (input) => checkHeader(SCHEME, input),
  verify: (input) => verifySignature(SCHEME, input),
  parse: (body) =>
    isOfConnectedAccount(body)
      ? parseIgnored(envelope, CONNECTED_ACCOUNT, body)
      : (isThin(body) ? parseThin : parseWith)(envelope, READERS, body),
  thinOf: (body) => (isOfConnectedAccount(body) ? null : thinEvent(envelope, READERS, body)),
  claims_programs: false,
  claimedOwner: () => ({ program_id: null, transaction_id: null, subscription_id: null }),
};

/** Seconds since the epoch; thin events use a date and time. */
const created = z.union([
  z
    .int()
    .min(0)
    .max(253_402_300_799)
    .transform((seconds) => new Date(seconds * 1000).toISOString()),
  instant,
]);

const envelope = z.object({ id, type: id, created, livemode: z.boolean().nullish() }).transform((event) => ({
  event_id: event.id,
  event_type: event.type,
  occurred_at: event.created,
  test: event.livemode === false,
}));

/**
 * Whether an event belongs to an account connected to the owner's: its sale is another business's. A thin event shows
 * this by its context; a context with a path belongs to an organization, which reads the event in the name of its own
 * account.
 */
function isOfConnectedAccount(body: unknown): boolean {
  const account = field(body, isThin(body) ? "context" : "account");
  return typeof account === "string" && /^acct_\w+$/.test(account);
}

/** The location of an event's object. */
const AT = ["data", "object"];

/** The charge's refunded total (`amount_refunded`), not one refund; includes money that was never captured. */
const refundedReader = reader(AT, charge, (object, { occurred_at }) =>
  factsOf({
    kind: "adjustment",
    occurred_at,
    adjustment_id: `charge:${object.id}`,
    aliases: chargeAliases(object),
    mode: "cumulative",
    amount_cents: object.amount_refunded,
    ...currencyOf(object),
    ...releasedAmount(object.amount, object.amount_captured),
    ...takenAmount(object.payment_intent ?? object.id, object.amount_captured ?? object.amount, object.currency),
    net_of_tax: false,
    direction: "deduct",
    stage: 0,
    effective: true,
  }),
);

const chargeReader = reader(AT, newCharge, chargeReading);

/** Captures of authorized money: if there is an intent, its own event reports the capture. */
const capturedReader = reader(AT, newCharge, (object, event) =>
  object.payment_intent === null ? chargeReading(object, event) : { facts: [], ignored: "counted_elsewhere" },
);

/** One refund: a lower limit of the total while it is in force; a failed one gives back its part of the total. */
const refundReader = reader(AT, refund, (object, { event_type, occurred_at }) => {
  const failed = event_type === "refund.failed" || object.status === "failed" || object.status === "canceled";
  const aliases = refundAliases(object);
  if (aliases.length === 0) return { facts: [], ignored: "refund_without_payment" };
  return factsOf({
    kind: "adjustment",
    occurred_at,
    adjustment_id: object.id,
    aliases,
    mode: "refund_failed",
    amount_cents: object.amount,
    ...currencyOf(object),
    net_of_tax: false,
    direction: "deduct",
    stage: 0,
    effective: failed,
  });
});

/**
 * A credit note of a paid invoice returns money as a refund, which `charge.refunded` reports; as balance, which lowers
 * `amount_paid` of a later invoice; or outside the vendor, which only the note reports. On an open invoice it lowers
 * that invoice's `amount_paid`. Counting more of it would take the same money twice.
 */
const creditNoteReader = reader(AT, creditNote, (object, { event_type, occurred_at }) => {
  const recorded = (object.refunds ?? []).filter(({ type }) => type === "payment_record_refund");
  const outside = [object.out_of_band_amount, ...recorded.map(({ amount_refunded }) => amount_refunded)];
  const amount_cents = sumWithin(
    outside.map((amount) => amount ?? NOTHING),
    NOTHING,
  );
  if (amount_cents === NOTHING) return { facts: [], ignored: "counted_elsewhere" };
  if (object.invoice === null) {
    return refuse({ path: "data.object.invoice", message: "a credit note that gives money back names its invoice" });
  }
  const isVoid = event_type === "credit_note.voided" || object.status === "void";
  return factsOf({
    kind: "adjustment",
    occurred_at,
    adjustment_id: object.id,
    aliases: aliasesOf(object.invoice),
    mode: "single",
    amount_cents,
    ...currencyOf(object),
    net_of_tax: false,
    direction: "deduct",
    stage: isVoid ? 1 : 0,
    effective: !isVoid,
  });
});

const PREVENTED = "prevented";

/**
 * Final states of disputes, and whether the disputed amount is gone. A lost dispute takes it (PAY-7), a prevented one
 * takes the amount that it reports; one closed by a refund moves no money itself, because the refund arrives as
 * `charge.refunded`.
 */
const DISPUTE_TAKES = new Map([
  ["lost", true],
  ["won", false],
  ["warning_closed", false],
  [PREVENTED, true],
  ["charge_refunded", false],
]);

/** Events of one second arrive in any order, so the dispute's state counts, not the type of the event. */
const disputeReader = reader(AT, dispute, (object, { event_type, occurred_at }) => {
  // "After a dispute is closed. This includes partially refunded payments" (the vendor's list of events): the whole
  // amount is given back, or a part if the dispute stays lost.
  const isReinstated = event_type === "charge.dispute.funds_reinstated";
  const takes = DISPUTE_TAKES.get(object.status) ?? (isReinstated ? false : undefined);
  if (takes !== undefined) {
    return factsOf(disputeFact(object, occurred_at, isReinstated ? REINSTATED : CLOSED, { effective: takes }));
  }
  // Open in every present or future status, including inquiries: while the dispute is open the vendor only holds the money.
  if (event_type !== "charge.dispute.closed") return factsOf(disputeFact(object, occurred_at, OPEN, { open: true }));
  return refuse({
    path: "data.object.status",
    message: `not how a dispute closes: ${[...DISPUTE_TAKES.keys()].join(", ")}`,
  });
});

/** Contains only ids that belong together, so that a refund finds its payment. */
const invoicePaymentReader = reader(AT, invoicePayment, ({ invoice: paid, payment }, { occurred_at }) =>
  linkOf(aliasesOf(paid, payment.payment_intent, payment.charge), occurred_at),
);

const subscriptionReader = reader(AT, subscription, (object, { event_type, occurred_at }) => {
  const ref = refIn(object.metadata);
  const whose = { subscription_id: object.id, customer_id: object.customer };
  const { carried, names } = discountsOf([object.discount, ...(object.discounts ?? [])], occurred_at);
  return factsOr(
    "no_ref",
    event_type === "customer.subscription.deleted"
      ? { kind: "cancellation", occurred_at, subscription_id: object.id }
      : null,
    ref === null ? null : { kind: "attribution", occurred_at, ref, ...whose, kept_by: "subscription" },
    codeUseOf(carried.codes ?? [], { ...whose, payment: null }, occurred_at),
    ...names,
  );
});

const customerReader = reader(AT, customer, (object, { occurred_at }) => {
  const ref = refIn(object.metadata);
  const whose = { subscription_id: null, customer_id: object.id, kept_by: "customer" as const };
  return factsOr("no_ref", ref === null ? null : { kind: "attribution", occurred_at, ref, ...whose });
});

/** A partly paid invoice can be written off; no other event reports the amount that was paid. */
const writtenOffReader = reader(AT, invoice, (object, event) =>
  object.amount_paid > NOTHING ? invoiceReading(object, event) : { facts: [], ignored: "invoice_never_paid" },
);

/** A payout through a connected account whose whole amount came back; a part of it is a difference (LAW-11). */
const transferReader = reader(AT, transfer, ({ id: transfer_id, transfer_group, amount, amount_reversed }) => {
  if (transfer_group === null) return { facts: [], ignored: "no_payout" };
  if (amount_reversed < amount) return { facts: [], ignored: "reversed_in_part" };
  return { facts: [], ignored: "payout_returned", reversed: { payout_id: transfer_group, transfer_id } };
});

/** Names of promotion codes and coupons, and the code of a discount: an invoice contains only the discount's id. */
const promotionCodeReader = reader(AT, promotionCode, (object, { occurred_at }) =>
  factsOr("no_code", ...namesOfPromotionCode(object, occurred_at)),
);
const couponReader = reader(AT, couponObject, (object, { occurred_at }) =>
  factsOr("no_code", ...namesOfCoupon(object, occurred_at)),
);
const discountReader = reader(AT, discount, (object, { occurred_at }) =>
  factsOr("no_code", ...discountsOf([object], occurred_at).names),
);

const READERS: ReadonlyMap<string, Reader> = new Map([
  ["checkout.session.completed", reader(AT, checkoutSession, sessionReading)],
  ["checkout.session.async_payment_succeeded", reader(AT, checkoutSession, sessionReading)],
  ["checkout.session.async_payment_failed", ignore("payment_failed")],
  ["checkout.session.expired", ignore("session_expired")],

  // Two events for one change; the second is not sent for an invoice paid outside the vendor.
  ["invoice.paid", reader(AT, invoice, invoiceReading)],
  ["invoice.payment_succeeded", reader(AT, invoice, invoiceReading)],
  ["invoice.payment_failed", ignore("payment_failed")],
  // A partly paid invoice cannot be voided.
  ["invoice.voided", ignore("invoice_never_paid")],
  ["invoice.marked_uncollectible", writtenOffReader],
  // An overpaid amount goes to the customer's balance and reduces the payment of a later invoice.
  ["invoice.overpaid", ignore("credited_to_balance")],
  ["credit_note.created", creditNoteReader],
  ["credit_note.updated", creditNoteReader],
  ["credit_note.voided", creditNoteReader],

  ["invoice_payment.paid", invoicePaymentReader],
  ["charge.succeeded", chargeReader],
  ["charge.captured", capturedReader],
  ["payment_intent.succeeded", reader(AT, paymentIntent, intentReading)],
  ["charge.failed", ignore("payment_failed")],
  ["payment_intent.payment_failed", ignore("payment_failed")],

  ["charge.refunded", refundedReader],
  ["refund.created", refundReader],
  ["refund.updated", refundReader],
  ["refund.failed", refundReader],
  ["charge.refund.updated", refundReader],

  ["charge.dispute.created", disputeReader],
  ["charge.dispute.updated", disputeReader],
  ["charge.dispute.funds_withdrawn", disputeReader],
  ["charge.dispute.closed", disputeReader],
  ["charge.dispute.funds_reinstated", disputeReader],

  ["customer.subscription.created", subscriptionReader],
  ["customer.subscription.updated", subscriptionReader],
  ["customer.subscription.deleted", subscriptionReader],
  ["promotion_code.created", promotionCodeReader],
  ["promotion_code.updated", promotionCodeReader],
  ["coupon.created", couponReader],
  ["coupon.updated", couponReader],
  ["customer.discount.created", discountReader],
  ["customer.discount.updated", discountReader],
  ["customer.created", customerReader],
  ["customer.updated", customerReader],

  ["transfer.reversed", transferReader],

  ...ignoreAll("nothing_paid_yet", [
    ...["charge.pending", "charge.expired", "payment_intent.amount_capturable_updated", "payment_intent.canceled"],
    ...["payment_intent.created", "payment_intent.partially_funded", "payment_intent.processing"],
    ...["payment_intent.requires_action", "invoice.created", "invoice.deleted", "invoice.finalization_failed"],
    ...["invoice.finalized", "invoice.overdue", "invoice.payment_action_required"],
    ...["invoice.payment_attempt_required", "invoice.sent", "invoice.upcoming", "invoice.updated"],
    "invoice.will_be_due",
  ]),
  ...ignoreAll("counted_elsewhere", ["charge.updated"]),
  ...ignoreAll("no_money_moves", [
    ...["customer.subscription.paused", "customer.subscription.pending_update_applied"],
    ...["customer.subscription.pending_update_expired", "customer.subscription.resumed"],
    ...["customer.subscription.trial_will_end", "customer.source.created", "customer.source.deleted"],
    ...["customer.source.expiring", "customer.source.updated", "customer.tax_id.created", "customer.tax_id.deleted"],
    "customer.tax_id.updated",
  ]),
  // Earlier purchases and discounts made with them do not change.
  ...ignoreAll("keeps_what_was", ["customer.deleted", "coupon.deleted", "customer.discount.deleted"]),
]);

export const READ_TYPES = typesRead(READERS);

function chargeAliases(object: Charge): string[] {
  return aliasesOf(object.id, object.payment_intent, object.invoice);
}

function refundAliases(object: Refund): string[] {
  return aliasesOf(object.charge, object.payment_intent);
}

/** The currency of the returned amount: a session and an invoice of one payment may have different ones. */
function currencyOf({ currency }: { currency?: string | null | undefined }): { currency?: string } {
  return currency ? { currency } : {};
}

/** Stages of a dispute: several may have the same time, because the vendor uses whole seconds. */
const OPEN = 0;
const CLOSED = 1;
const REINSTATED = 2;

/**
 * The amount that a dispute took and kept. The vendor books taken amounts, including adjustments for conversion, as
 * `dispute`, and returned ones as `dispute_reversal`; if the customer had been partly refunded before, the dispute
 * stays lost and returns that part. Fees are not the customer's money. A prevented dispute may have been blocked, and
 * then takes no money.
 */
function lostOf({ amount, status, balance_transactions }: Dispute): Cents {
  const booked = Map.groupBy(balance_transactions ?? [], bookingCategory);
  const sumOf = (category: string) => sumWithin((booked.get(category) ?? []).map((one) => one.amount));
  const taken = sumWithin([negate(sumOf(TAKEN))], NOTHING);
  const returned = sumWithin([sumOf(RETURNED)], NOTHING, taken);
  if (taken === NOTHING) return status === PREVENTED ? NOTHING : amount;
  return mulDivHalfUp(amount, sumWithin([taken, negate(returned)], NOTHING, taken), taken);
}

const TAKEN = "dispute";
const RETURNED = "dispute_reversal";

/** Older events have no category: the sign shows it. */
function bookingCategory({ amount, reporting_category }: NonNullable<Dispute["balance_transactions"]>[number]): string {
  return reporting_category ?? (amount < 0 ? TAKEN : RETURNED);
}

function disputeFact(
  object: Dispute,
  occurred_at: string,
  stage: number,
  state: { effective?: boolean; open?: true },
): Fact {
  const aliases = aliasesOf(object.charge, object.payment_intent);
  return {
    kind: "adjustment",
    occurred_at,
    adjustment_id: object.id ?? `dispute:${aliases[0]}`,
    aliases,
    mode: "single",
    amount_cents: state.effective ? lostOf(object) : object.amount,
    ...currencyOf(object),
    net_of_tax: false,
    direction: "deduct",
    stage,
    effective: false,
    ...state,
  };
}
