import { larger, mulDivHalfUp, negate, NOTHING, smaller, sumWithin, type Cents } from "../../domain/money.ts";
import { discountsOf } from "./discounts.ts";
import { invoiceLines } from "./lines.ts";
import type { Charge, CheckoutSession, Invoice, InvoiceLine, PaymentIntent } from "./schema.ts";
import type { CarriedRef, Fact, Keeper, KeptBy, LinkFact, PaymentFact, RefPlace } from "../../domain/fact.ts";
import {
  aliasesOf,
  attributionsOf,
  carriedRefs,
  codeUseOf,
  factsOf,
  factsOr,
  refIn,
  refuse,
  type Envelope,
  type Reading,
} from "../wire.ts";

/** The subscription's metadata is on the invoice's lines as well. */
export const KEPT_BY: KeptBy = new Map<RefPlace, Keeper>([
  ["subscription_metadata", "subscription"],
  ["line_metadata", "subscription"],
  ["customer_metadata", "customer"],
]);

/** A checkout session: its payment and the reference to store (PAY-5, REF-3). A `setup` one has no payment. */
export function sessionReading(session: CheckoutSession, { event_type, occurred_at }: Envelope): Reading {
  const refs = sessionRefs(session);
  const whose = { subscription_id: session.subscription?.id ?? null, customer_id: session.customer?.id ?? null };
  const aliases = aliasesOf(session.id, session.invoice?.id, session.payment_intent);
  const { carried, names } = discountsOf(session.discounts ?? [], occurred_at);
  const attributions = [
    ...attributionsOf(refs, { ...whose, payment: aliases }, occurred_at, KEPT_BY),
    codeUseOf(carried.codes ?? [], { ...whose, payment: aliases }, occurred_at),
    ...names,
  ];
  if (session.mode === "setup") {
    return factsOr(refs.length === 0 ? "setup_without_ref" : "setup_without_customer", ...attributions);
  }
  const { amount_total, currency } = session;
  const tax = session.total_details?.amount_tax ?? NOTHING;
  if (amount_total === null || amount_total === undefined) {
    return refuse({ path: "data.object.amount_total", message: "a session that takes money has a total" });
  }
  if (currency === null || currency === undefined) {
    return refuse({ path: "data.object.currency", message: "a session that takes money has a currency" });
  }
  if (tax > amount_total) {
    return refuse({ path: "data.object.total_details.amount_tax", message: "the tax is more than the total" });
  }
  // Not charged at this time, despite its total. An invoice reports later charges.
  const gross_cents = session.payment_status === "no_payment_required" ? NOTHING : amount_total;
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      // A first subscription payment arrives as session and as invoice: the invoice's id makes them one payment.
      key: session.invoice?.id ?? session.id,
      source: "session",
      aliases,
      paid: event_type === "checkout.session.async_payment_succeeded" || session.payment_status !== "unpaid",
      currency,
      base_cents: sumWithin([gross_cents, negate(tax)], NOTHING, gross_cents),
      gross_cents,
      ...(session.invoice === null && session.invoice_creation?.enabled ? { tie: "open" as const } : {}),
      ref: refs[0]?.ref ?? null,
      refs,
      ...carried,
      customer_email: session.customer_details?.email ?? session.customer_email,
      ...whose,
    },
    ...attributions,
  );
}

