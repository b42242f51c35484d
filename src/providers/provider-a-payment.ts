import { mulDivHalfUp } from "../domain/money.ts";
import type { CheckoutSession, Invoice } from "./provider-a-schema.ts";
import type { AttributionFact } from "./provider.ts";
import { aliasesOf, factsOf, factsOr, refIn, refuse, type Envelope, type Reading } from "./wire.ts";

/**
 * A checkout session: the payment it made or began, and the reference to remember (contract §5). A `setup` session has
 * no payment.
 */
export function sessionReading(session: CheckoutSession, { event_type, occurred_at }: Envelope): Reading {
  const ref = session.client_reference_id ?? refIn(session.metadata);
  const attribution = attributionOf(ref, session.subscription, session.customer, occurred_at);
  if (session.mode === "setup") {
    return factsOr(ref === null ? "setup_without_ref" : "setup_without_customer", attribution);
  }
  const { amount_total: gross_cents, currency } = session;
  const tax = session.total_details?.amount_tax ?? 0;
  if (gross_cents === null || gross_cents === undefined) {
    return refuse({ path: "data.object.amount_total", message: "a session that takes money has a total" });
  }
  if (currency === null || currency === undefined) {
    return refuse({ path: "data.object.currency", message: "a session that takes money has a currency" });
  }
  if (tax > gross_cents) {
    return refuse({ path: "data.object.total_details.amount_tax", message: "the tax is more than the total" });
  }
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      // A first subscription payment arrives as session and as invoice: the invoice's id makes them one.
      key: session.invoice ?? session.id,
      source: "session",
      aliases: aliasesOf(session.id, session.invoice, session.payment_intent),
      paid: event_type === "checkout.session.async_payment_succeeded" || session.payment_status !== "unpaid",
      currency,
      base_cents: gross_cents - tax,
      gross_cents,
      ref,
      customer_email: session.customer_details?.email ?? session.customer_email,
      customer_id: session.customer,
      subscription_id: session.subscription,
    },
    attribution,
  );
}

/** A paid invoice. One that is not paid yet tells at most a reference to remember. */
export function invoiceReading(invoice: Invoice, { occurred_at }: Envelope): Reading {
  const ref = invoiceRef(invoice);
  const subscription_id = invoiceSubscription(invoice);
  const attribution = attributionOf(ref, subscription_id, invoice.customer, occurred_at);
  if (invoice.status !== "paid") return factsOr("invoice_not_paid", attribution);
  const payments = invoice.payments?.data ?? [];
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      key: invoice.id,
      source: "invoice",
      aliases: aliasesOf(
        invoice.id,
        invoice.payment_intent,
        invoice.charge,
        ...payments.flatMap(({ payment }) => [payment?.payment_intent, payment?.charge]),
      ),
      paid: true,
      currency: invoice.currency,
      ...invoiceMoney(invoice),
      ref,
      customer_email: invoice.customer_email,
      customer_id: invoice.customer,
      subscription_id,
    },
    attribution,
  );
}

/**
 * What the customer paid for this invoice, net and gross. Covered in part by credit, the net total counts pro rata; paid
 * beyond its total, for an earlier debt, only the total does. A total that is not positive is nothing sold.
 */
function invoiceMoney(invoice: Invoice): { base_cents: number; gross_cents: number } {
  const { total } = invoice;
  if (total <= 0) return { base_cents: 0, gross_cents: 0 };
  const gross_cents = Math.min(amountSettled(invoice), total);
  // Negative taxes of prorated lines may push the net total past either end.
  const net = Math.min(Math.max(netTotal(invoice), 0), total);
  return { base_cents: mulDivHalfUp(net, gross_cents, total), gross_cents };
}

/**
 * What was paid through the vendor, and outside of it: an invoice marked as paid elsewhere is paid though `amount_paid`
 * may stay behind what was due.
 */
function amountSettled(invoice: Invoice): number {
  const { amount_paid, amount_due } = invoice;
  if (amount_due === null || amount_due === undefined) return amount_paid;
  const elsewhere = invoice.paid_out_of_band ? amount_due : (invoice.amount_paid_off_stripe ?? 0);
  return Math.max(amount_paid, Math.min(amount_due, amount_paid + elsewhere));
}

/** `total_excluding_tax`; where a shape lacks it, the total less `tax`, or less each tax. */
function netTotal(invoice: Invoice): number {
  if (typeof invoice.total_excluding_tax === "number") return invoice.total_excluding_tax;
  if (typeof invoice.tax === "number") return invoice.total - invoice.tax;
  const taxes = invoice.total_taxes ?? invoice.total_tax_amounts ?? [];
  return taxes.reduce((net, tax) => net - tax.amount, invoice.total);
}

/** Contract §5, in its order: both places of the subscription's metadata, each line's, the invoice's own. */
function invoiceRef(invoice: Invoice): string | null {
  const bags = [
    invoice.parent?.subscription_details?.metadata,
    invoice.subscription_details?.metadata,
    ...(invoice.lines?.data ?? []).map((line) => line.metadata),
    invoice.metadata,
  ];
  return bags.map(refIn).find((ref) => ref !== null) ?? null;
}

function invoiceSubscription(invoice: Invoice): string | null {
  const own = invoice.parent?.subscription_details?.subscription ?? invoice.subscription;
  if (own !== null) return own;
  const lines = (invoice.lines?.data ?? []).map(
    (line) =>
      line.parent?.subscription_item_details?.subscription ??
      line.parent?.invoice_item_details?.subscription ??
      line.subscription,
  );
  return lines.find((subscription) => subscription !== null) ?? null;
}

function attributionOf(
  ref: string | null,
  subscription_id: string | null,
  customer_id: string | null,
  occurred_at: string,
): AttributionFact | null {
  if (ref === null || (subscription_id === null && customer_id === null)) return null;
  return { kind: "attribution", occurred_at, ref, subscription_id, customer_id };
}
