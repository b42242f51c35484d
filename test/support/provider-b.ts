import { hmacHex, nowSeconds, nulls, uniqueId } from "./vendor.ts";

/**
 * Makers of provider B's notifications, in its real shapes, signed as it signs. Every id is new unless given, amounts
 * are numbers here and texts on the wire, in the lowest unit and tax included.
 *
 *     const event = transactionCompleted({ ref: "jane", program: program.id, amount: 12_000, tax: 2_000 });
 *     const body = bodyOfB(event);
 *     post("/webhooks/provider_b", body, { "Provider-B-Signature": await signB(body, secret) });
 */
export interface EventB {
  data: { id: string; [field: string]: unknown };
  event_id: string;
  event_type: string;
  occurred_at: string;
  notification_id: string;
}

/** The options of every maker: the event's own id and time, and fields that replace those of its data. */
export interface Overrides {
  event_id?: string;
  /** RFC 3339; now unless given. */
  occurred_at?: string;
  data?: Record<string, unknown>;
}

/** Any notification of provider B around any entity. */
export function eventB(event_type: string, data: Record<string, unknown>, overrides: Overrides = {}): EventB {
  return {
    data: { ...data, ...overrides.data } as EventB["data"],
    event_id: overrides.event_id ?? uniqueId("evt_"),
    event_type,
    occurred_at: overrides.occurred_at ?? now(),
    notification_id: uniqueId("ntf_"),
  };
}

/** The body as the vendor sends it: compact. Sign and send this text, not the event. */
export function bodyOfB(event: EventB): string {
  return JSON.stringify(event);
}

/** The signature header for a body; `timestamp` in seconds, now unless given. */
export async function signB(body: string | Uint8Array, secret: string, timestamp = nowSeconds()): Promise<string> {
  return `ts=${timestamp};h1=${await hmacHex(secret, `${timestamp}:`, body)}`;
}

interface Named extends Overrides {
  id?: string;
  /** `custom_data.service_ref`. */
  ref?: string | number | null;
  /** `custom_data.service_program`. */
  program?: string;
  /** Replaces the custom data made of `ref` and `program`. */
  custom_data?: unknown;
  customer?: string | null;
}

export interface TransactionOverrides extends Named {
  /** Tax included; 10000 unless given. Negative of a downgrade: all of it goes to the customer's balance. */
  amount?: number;
  tax?: number;
  /** The amount that the customer's balance paid. */
  credit?: number;
  /**
   * The report of the tax in the charged amount: `new` states it (since January 2026), `repeated` has the whole tax in
   * its place (transactions made before), `old` does not state it.
   */
  shape?: "new" | "repeated" | "old";
  currency?: string;
  subscription?: string | null;
  origin?: string;
}

export function transactionCompleted(overrides: TransactionOverrides = {}): EventB {
  return transactionEvent("transaction.completed", overrides);
}

/** `transaction.paid`, `transaction.payment_failed`, … */
export function transactionEvent(event_type: string, overrides: TransactionOverrides = {}): EventB {
  const { amount = 10_000, tax = 0, credit = 0, currency = "USD", subscription = null, shape = "new" } = overrides;
  const net = String(amount - tax);
  const sums = { tax: String(tax), total: String(amount), discount: "0", subtotal: net };
  const charged = Math.max(amount - credit, 0);
  const all = { ...sums, fee: "0", credit: String(credit), balance: "0", earnings: net, grand_total: String(charged) };
  const totals = {
    ...all,
    currency_code: currency,
    credit_to_balance: String(Math.max(-amount, 0)),
    ...(shape === "old" ? {} : { grand_total_tax: shape === "new" ? part(tax, charged, amount) : String(tax) }),
  };
  const priced = entity("pri_", "Plan");
  const price = {
    ...priced,
    product_id: "pro_01gsz4t5hdjse780zja8vvr7jg",
    unit_price: { amount: net, currency_code: currency },
    billing_cycle: subscription === null ? null : { interval: "month", frequency: 1 },
    ...nulls("trial_period"),
    tax_mode: "account_setting",
    quantity: { maximum: 999, minimum: 1 },
    unit_price_overrides: [],
  };
  const product = { ...entity("pro_", "Plan"), image_url: null, tax_category: "standard" };
  return eventB(
    event_type,
    {
      id: overrides.id ?? uniqueId("txn_"),
      items: [{ price, quantity: 1, proration: null }],
      origin: overrides.origin ?? (subscription === null ? "web" : "subscription_recurring"),
      status: "completed",
      details: {
        totals,
        line_items: [
          {
            id: uniqueId("txnitm_"),
            totals: sums,
            product,
            price_id: priced.id,
            quantity: 1,
            proration: null,
            tax_rate: "0.2",
            unit_totals: sums,
          },
        ],
        payout_totals: { ...totals, exchange_rate: "1", fee_rate: "0" },
        tax_rates_used: [{ totals: sums, tax_rate: "0.2" }],
        adjusted_payout_totals: null,
        adjusted_totals: {
          ...{ fee: "0", tax: sums.tax, total: sums.total, earnings: net, subtotal: net },
          ...{ grand_total: sums.total, currency_code: currency, retained_fee: "0", grand_total_tax: sums.tax },
        },
      },
      checkout: { url: "https://shop.example/pay" },
      payments: [
        {
          amount: sums.total,
          status: "captured",
          created_at: now(),
          error_code: null,
          captured_at: now(),
          method_details: {
            card: {
              ...{ type: "visa", last4: "3184", expiry_year: 2035, expiry_month: 1 },
              cardholder_name: "Example Buyer",
            },
            type: "card",
            ...nulls("south_korea_local_card underlying_details"),
          },
          payment_method_id: uniqueId("paymtd_"),
          payment_attempt_id: crypto.randomUUID(),
          stored_payment_method_id: crypto.randomUUID(),
        },
      ],
      billed_at: now(),
      address_id: uniqueId("add_"),
      created_at: now(),
      invoice_id: uniqueId("inv_"),
      updated_at: now(),
      ...nulls("revised_at business_id"),
      custom_data: customData(overrides),
      customer_id: overrides.customer === undefined ? uniqueId("ctm_") : overrides.customer,
      discount_id: null,
      currency_code: currency,
      billing_period: null,
      invoice_number: "325-10566",
      billing_details: null,
      collection_mode: "automatic",
      subscription_id: subscription,
    },
    overrides,
  );
}