/** A paid invoice, or the paid part of one that was written off. An unpaid one can only have a reference to store. */
export function invoiceReading(invoice: Invoice, { occurred_at }: Envelope): Reading {
  const refs = invoiceRefs(invoice);
  const whose = { subscription_id: invoiceSubscription(invoice), customer_id: invoice.customer?.id ?? null };
  const { carried, names } = discountsOf(invoiceDiscounts(invoice), occurred_at);
  const aliases = aliasesOf(
    invoice.id,
    invoice.payment_intent,
    invoice.charge,
    ...(invoice.payments?.data ?? []).flatMap(({ payment }) => [payment?.payment_intent, payment?.charge]),
  );
  const attributions = [
    ...attributionsOf(refs, { ...whose, payment: aliases }, occurred_at, KEPT_BY),
    codeUseOf(carried.codes ?? [], { ...whose, payment: aliases }, occurred_at),
    ...names,
  ];
  const isPart = isWrittenOff(invoice) && invoice.amount_paid > NOTHING;
  if (invoice.status !== "paid" && !isPart) return factsOr("invoice_not_paid", ...attributions);
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      key: invoice.id,
      source: "invoice",
      aliases,
      paid: true,
      currency: invoice.currency,
      ...invoiceMoney(invoice),
      ...(invoice.lines?.has_more ? { more_lines: true as const } : invoiceLines(invoice.lines?.data ?? [])),
      ...(isReceipt(invoice) ? { tie: "outside" as const } : {}),
      ...(isPart ? { written_off: true as const } : {}),
      ref: refs[0]?.ref ?? null,
      refs,
      ...carried,
      customer_email: invoice.customer_email,
      ...whose,
    },
    ...attributions,
  );
}

/**
 * A payment intent that succeeded. If a session or an invoice reports the same payment, it counts once, with the
 * amounts of that report (PAY-24). An intent that names its invoice belongs to the invoice, which reports the amount
 * paid.
 */
export function intentReading(intent: PaymentIntent, { occurred_at }: Envelope): Reading {
  const { invoice, order_reference } = { ...intent, ...intent.payment_details };
  const { amount_received, currency } = intent;
  const tax = intent.amount_details?.tax?.total_tax_amount ?? NOTHING;
  return takenReading(
    {
      ...intent,
      charge: intent.latest_charge,
      invoice: invoice ?? invoiceIn(order_reference ?? null) ?? invoice,
      taken: { by: "an intent that succeeded", field: "amount_received", amount_cents: amount_received, currency, tax },
      held: intent.amount,
    },
    occurred_at,
  );
}

/** A captured charge: the amount of its intent, or without one a payment of its own (PAY-24). */
export function chargeReading(charge: Charge, { event_type, occurred_at }: Envelope): Reading {
  const { id, payment_intent, amount, amount_captured, currency } = charge;
  const isHeld = charge.captured === false && event_type !== "charge.captured";
  // Older shapes without partial capture have captured all or 0.
  const taken = amount_captured ?? (isHeld ? NOTHING : amount);
  const aliases = aliasesOf(id, payment_intent, charge.invoice);
  if (payment_intent !== null)
    return linkOf(aliases, occurred_at, takenAmount(payment_intent, amount_captured, currency));
  // Authorized money is reported again when it is captured. A captured amount outweighs the flag.
  if (isHeld && taken === NOTHING) return factsOr("nothing_paid_yet", null);
  return takenReading(
    {
      ...charge,
      charge: null,
      taken: { by: "a charge that succeeded", field: "amount", amount_cents: taken, currency, tax: NOTHING },
      held: amount,
    },
    occurred_at,
  );
}

/** Money that an intent took, or a charge without one. */
interface Taking extends Pick<PaymentIntent, "id" | "customer" | "metadata" | "receipt_email"> {
  charge: string | null;
  /** Undefined if the shape does not show whether there is one. */
  invoice: string | null | undefined;
  held: Cents | null | undefined;
  taken: {
    by: string;
    field: string;
    amount_cents: Cents | null | undefined;
    currency: string | null | undefined;
    tax: Cents;
  };
}

function takenReading({ id, charge, invoice, held, taken, ...said }: Taking, occurred_at: string): Reading {
  const { amount_cents, currency } = taken;
  const aliases = aliasesOf(id, charge, invoice);
  const refs = carriedRefs(["metadata", refIn(said.metadata)], ["customer_metadata", refIn(said.customer?.metadata)]);
  if (invoice) return linkOf(aliases, occurred_at, takenAmount(id, amount_cents, currency));
  if (amount_cents === null || amount_cents === undefined) {
    return refuse({ path: `data.object.${taken.field}`, message: `${taken.by} has taken an amount` });
  }
  if (currency === null || currency === undefined) {
    return refuse({ path: "data.object.currency", message: `${taken.by} has a currency` });
  }
  const whose = { subscription_id: null, customer_id: said.customer?.id ?? null };
  return factsOf(
    {
      kind: "payment",
      occurred_at,
      key: id,
      source: "intent",
      aliases,
      paid: true,
      currency,
      base_cents: sumWithin([amount_cents, negate(taken.tax)], NOTHING, amount_cents),
      gross_cents: amount_cents,
      ...releasedAmount(held, amount_cents),
      ...(invoice === undefined ? { tie: "open" as const } : {}),
      ref: refs[0]?.ref ?? null,
      refs,
      customer_email: said.receipt_email,
      ...whose,
    },
    ...attributionsOf(refs, { ...whose, payment: aliases }, occurred_at, KEPT_BY),
  );
}

