/** The providers' events of the sample: the fields that the service reads, signed. Amounts are without tax unless given. */
import { createHmac } from "node:crypto";
import type { ListedVendor } from "../../providers/registry.ts";

export interface VendorEvent {
  provider: ListedVendor;
  body: object;
}

/** A payment at a provider. Times are ms. */
export interface Paid {
  id: string;
  at: number;
  /** Smallest units, tax included. */
  amount: number;
  tax: number;
  currency: string;
  email: string;
  customer: string;
  ref: string | null;
  /** The provider's id of the promotion code. */
  code: string | null;
  subscription: string | null;
  /** Claimed by events of provider B. */
  program: string;
}

const seconds = (ms: number) => Math.floor(ms / 1000);

function eventA(type: string, id: string, at: number, object: object): VendorEvent {
  const body = { id: `evt_${id}`, object: "event", api_version: "2025-07-30.basil", type };
  return { provider: "provider_a", body: { ...body, livemode: true, created: seconds(at), data: { object } } };
}

/** The end of a checkout: a single payment, or the first of a subscription with its invoice. */
export function checkoutA(paid: Paid): VendorEvent[] {
  const session = {
    ...{ id: `cs_${paid.id}`, object: "checkout.session", created: seconds(paid.at), status: "complete" },
    ...{ mode: paid.subscription ? "subscription" : "payment", payment_status: "paid", livemode: true, metadata: {} },
    ...{ amount_total: paid.amount, amount_subtotal: paid.amount - paid.tax, currency: paid.currency.toLowerCase() },
    total_details: { amount_tax: paid.tax, amount_discount: 0, amount_shipping: 0 },
    ...{ client_reference_id: paid.ref, customer: paid.customer, customer_details: { email: paid.email } },
    discounts: paid.code ? [{ promotion_code: paid.code, coupon: null }] : [],
    ...{ subscription: paid.subscription, invoice: paid.subscription ? `in_${paid.id}` : null },
    payment_intent: paid.subscription ? null : `pi_${paid.id}`,
  };
  const completed = eventA("checkout.session.completed", `${paid.id}_c`, paid.at, session);
  return paid.subscription ? [completed, invoiceA(paid, "subscription_create")] : [completed];
}

/** A paid invoice of a subscription. */
export function invoiceA(paid: Paid, billing_reason = "subscription_cycle"): VendorEvent {
  const net = paid.amount - paid.tax;
  const subscription_details = { subscription: paid.subscription, metadata: {} };
  return eventA("invoice.paid", `${paid.id}_i`, paid.at, {
    ...{ id: `in_${paid.id}`, object: "invoice", status: "paid", billing_reason, livemode: true, metadata: {} },
    ...{ created: seconds(paid.at), currency: paid.currency.toLowerCase(), starting_balance: 0 },
    ...{ customer: paid.customer, customer_email: paid.email, discounts: [] },
    ...{ amount_due: paid.amount, amount_paid: paid.amount, total: paid.amount, subtotal: net },
    ...{ total_excluding_tax: net, subtotal_excluding_tax: net },
    total_taxes: paid.tax === 0 ? [] : [{ amount: paid.tax, taxable_amount: net, tax_behavior: "exclusive" }],
    parent: { type: "subscription_details", quote_details: null, subscription_details },
    lines: {
      ...{ object: "list", has_more: false },
      data: [
        {
          ...{ id: `il_${paid.id}`, object: "line_item", amount: net, currency: paid.currency.toLowerCase() },
          ...{ metadata: {}, discount_amounts: [], taxes: [], quantity: 1 },
          parent: { type: "subscription_item_details", subscription_item_details: { subscription: paid.subscription } },
        },
      ],
    },
  });
}

/** A refund of a single payment, in part or in full. */
export function refundA(paid: Paid, at: number, refunded: number): VendorEvent {
  return eventA("charge.refunded", `${paid.id}_r`, at, {
    ...{ id: `ch_${paid.id}`, object: "charge", created: seconds(paid.at), currency: paid.currency.toLowerCase() },
    ...{ amount: paid.amount, amount_captured: paid.amount, amount_refunded: refunded, captured: true, metadata: {} },
    ...{ paid: true, refunded: refunded === paid.amount, payment_intent: `pi_${paid.id}`, livemode: true },
  });
}

