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

/** A transfer to a connected account, in the group that is its payout. */
export const transfer = z.object({ id, transfer_group: optionalText, amount, amount_reversed: amount });

/** A promotion code in its own event; before 2025-09-30 its coupon is a separate field. */
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

/** A discount in its own event; a session's has no id. Before 2025-09-30 the coupon is a separate field. */
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

/** An invoice or a subscription of the API, read only for its discounts. */
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
  /** Null only while a `setup` session has no charge. */
  amount_total: amount.nullish(),
  currency: currency.nullish(),
  total_details: z.object({ amount_tax: amount.nullish() }).nullish(),
  client_reference_id: optionalText,
  metadata: bag,
  customer: expandable,
  subscription: expandable,
  invoice: expandable,
  /** An invoice is made after a one-off payment. */
  invoice_creation: z.object({ enabled: z.boolean().nullish() }).nullish(),
  payment_intent: expandableId,
  discounts,
  customer_details: z.object({ email: optionalAddress }).nullish(),
  customer_email: optionalAddress,
});
export type CheckoutSession = z.output<typeof checkoutSession>;

const taxes = z.array(z.object({ amount: signedAmount })).nullish();

/** The source of an invoice payment's money. */
const payment = z.object({ payment_intent: expandableId, charge: expandableId });

const subscriptionOf = z.object({ subscription: expandableId }).nullish();

/** Fields of the amount and the product of a line (`lines.ts`): a shape without them loses no payment. */
const priced = {
  ...{ amount: bag, description: bag, discount_amounts: bag, pretax_credit_amounts: bag, taxes: bag, tax_amounts: bag },
  ...{ pricing: bag, price: bag, plan: bag },
};

export const invoiceLine = z.object({
  ...priced,
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
  /** The amount by which credit notes lowered it before it was paid. */
  pre_payment_credit_notes_amount: amount.nullish(),
  /** Old shape: marked as paid outside the vendor. Its successor contains the amount. */
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
  /** Old shape: only the first one. */
  discount: expandableDiscount.nullish(),
  lines: z.object({ data: z.array(invoiceLine), has_more: z.boolean().nullish() }).nullish(),
  /** Only when expanded. */
  payments: z.object({ data: z.array(z.object({ payment: payment.nullish() })) }).nullish(),
});
export type Invoice = z.output<typeof invoice>;

export const invoicePayment = z.object({ invoice: expandableId, payment });

/** Old shape: the invoice, or null. Since 2025-03-31 the field is absent, which has no meaning. */
const oldInvoice = z.undefined().or(expandableId);

export const charge = z.object({
  id,
  amount: amount.nullish(),
  captured: z.boolean().nullish(),
  /** Absent in shapes without partial capture. */
  amount_captured: amount.nullish(),
  amount_refunded: amount,
  currency: currency.nullish(),
  metadata: bag,
  customer: expandable,
  receipt_email: optionalAddress,
  payment_intent: expandableId,
  invoice: oldInvoice,
});

/** A charge that cannot have been refunded yet. */
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

/** Only the part returned outside the vendor matters, because refunds and later invoices report the rest. */
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
    /** Missing in the vendor's own published example. */
    id: id.nullish(),
    amount,
    currency: currency.nullish(),
    status: z.string(),
    charge: expandableId,
    payment_intent: expandableId,
    /** Amounts taken from the account (negative) and given back, in the account's currency. */
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
  /** Old shape: only the first one. */
  discount: expandableDiscount.nullish(),
});

export const customer = z.object({ id, metadata: bag });