/**
 * Since 2025-03-31 an intent no longer names its invoice, except that billing may write the invoice's id as the order
 * reference. Owners may write their own references there, which do not have the form of an invoice id.
 */
function invoiceIn(order: string | null): string | null {
  return order !== null && INVOICE_ID.test(order) ? order : null;
}

/** An order such as `in_store-7` is the owner's: treated as an invoice it would never be paid. */
const INVOICE_ID = /^in_[A-Za-z0-9]+$/;

/** The authorized amount that was not captured; absent if all was. */
export function releasedAmount(
  held: Cents | null | undefined,
  taken: Cents | null | undefined,
): { released_cents?: Cents } {
  if (held === null || held === undefined || taken === null || taken === undefined || taken >= held) return {};
  return { released_cents: sumWithin([held, negate(taken)], NOTHING, held) };
}

/** The amount that an intent or a charge took, if it states one. */
export function takenAmount(by: string, amount_cents: Cents | null | undefined, currency: string | null | undefined) {
  return amount_cents && currency ? { moved: { by, amount_cents, currency } } : {};
}

/** A fact that these ids belong to one payment; no fact for a single id. */
export function linkOf(aliases: string[], occurred_at: string, said: Pick<LinkFact, "moved"> = {}): Reading {
  return factsOr("nothing_to_link", aliases.length < 2 ? null : { kind: "link", occurred_at, aliases, ...said });
}

function isWrittenOff({ status }: Invoice): boolean {
  return status === "uncollectible";
}

/**
 * The amount that the customer paid for this invoice, net and gross. If it was paid in part, or partly by credit, the
 * net total counts pro rata; if more was paid than credit notes left of its total, to settle an earlier debt, only the
 * rest of the total counts. A total that is not positive is not a sale.
 */
function invoiceMoney(
  invoice: Invoice,
): Pick<PaymentFact, "base_cents" | "gross_cents" | "taken_cents" | "lines_cents"> {
  const { total } = invoice;
  if (total <= 0) return { base_cents: NOTHING, gross_cents: NOTHING };
  const asked = sumWithin([total, negate(invoice.pre_payment_credit_notes_amount ?? NOTHING)]);
  const settled = amountSettled(invoice);
  const gross_cents = sumWithin([smaller(settled, asked)], NOTHING, total);
  // Negative taxes of prorated lines can push the net total past either limit.
  const net = sumWithin([netTotal(invoice)], NOTHING, total);
  const base_cents = mulDivHalfUp(net, gross_cents, total);
  const money = { base_cents, gross_cents, ...(base_cents === net ? {} : { lines_cents: net }) };
  return settled === gross_cents ? money : { ...money, taken_cents: settled };
}

/**
 * The amount paid through the vendor and outside it: an invoice marked as paid elsewhere is paid even if `amount_paid`
 * is less than the amount due. For one that was written off only `amount_paid` counts: the rest was never paid.
 */
function amountSettled(invoice: Invoice): Cents {
  const { amount_paid, amount_due } = invoice;
  if (amount_due === null || amount_due === undefined || isWrittenOff(invoice)) return amount_paid;
  const elsewhere = invoice.paid_out_of_band ? amount_due : (invoice.amount_paid_off_stripe ?? NOTHING);
  return larger(amount_paid, sumWithin([amount_paid, elsewhere], NOTHING, amount_due));
}