/** The customer's bank disputes a single payment. */
export function disputeA(paid: Paid, at: number): VendorEvent {
  return eventA("charge.dispute.created", `${paid.id}_d`, at, {
    ...{ id: `du_${paid.id}`, object: "dispute", created: seconds(at), currency: paid.currency.toLowerCase() },
    ...{ amount: paid.amount, charge: `ch_${paid.id}`, payment_intent: `pi_${paid.id}`, status: "needs_response" },
    ...{ reason: "product_not_received", balance_transactions: [], is_charge_refundable: false, livemode: true },
  });
}

function eventB(event_type: string, id: string, at: number, data: object): VendorEvent {
  const occurred_at = new Date(at).toISOString();
  return { provider: "provider_b", body: { event_id: `evt_${id}`, event_type, occurred_at, data } };
}

export function transactionB(paid: Paid): VendorEvent {
  const at = new Date(paid.at).toISOString();
  const [total, tax, subtotal] = [paid.amount, paid.tax, paid.amount - paid.tax].map(String);
  const sums = { total, tax, subtotal, discount: "0" };
  const custom_data = { service_program: paid.program, ...(paid.ref === null ? {} : { service_ref: paid.ref }) };
  return eventB("transaction.completed", `${paid.id}_t`, paid.at, {
    ...{ id: `txn_${paid.id}`, status: "completed", origin: paid.subscription ? "subscription_recurring" : "web" },
    ...{ created_at: at, updated_at: at, billed_at: at, custom_data, customer_id: paid.customer },
    ...{ currency_code: paid.currency, discount_id: paid.code, subscription_id: paid.subscription },
    ...{ collection_mode: "automatic", items: [], payments: [] },
    details: {
      totals: {
        ...{ ...sums, fee: "0", credit: "0", credit_to_balance: "0", balance: "0", earnings: subtotal },
        ...{ grand_total: total, grand_total_tax: tax, currency_code: paid.currency },
      },
      line_items: [],
    },
  });
}

/** The address of provider B's customers, which their payments do not carry. */
export function customerB(paid: Paid): VendorEvent {
  const data = { id: paid.customer, email: paid.email, name: null, status: "active", locale: "en", custom_data: null };
  return eventB("customer.created", `${paid.id}_u`, paid.at - 1_000, data);
}

/** An approved refund of a transaction, in part or in full. */
export function refundB(paid: Paid, at: number, refunded: number): VendorEvent {
  const tax = Math.round((paid.tax * refunded) / paid.amount);
  const totals = { total: String(refunded), tax: String(tax), subtotal: String(refunded - tax), fee: "0" };
  return eventB("adjustment.created", `${paid.id}_a`, at, {
    ...{ id: `adj_${paid.id}`, action: "refund", status: "approved", reason: "requested by the customer" },
    ...{ type: refunded === paid.amount ? "full" : "partial", transaction_id: `txn_${paid.id}` },
    ...{ subscription_id: paid.subscription, customer_id: paid.customer, currency_code: paid.currency, items: [] },
    ...{ totals: { ...totals, earnings: totals.subtotal, currency_code: paid.currency } },
    ...{ created_at: new Date(at).toISOString(), updated_at: new Date(at).toISOString() },
  });
}

/** The header that signs a body at a time (ms). */
export function signatureOf(provider: ListedVendor, body: string, secret: string, at: number): [string, string] {
  const time = seconds(at);
  const hex = (text: string) => createHmac("sha256", secret).update(text).digest("hex");
  return provider === "provider_a"
    ? ["provider-a-signature", `t=${time},v1=${hex(`${time}.${body}`)}`]
    : ["provider-b-signature", `ts=${time};h1=${hex(`${time}:${body}`)}`];
}
