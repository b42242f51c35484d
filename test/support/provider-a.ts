import { eventA, type EventA, type Overrides } from "./provider-a-event.ts";
import { invoiceShape, lineShape, oldInvoiceShape, oldLineShape, sessionShape } from "./provider-a-shapes.ts";
import { nowSeconds, uniqueId } from "./vendor.ts";

/**
 * Makers of provider A's events, in its real shapes, signed as it signs. Every id is new unless given, amounts are in
 * smallest units and tax included, times are seconds.
 *
 *     const event = sessionCompleted({ ref: "jane", amount: 12_000, tax: 2_000 });
 *     const body = bodyOfA(event);
 *     post("/webhooks/provider_a?program_id=…", body, { "Provider-A-Signature": await signA(body, secret) });
 */
export * from "./provider-a-event.ts";
export * from "./provider-a-changes.ts";

export interface SessionOverrides extends Overrides {
  id?: string;
  /** `client_reference_id`. */
  ref?: string | null;
  metadata?: Record<string, unknown> | null;
  /** Tax included; 10000 unless given. */
  amount?: number;
  tax?: number;
  currency?: string;
  /** Given one, the session is of mode `subscription`. */
  subscription?: string | null;
  invoice?: string | null;
  customer?: string | null;
  payment_intent?: string | null;
  email?: string | null;
  mode?: "payment" | "subscription" | "setup";
  payment_status?: "paid" | "unpaid" | "no_payment_required";
}

export function sessionCompleted(overrides: SessionOverrides = {}): EventA {
  return sessionEvent("checkout.session.completed", overrides);
}

/** The delayed payment of a session that completed unpaid has arrived: give it the session's id. */
export function sessionAsyncSucceeded(overrides: SessionOverrides = {}): EventA {
  return sessionEvent("checkout.session.async_payment_succeeded", overrides);
}

export function sessionAsyncFailed(overrides: SessionOverrides = {}): EventA {
  return sessionEvent("checkout.session.async_payment_failed", { payment_status: "unpaid", ...overrides });
}

/** A session that only stores a payment method. */
export function sessionSetup(overrides: SessionOverrides = {}): EventA {
  return sessionCompleted({
    mode: "setup",
    payment_status: "no_payment_required",
    payment_intent: null,
    ...overrides,
    object: { amount_total: null, amount_subtotal: null, currency: null, total_details: null, ...overrides.object },
  });
}

function sessionEvent(type: string, overrides: SessionOverrides): EventA {
  const mode = overrides.mode ?? (overrides.subscription ? "subscription" : "payment");
  const { amount = 10_000, tax = 0 } = overrides;
  const shape = sessionShape();
  return eventA(
    type,
    {
      ...shape,
      id: overrides.id ?? uniqueId("cs_test_"),
      mode,
      created: overrides.created ?? nowSeconds(),
      amount_subtotal: amount - tax,
      amount_total: amount,
      total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: tax },
      currency: overrides.currency ?? "usd",
      client_reference_id: overrides.ref ?? null,
      metadata: overrides.metadata === undefined ? {} : overrides.metadata,
      customer: overrides.customer ?? null,
      customer_details: {
        ...(shape["customer_details"] as object),
        email: overrides.email === undefined ? "buyer@example.com" : overrides.email,
      },
      subscription: overrides.subscription ?? null,
      invoice: overrides.invoice ?? null,
      payment_intent:
        overrides.payment_intent === undefined
          ? mode === "payment"
            ? uniqueId("pi_")
            : null
          : overrides.payment_intent,
      payment_status: overrides.payment_status ?? "paid",
    },
    overrides,
  );
}

export interface InvoiceOverrides extends Overrides {
  id?: string;
  /** `service_ref` in the subscription's metadata; `ref_in` puts it on the line or the invoice instead. */
  ref?: string | null;
  ref_in?: "subscription" | "line" | "invoice";
  /** The total, tax included; 10000 unless given. */
  amount?: number;
  tax?: number;
  /** Less than `amount` when credit covered a part. */
  amount_paid?: number;
  currency?: string;
  /** A new one unless given; null for an invoice without a subscription. */
  subscription?: string | null;
  customer?: string | null;
  email?: string | null;
  /** Named in the old shape; the new one has them in `payments` when given, as if expanded. */
  payment_intent?: string | null;
  charge?: string | null;
  billing_reason?: string;
  /** Net: the unused part of a paid period, credited on a line of its own. */
  unused?: number;
  status?: string;
  /** `old` is the shape before API version 2025-03-31. */
  shape?: "new" | "old";
}