/** Whether an invoice was paid outside the vendor, by hand: it may be another payment's receipt. */
function isReceipt(invoice: Invoice): boolean {
  const { billing_reason, paid_out_of_band, amount_paid_off_stripe } = invoice;
  const isByHand = billing_reason === null ? invoiceSubscription(invoice) === null : billing_reason === "manual";
  return isByHand && (paid_out_of_band === true || (amount_paid_off_stripe ?? NOTHING) > NOTHING);
}

/** `total_excluding_tax`; in shapes without it the total less `tax`, or less each tax. */
function netTotal(invoice: Invoice): Cents {
  if (typeof invoice.total_excluding_tax === "number") return invoice.total_excluding_tax;
  if (typeof invoice.tax === "number") return sumWithin([invoice.total, negate(invoice.tax)]);
  const taxes = invoice.total_taxes ?? invoice.total_tax_amounts ?? [];
  return sumWithin([invoice.total, ...taxes.map((tax) => negate(tax.amount))]);
}

/** Ordered by REF-1: the session's own, then those of its expanded objects. */
function sessionRefs({
  client_reference_id,
  metadata,
  subscription,
  invoice,
  customer,
}: CheckoutSession): CarriedRef[] {
  return carriedRefs(
    ["client_reference_id", client_reference_id],
    ["metadata", refIn(metadata)],
    ["subscription_metadata", refIn(subscription?.metadata)],
    ["invoice_metadata", refIn(invoice?.metadata)],
    ["customer_metadata", refIn(customer?.metadata)],
  );
}

/** Ordered by REF-1: all of the subscription's metadata, each line's, the invoice's, the customer's. */
function invoiceRefs(invoice: Invoice): CarriedRef[] {
  const details = invoice.parent?.subscription_details;
  return carriedRefs(
    ["subscription_metadata", refIn(details?.metadata)],
    ["subscription_metadata", refIn(invoice.subscription_details?.metadata)],
    ["subscription_metadata", refIn(details?.subscription?.metadata)],
    ["subscription_metadata", refIn(invoice.subscription?.metadata)],
    ...(invoice.lines?.data ?? []).map((line): [RefPlace, string | null] => ["line_metadata", refIn(line.metadata)]),
    ["invoice_metadata", refIn(invoice.metadata)],
    ["customer_metadata", refIn(invoice.customer?.metadata)],
  );
}

/** The discounts of the whole invoice before those of its lines. */
function invoiceDiscounts({ discount, discounts, lines }: Invoice) {
  return [discount, ...(discounts ?? []), ...(lines?.data ?? []).flatMap((line) => line.discounts ?? [])];
}

function invoiceSubscription(invoice: Invoice): string | null {
  const own = invoice.parent?.subscription_details?.subscription ?? invoice.subscription;
  if (own !== null) return own.id;
  const lines = (invoice.lines?.data ?? []).map(
    (line) =>
      line.parent?.subscription_item_details?.subscription ??
      line.parent?.invoice_item_details?.subscription ??
      line.subscription,
  );
  return lines.find((subscription) => subscription !== null) ?? null;
}

/** The facts of lines that an event omitted: its payment, with their references, codes and products (`known`). */
export function furtherLines(
  paid: PaymentFact,
  lines: readonly Pick<InvoiceLine, "metadata" | "discounts">[],
  known: Pick<PaymentFact, "lines">,
): Fact[] {
  const { subscription_id, customer_id, aliases, occurred_at, more_lines: _, ...rest } = paid;
  const whose = { subscription_id, customer_id };
  const refs = carriedRefs(
    ...lines.map(({ metadata }): [RefPlace, string | null] => ["line_metadata", refIn(metadata)]),
  );
  const { carried, names } = discountsOf(
    lines.flatMap(({ discounts }) => discounts ?? []),
    occurred_at,
  );
  if (refs.length === 0 && !carried.codes && !known.lines) return [];
  const said = { ...rest, ...known, ...whose, aliases, occurred_at, ref: refs[0]?.ref ?? null, refs, ...carried };
  return [
    said,
    ...attributionsOf(refs, { ...whose, payment: aliases }, occurred_at, KEPT_BY),
    ...[codeUseOf(carried.codes ?? [], { ...whose, payment: aliases }, occurred_at)].filter((fact) => fact !== null),
    ...names,
  ];
}
