/**
 * Required fields of provider A's objects are always present: this file compares them with the types of the vendor's
 * library, which are generated from its OpenAPI description, when it compiles. A field that the vendor makes optional or
 * null would lose payments.
 */
import type Stripe from "stripe";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import * as schema from "../../src/providers/provider-a/schema.ts";

/** True if each object of the vendor's type fits the schema; `Values`: fields of which only some values are accepted. */
type Fits<Schema extends z.ZodType, Theirs, Values extends keyof Theirs = never> =
  Omit<Theirs, Values> extends Omit<z.input<Schema>, Values> ? true : never;

const FITS = {
  charge: true satisfies Fits<typeof schema.charge, Stripe.Charge>,
  // An unknown mode or state is refused, with its path, and resent: it is not certain whether money moved.
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
  // The same; null is the status of a previewed invoice.
  invoice: true satisfies Fits<typeof schema.invoice, Stripe.Invoice, "status">,
  invoiceLine: true satisfies Fits<typeof schema.invoiceLine, Stripe.InvoiceLineItem>,
  invoicePayment: true satisfies Fits<typeof schema.invoicePayment, Stripe.InvoicePayment>,
  paymentIntent: true satisfies Fits<typeof schema.paymentIntent, Stripe.PaymentIntent>,
  promotionCode: true satisfies Fits<typeof schema.promotionCode, Stripe.PromotionCode>,
  refund: true satisfies Fits<typeof schema.refund, Stripe.Refund>,
  subscription: true satisfies Fits<typeof schema.subscription, Stripe.Subscription>,
  transfer: true satisfies Fits<typeof schema.transfer, Stripe.Transfer>,
};

describe("what is required of provider A's objects", () => {
  it("is what the vendor always sends, of each of them", () => {
    // A part of a charge, which is compared.
    const { newCharge: _, ...each } = schema;
    expect(Object.keys(FITS)).toEqual(Object.keys(each).toSorted());
  });
});