export function invoicePaid(overrides: InvoiceOverrides = {}): EventA {
  return invoiceEvent("invoice.paid", overrides);
}

export function invoicePaymentSucceeded(overrides: InvoiceOverrides = {}): EventA {
  return invoiceEvent("invoice.payment_succeeded", overrides);
}

/** The rest of an open invoice is written off; of `amount`, `amount_paid` had been paid. */
export function invoiceWrittenOff(overrides: InvoiceOverrides = {}): EventA {
  const { amount = 10_000, amount_paid = 0 } = overrides;
  const due = { amount_due: amount, amount_remaining: amount - amount_paid, starting_balance: 0 };
  return invoiceEvent("invoice.marked_uncollectible", {
    ...{ status: "uncollectible", ...overrides, amount_paid },
    object: { ...due, ...overrides.object },
  });
}

function invoiceEvent(type: string, overrides: InvoiceOverrides): EventA {
  const { amount = 10_000, tax = 0, currency = "usd", ref = null, ref_in = "subscription", unused = 0 } = overrides;
  const id = overrides.id ?? uniqueId("in_");
  const subscription = overrides.subscription === undefined ? uniqueId("sub_") : overrides.subscription;
  const paid = overrides.amount_paid ?? amount;
  const metadataOf = (place: string) => (ref !== null && ref_in === place ? { service_ref: ref } : {});
  const line = { id: uniqueId("il_"), amount: amount - tax + unused, currency, metadata: metadataOf("line") };
  const lines = unused === 0 ? [line] : [{ ...line, id: uniqueId("il_"), amount: -unused }, line];
  const taxed = { amount: tax, taxable_amount: amount - tax, taxability_reason: "standard_rated" };
  const taxes = (shape: object) => (tax === 0 ? [] : [{ ...taxed, ...shape }]);
  const payments = { payment_intent: overrides.payment_intent ?? null, charge: overrides.charge ?? null };
  const common = {
    id,
    amount_due: paid,
    amount_paid: paid,
    billing_reason: overrides.billing_reason ?? (subscription === null ? "manual" : "subscription_cycle"),
    created: overrides.created ?? nowSeconds(),
    currency,
    customer: overrides.customer === undefined ? uniqueId("cus_") : overrides.customer,
    customer_email: overrides.email === undefined ? "buyer@example.com" : overrides.email,
    metadata: metadataOf("invoice"),
    starting_balance: paid - amount,
    status: overrides.status ?? "paid",
    subtotal: amount - tax,
    subtotal_excluding_tax: amount - tax,
    total: amount,
    total_excluding_tax: amount - tax,
  };
  const of_subscription = { metadata: metadataOf("subscription") };
  if (overrides.shape === "old") {
    const shape = oldInvoiceShape();
    return eventA(
      type,
      {
        ...shape,
        ...common,
        ...payments,
        lines: {
          ...(shape["lines"] as object),
          data: lines.map((one) => ({ ...oldLineShape(), ...one, subscription })),
        },
        subscription,
        subscription_details: subscription === null ? null : of_subscription,
        tax: tax === 0 ? null : tax,
        total_tax_amounts: taxes({ inclusive: false, tax_rate: "txr_1" }),
      },
      overrides,
    );
  }
  const shape = invoiceShape();
  const item = {
    invoice_item_details: null,
    subscription_item_details: {
      invoice_item: null,
      proration: false,
      proration_details: { credited_items: null },
      subscription,
      subscription_item: "si_1",
    },
    type: "subscription_item_details",
  };
  return eventA(
    type,
    {
      ...shape,
      ...common,
      lines: {
        ...(shape["lines"] as object),
        data: lines.map((one) => ({
          ...{ ...lineShape(), ...one },
          ...{ invoice: id, parent: subscription === null ? null : item },
        })),
      },
      parent:
        subscription === null
          ? null
          : {
              quote_details: null,
              subscription_details: { ...of_subscription, subscription },
              type: "subscription_details",
            },
      total_taxes: taxes({
        tax_behavior: "exclusive",
        tax_rate_details: { tax_rate: "txr_1" },
        type: "tax_rate_details",
      }),
      ...(payments.payment_intent === null && payments.charge === null
        ? {}
        : { payments: { object: "list", data: [{ object: "invoice_payment", payment: payments }], has_more: false } }),
    },
    overrides,
  );
}