/** `tax` × `charged` / `amount`, half up. */
function part(tax: number, charged: number, amount: number): string {
  if (charged <= 0 || amount <= 0) return "0";
  return String((2n * BigInt(tax) * BigInt(charged) + BigInt(amount)) / (2n * BigInt(amount)));
}

export interface AdjustmentOverrides extends Overrides {
  id?: string;
  /** The id of the transaction it is about. */
  transaction: string;
  /** Tax included; 10000 unless given. */
  amount?: number;
  tax?: number;
  currency?: string;
  action?:
    | "refund"
    | "credit"
    | "credit_reverse"
    | "chargeback"
    | "chargeback_reverse"
    | "chargeback_warning"
    | "chargeback_warning_reverse";
  status?: "pending_approval" | "approved" | "rejected" | "reversed";
  subscription?: string | null;
  customer?: string;
}

/** `adjustment.created`: a refund pending approval, unless another action or status is given. */
export function adjustmentCreated(overrides: AdjustmentOverrides): EventB {
  return adjustmentEvent("adjustment.created", { status: "pending_approval", ...overrides });
}

/** `adjustment.updated`: approved unless another status is given. Give it the id of the adjustment created before. */
export function adjustmentUpdated(overrides: AdjustmentOverrides): EventB {
  return adjustmentEvent("adjustment.updated", { status: "approved", ...overrides });
}

function adjustmentEvent(event_type: string, overrides: AdjustmentOverrides): EventB {
  const { amount = 10_000, tax = 0, currency = "USD" } = overrides;
  const sums = { tax: String(tax), total: String(amount), subtotal: String(amount - tax) };
  const totals = { ...sums, fee: "0", earnings: sums.subtotal, currency_code: currency, retained_fee: "0" };
  return eventB(
    event_type,
    {
      id: overrides.id ?? uniqueId("adj_"),
      items: [
        {
          id: uniqueId("adjitm_"),
          type: "partial",
          amount: sums.total,
          totals: sums,
          item_id: uniqueId("txnitm_"),
          proration: null,
        },
      ],
      action: overrides.action ?? "refund",
      reason: "error",
      status: overrides.status,
      totals,
      created_at: now(),
      updated_at: now(),
      customer_id: overrides.customer ?? uniqueId("ctm_"),
      currency_code: currency,
      payout_totals: { ...totals, chargeback_fee: null },
      transaction_id: overrides.transaction,
      subscription_id: overrides.subscription ?? null,
      ...nulls("credit_applied_to_balance tax_rates_used"),
      type: "partial",
    },
    overrides,
  );
}

export function subscriptionCanceled(overrides: Named = {}): EventB {
  return subscriptionEventB("subscription.canceled", {
    ...overrides,
    data: { status: "canceled", canceled_at: now(), ...overrides.data },
  });
}

export interface CustomerOverridesB extends Named {
  email?: string | null;
}

/** `customer.created` unless another type is given. */
export function customerEventB(overrides: CustomerOverridesB = {}, event_type = "customer.created"): EventB {
  return eventB(
    event_type,
    {
      id: overrides.id ?? uniqueId("ctm_"),
      name: "Example Buyer",
      email: overrides.email === undefined ? "buyer@example.com" : overrides.email,
      locale: "en",
      status: "active",
      created_at: now(),
      updated_at: now(),
      custom_data: customData(overrides),
      import_meta: null,
      marketing_consent: false,
    },
    overrides,
  );
}

/** `subscription.created`, `subscription.activated`, … */
export function subscriptionEventB(event_type: string, overrides: Named = {}): EventB {
  return eventB(
    event_type,
    {
      id: overrides.id ?? uniqueId("sub_"),
      items: [],
      status: "active",
      ...nulls("discount paused_at"),
      address_id: uniqueId("add_"),
      created_at: now(),
      started_at: now(),
      updated_at: now(),
      ...nulls("business_id canceled_at"),
      custom_data: customData(overrides),
      customer_id: overrides.customer === undefined ? uniqueId("ctm_") : overrides.customer,
      import_meta: null,
      billing_cycle: { interval: "month", frequency: 1 },
      currency_code: "USD",
      ...nulls("next_billed_at billing_details"),
      collection_mode: "automatic",
      first_billed_at: now(),
      ...nulls("scheduled_change current_billing_period"),
    },
    overrides,
  );
}

function customData({ ref = null, program, custom_data }: Named): unknown {
  if (custom_data !== undefined) return custom_data;
  const bag = {
    ...(ref === null ? {} : { service_ref: ref }),
    ...(program === undefined ? {} : { service_program: program }),
  };
  return Object.keys(bag).length === 0 ? null : bag;
}

function entity(prefix: string, name: string): { id: string; [field: string]: unknown } {
  return {
    id: uniqueId(prefix),
    name,
    type: "standard",
    status: "active",
    created_at: now(),
    updated_at: now(),
    ...nulls("custom_data import_meta"),
    description: name,
  };
}

/** The vendor counts in microseconds. */
function now(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
