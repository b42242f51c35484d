/**
 * What is required of provider A's objects is always there: the types of the vendor's library, which are written from its
 * OpenAPI description, are compared when this compiles. A field that the vendor makes optional or null would lose payments.
 */
import type Stripe from "stripe";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import * as schema from "../../src/providers/provider-a/schema.ts";

/** True where each object of the vendor's type has what the schema takes; `Values`: fields of which not each value is taken. */
type Fits<Schema extends z.ZodType, Theirs, Values extends keyof Theirs = never> =
  Omit<Theirs, Values> extends Omit<z.input<Schema>, Values> ? true : never;

const FITS = {
  charge: true satisfies Fits<typeof schema.charge, Stripe.Charge>,
  // A mode or state that is not known yet is refused, with its path, and comes again: whether money came cannot be said.
  checkoutSession: true satisfies Fits<
    typeof schema.checkoutSession,
    Stripe.Checkout.Session,
    "mode" | "payment_status"
  >,
  couponObject: true satisfies Fits<typeof schema.couponObject, Stripe.Coupon>,
  creditNote: true satisfies Fits<typeof schema.creditNote, Stripe.CreditNote>,
  customer: true satisfies Fits<typeof schema.customer, Stripe.Customer>,
  discount: true satisfies Fits<typeof schema.discount, Stripe.Discount>,
  discounted: [true, true] satisfies [
    Fits<typeof schema.discounted, Stripe.Invoice>,
    Fits<typeof schema.discounted, Stripe.Subscription>,
  ],
  dispute: true satisfies Fits<typeof schema.dispute, Stripe.Dispute>,
  // The same; null is the status of an invoice that is only previewed.
  invoice: true satisfies Fits<typeof schema.invoice, Stripe.Invoice, "status">,
  invoiceLine: true satisfies Fits<typeof schema.invoiceLine, Stripe.InvoiceLineItem>,
  invoicePayment: true satisfies Fits<typeof schema.invoicePayment, Stripe.InvoicePayment>,
  paymentIntent: true satisfies Fits<typeof schema.paymentIntent, Stripe.PaymentIntent>,
  promotionCode: true satisfies Fits<typeof schema.promotionCode, Stripe.PromotionCode>,
  refund: true satisfies Fits<typeof schema.refund, Stripe.Refund>,
  subscription: true satisfies Fits<typeof schema.subscription, Stripe.Subscription>,
};

describe("what is required of provider A's objects", () => {
  it("is what the vendor always sends, of each of them", () => {
    // A part of a charge, which is compared.
    const { newCharge: _, ...each } = schema;
    expect(Object.keys(FITS)).toEqual(Object.keys(each).toSorted());
  });
});
