import { eventA, type EventA, type Overrides } from "./provider-a-event.ts";
import { chargeShape, disputeShape, refundShape, subscriptionShape } from "./provider-a-shapes.ts";
import { nowSeconds, uniqueId } from "./vendor.ts";

/** Makers of the events that follow a payment at provider A: links, refunds, disputes, cancellations. */

export interface PaymentIds extends Overrides {
  charge?: string;
  payment_intent?: string | null;
  invoice?: string | null;
  amount?: number;
  /** The captured part of the held `amount`; all of it unless given. */
  captured?: number;
  currency?: string;
}

/** The link between an invoice and its payment, which the invoice itself no longer names. */
export function invoicePaymentPaid(
  ids: Overrides & { invoice: string; payment_intent?: string; charge?: string },
): EventA {
  const { invoice, payment_intent, charge } = ids;
  return eventA(
    "invoice_payment.paid",
    {
      id: uniqueId("inpay_"),
      object: "invoice_payment",
      amount_paid: 10_000,
      amount_requested: 10_000,
      created: ids.created ?? nowSeconds(),
      currency: "usd",
      invoice,
      is_default: true,
      livemode: false,
      payment:
        charge === undefined ? { payment_intent, type: "payment_intent" } : { charge, payment_intent, type: "charge" },
      status: "paid",
      status_transitions: { canceled_at: null, paid_at: ids.created ?? nowSeconds() },
    },
    ids,
  );
}

export function chargeSucceeded(ids: PaymentIds = {}): EventA {
  return chargeEvent("charge.succeeded", ids, 0);
}

/** Money that was held and is taken now. */
export function chargeCaptured(ids: PaymentIds = {}): EventA {
  return chargeEvent("charge.captured", ids, 0);
}

/** `refunded` is the charge's total refunded so far, all of `amount` unless given. */
export function chargeRefunded(overrides: PaymentIds & { refunded?: number } = {}): EventA {
  return chargeEvent("charge.refunded", overrides, overrides.refunded ?? overrides.amount ?? 10_000);
}

function chargeEvent(type: string, ids: PaymentIds, refunded: number): EventA {
  const amount = ids.amount ?? Math.max(10_000, refunded);
  const object = {
    ...chargeShape(),
    id: ids.charge ?? uniqueId("ch_"),
    amount,
    amount_captured: ids.captured ?? amount,
    amount_refunded: refunded,
    created: ids.created ?? nowSeconds(),
    currency: ids.currency ?? "usd",
    payment_intent: ids.payment_intent ?? null,
    refunded: refunded === amount,
    // The old shape alone has the field.
    ...(ids.invoice === undefined ? {} : { invoice: ids.invoice }),
  };
  return eventA(type, object, ids);
}

export interface IntentOverrides extends PaymentIds {
  order_reference?: string;
  /** `metadata.service_ref`. */
  ref?: string | null;
  tax?: number;
  customer?: string | null;
  email?: string | null;
}

export function paymentIntentSucceeded(ids: IntentOverrides = {}): EventA {
  const amount = ids.amount ?? 10_000;
  return eventA(
    "payment_intent.succeeded",
    {
      id: ids.payment_intent ?? uniqueId("pi_"),
      object: "payment_intent",
      amount,
      ...(ids.tax === undefined ? {} : { amount_details: { tax: { total_tax_amount: ids.tax } } }),
      amount_received: ids.captured ?? amount,
      currency: ids.currency ?? "usd",
      customer: ids.customer ?? null,
      latest_charge: ids.charge ?? null,
      metadata: ids.ref ? { service_ref: ids.ref } : {},
      receipt_email: ids.email ?? null,
      payment_details: { customer_reference: null, order_reference: ids.order_reference ?? null },
      status: "succeeded",
      ...(ids.invoice === undefined ? {} : { invoice: ids.invoice }),
    },
    ids,
  );
}

export interface RefundOverrides extends PaymentIds {
  id?: string;
  status?: string;
}

export function refundFailed(overrides: RefundOverrides = {}): EventA {
  return refundEvent("refund.failed", { status: "failed", ...overrides });
}

/** Any event about one refund: `refund.created`, `refund.updated`, `charge.refund.updated`. */
export function refundEvent(type: string, overrides: RefundOverrides = {}): EventA {
  return eventA(
    type,
    {
      ...refundShape(),
      id: overrides.id ?? uniqueId("re_"),
      amount: overrides.amount ?? 10_000,
      charge: overrides.charge ?? null,
      created: overrides.created ?? nowSeconds(),
      currency: overrides.currency ?? "usd",
      payment_intent: overrides.payment_intent ?? null,
      status: overrides.status ?? "succeeded",
    },
    overrides,
  );
}

