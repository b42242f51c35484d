import * as z from "zod";
import {
  amount,
  bag,
  currency,
  expandable,
  expandableId,
  id,
  optionalAddress,
  optionalText,
  signedAmount,
} from "../wire.ts";

/** A coupon, or its id. */
const coupon = z
  .union([id.transform((only) => ({ id: only, name: null })), z.object({ id, name: optionalText })], {
    error: "This must be an id or an object with an id.",
  })
  .nullish()
  .transform((value) => value ?? null);
export type Coupon = NonNullable<z.output<typeof coupon>>;

/** A promotion code as its own event has it; before 2025-09-30 its coupon is its own field. */
export const promotionCode = z.object({
  id,
  code: optionalText,
  coupon,
  promotion: z.object({ coupon }).nullish(),
});
export type PromotionCode = z.output<typeof promotionCode>;

const expandablePromotionCode = z
  .union([id.transform((only): PromotionCode => ({ id: only, code: null, coupon: null })), promotionCode], {
    error: "This must be an id or an object with an id.",
  })
  .nullish()
  .transform((value) => value ?? null);

/** A discount as its own event has it; that of a session has no id. Before 2025-09-30 the coupon is its own field. */
export const discount = z.object({
  id: id.nullish(),
  promotion_code: expandablePromotionCode,
  coupon,
  source: z.object({ coupon }).nullish(),
  customer: expandableId,
});
export type Discount = z.output<typeof discount>;

const expandableDiscount = z.union(
  [id.transform((only): Discount => ({ id: only, promotion_code: null, coupon: null, customer: null })), discount],
  { error: "This must be an id or an object with an id." },
);
const discounts = z.array(expandableDiscount).nullish();

/** An invoice or a subscription as the API has it, of which only the discounts matter. */
export const discounted = z.object({
  object: z.enum(["invoice", "subscription"]),
  id,
  discounts,
  lines: z.object({ data: z.array(z.object({ discounts })) }).nullish(),
});

export const couponObject = z.object({ id, name: optionalText });

export const checkoutSession = z.object({
  id,
  mode: z.enum(["payment", "subscription", "setup"]),
  payment_status: z.enum(["paid", "unpaid", "no_payment_required"]),
  /** Null only while a `setup` session has nothing to charge. */
  amount_total: amount.nullish(),
  currency: currency.nullish(),
  total_details: z.object({ amount_tax: amount.nullish() }).nullish(),
  client_reference_id: optionalText,
  metadata: bag,
  customer: expandable,
  subscription: expandable,
  invoice: expandable,
  /** Of a one-off payment: an invoice is made afterwards. */
  invoice_creation: z.object({ enabled: z.boolean().nullish() }).nullish(),
  payment_intent: expandableId,
  discounts,
  customer_details: z.object({ email: optionalAddress }).nullish(),
  customer_email: optionalAddress,
});
export type CheckoutSession = z.output<typeof checkoutSession>;

const taxes = z.array(z.object({ amount: signedAmount })).nullish();

/** Where an invoice payment's money came from. */
const payment = z.object({ payment_intent: expandableId, charge: expandableId });

const subscriptionOf = z.object({ subscription: expandableId }).nullish();

export const invoiceLine = z.object({
  metadata: bag,
  discounts,
  subscription: expandableId,
  parent: z.object({ subscription_item_details: subscriptionOf, invoice_item_details: subscriptionOf }).nullish(),
});

export type InvoiceLine = z.output<typeof invoiceLine>;