/** A credit note of a paid invoice: the amounts it returns outside of the vendor, by refunds and as balance. */
export function creditNoteEvent(
  type: string,
  overrides: Overrides & {
    id?: string;
    invoice?: string | null;
    outside?: number | null;
    refunded?: number;
    recorded?: number;
    status?: "issued" | "void";
  } = {},
): EventA {
  const { outside = null, refunded = 0, recorded = 0 } = overrides;
  const refunds = [
    { refund: "re_note", type: "refund", amount_refunded: refunded, payment_record_refund: null },
    { refund: "re_record", type: "payment_record_refund", amount_refunded: recorded, payment_record_refund: {} },
  ].filter(({ amount_refunded }) => amount_refunded > 0);
  const amount = (outside ?? 0) + refunded + recorded;
  return eventA(
    type,
    {
      id: overrides.id ?? uniqueId("cn_"),
      object: "credit_note",
      ...{ amount, total: amount, currency: "usd", created: overrides.created ?? nowSeconds(), type: "post_payment" },
      ...{ post_payment_amount: amount, pre_payment_amount: 0, status: overrides.status ?? "issued" },
      ...{ invoice: overrides.invoice === undefined ? "in_1" : overrides.invoice },
      ...{ out_of_band_amount: outside, refunds },
    },
    overrides,
  );
}

/** One balance transaction of a dispute: negative amounts were withdrawn from the account, others reinstated. */
export function balanceTransaction(amount: number, currency = "usd", reporting_category?: string) {
  const booked = reporting_category === undefined ? {} : { reporting_category };
  return { id: uniqueId("txn_"), object: "balance_transaction", amount, currency, fee: 0, net: amount, ...booked };
}

/** A dispute closed `lost` unless another status is given. */
export function disputeClosed(overrides: RefundOverrides = {}): EventA {
  return disputeEvent("charge.dispute.closed", { status: "lost", ...overrides });
}

/** Any event about one dispute: `charge.dispute.created`, `charge.dispute.funds_reinstated`, … */
export function disputeEvent(type: string, overrides: RefundOverrides = {}): EventA {
  return eventA(
    type,
    {
      ...disputeShape(),
      id: overrides.id ?? uniqueId("du_"),
      amount: overrides.amount ?? 10_000,
      charge: overrides.charge ?? uniqueId("ch_"),
      created: overrides.created ?? nowSeconds(),
      currency: overrides.currency ?? "usd",
      payment_intent: overrides.payment_intent ?? null,
      status: overrides.status ?? "needs_response",
    },
    overrides,
  );
}

export interface SubscriptionOverrides extends Overrides {
  id?: string;
  /** `metadata.service_ref`. */
  ref?: string | null;
  customer?: string | null;
}

export function subscriptionDeleted(overrides: SubscriptionOverrides = {}): EventA {
  return subscriptionEventA("customer.subscription.deleted", {
    ...overrides,
    object: { status: "canceled", ...overrides.object },
  });
}

/** `customer.subscription.created`, `customer.subscription.updated`, … */
export function subscriptionEventA(type: string, overrides: SubscriptionOverrides = {}): EventA {
  return eventA(
    type,
    {
      ...subscriptionShape(),
      id: overrides.id ?? uniqueId("sub_"),
      created: overrides.created ?? nowSeconds(),
      currency: "usd",
      customer: overrides.customer === undefined ? uniqueId("cus_") : overrides.customer,
      metadata: overrides.ref ? { service_ref: overrides.ref } : {},
    },
    overrides,
  );
}

/** `customer.created` by default; `customer.updated` if given. */
export function customerEvent(
  overrides: Overrides & { id?: string; ref?: string | null; email?: string } = {},
  type = "customer.created",
): EventA {
  return eventA(
    type,
    {
      id: overrides.id ?? uniqueId("cus_"),
      object: "customer",
      balance: 0,
      created: overrides.created ?? nowSeconds(),
      email: overrides.email ?? "buyer@example.com",
      livemode: false,
      metadata: overrides.ref ? { service_ref: overrides.ref } : {},
      name: "Example Buyer",
    },
    overrides,
  );
}

/** A transfer of the vendor's API was reversed, in full or in part. */
export function transferReversed(transfer: object, overrides: Overrides = {}): EventA {
  return eventA("transfer.reversed", { ...transfer }, overrides);
}