export const invoice = z.object({
  id,
  status: z.enum(["draft", "open", "paid", "uncollectible", "void"]),
  billing_reason: optionalText,
  currency,
  total: signedAmount,
  amount_paid: amount,
  amount_due: amount.nullish(),
  /** By how much credit notes lowered it before it was paid. */
  pre_payment_credit_notes_amount: amount.nullish(),
  /** Old shape: marked as paid outside the vendor. Its successor says how much. */
  paid_out_of_band: z.boolean().nullish(),
  amount_paid_off_stripe: amount.nullish(),
  /** The net total; older shapes have `tax`, or the taxes one by one under either name. */
  total_excluding_tax: signedAmount.nullish(),
  tax: signedAmount.nullish(),
  total_taxes: taxes,
  total_tax_amounts: taxes,
  metadata: bag,
  customer: expandable,
  customer_email: optionalAddress,
  parent: z.object({ subscription_details: z.object({ subscription: expandable, metadata: bag }).nullish() }).nullish(),
  /** Old shape. */
  subscription: expandable,
  subscription_details: z.object({ metadata: bag }).nullish(),
  payment_intent: expandableId,
  charge: expandableId,
  discounts,
  /** Old shape: the first of them. */
  discount: expandableDiscount.nullish(),
  lines: z.object({ data: z.array(invoiceLine), has_more: z.boolean().nullish() }).nullish(),
  /** Only when expanded. */
  payments: z.object({ data: z.array(z.object({ payment: payment.nullish() })) }).nullish(),
});
export type Invoice = z.output<typeof invoice>;

export const invoicePayment = z.object({ invoice: expandableId, payment });

/** Old shape: the invoice, or null for none. Since 2025-03-31 the field is absent, which says nothing. */
const oldInvoice = z.undefined().or(expandableId);

export const charge = z.object({
  id,
  amount: amount.nullish(),
  captured: z.boolean().nullish(),
  /** Absent in shapes that know no part of it. */
  amount_captured: amount.nullish(),
  amount_refunded: amount,
  currency: currency.nullish(),
  metadata: bag,
  customer: expandable,
  receipt_email: optionalAddress,
  payment_intent: expandableId,
  invoice: oldInvoice,
});

/** A charge of which nothing can have gone back. */
export const newCharge = charge.omit({ amount_refunded: true });
export type Charge = z.output<typeof newCharge>;

export const paymentIntent = z.object({
  id,
  amount: amount.nullish(),
  amount_received: amount.nullish(),
  currency: currency.nullish(),
  amount_details: z.object({ tax: z.object({ total_tax_amount: amount.nullish() }).nullish() }).nullish(),
  metadata: bag,
  customer: expandable,
  receipt_email: optionalAddress,
  latest_charge: expandableId,
  invoice: oldInvoice,
  payment_details: z.object({ order_reference: optionalText }).nullish(),
});
export type PaymentIntent = z.output<typeof paymentIntent>;

export const refund = z.object({
  id,
  amount,
  currency: currency.nullish(),
  status: z.string().nullish(),
  charge: expandableId,
  payment_intent: expandableId,
});
export type Refund = z.output<typeof refund>;

/** Of what it gives back only what no refund and no later invoice reports matters: what goes back outside of the vendor. */
export const creditNote = z.object({
  id,
  status: z.string().nullish(),
  currency: currency.nullish(),
  invoice: expandableId,
  out_of_band_amount: amount.nullish(),
  refunds: z.array(z.object({ type: z.string().nullish(), amount_refunded: amount.nullish() })).nullish(),
});

export const dispute = z
  .object({
    /** The vendor's own published example has none. */
    id: id.nullish(),
    amount,
    currency: currency.nullish(),
    status: z.string(),
    charge: expandableId,
    payment_intent: expandableId,
    /** What it took of the account, below 0, and gave back; in the account's currency. */
    balance_transactions: z.array(z.object({ amount: signedAmount, reporting_category: optionalText })).nullish(),
  })
  .refine((object) => object.charge !== null || object.payment_intent !== null, {
    path: ["charge"],
    message: "a dispute names its charge or its payment intent",
  });
export type Dispute = z.output<typeof dispute>;

export const subscription = z.object({
  id,
  customer: expandableId,
  metadata: bag,
  discounts,
  /** Old shape: the first of them. */
  discount: expandableDiscount.nullish(),
});

export const customer = z.object({ id, metadata: bag });
