/** Texts about provider A on pages. */
import type { Vendor } from "../provider.ts";
import { checkout } from "./checkout.ts";

export const texts = {
  secrets: {
    webhook_secret: {
      label: () => "Webhook signing secret",
      hint: (name) => `${name} shows it where you add the webhook address below.`,
      removed:
        "Webhooks of this provider are refused from now on. The provider tries again later, so nothing is lost if you paste a new secret soon.",
    },
    api_key: {
      label: (name) => `API key of ${name}`,
      hint: (name) =>
        `Finds events whose webhooks were lost, reads the data of thin events and the names of promotion codes, and pays out through ${name}'s connected accounts. A restricted key is enough. It needs read for Events, Checkout Sessions, Invoices, Credit Notes, Subscriptions, Payment Intents, Charges and Refunds, Disputes, Customers, Coupons and Promotion Codes; for payouts also write for Transfers and Accounts; for the button that adds our webhook address, write for Webhook Endpoints.`,
      removed:
        "Events whose webhooks were lost are no longer found, thin events are refused, and payouts to connected accounts are no longer possible, until you paste a new key.",
    },
  },
  wanted_events: {
    needed: [
      { type: "checkout.session.completed", purpose: "payments through the checkout and payment links" },
      { type: "invoice.paid", purpose: "subscriptions and invoices" },
      {
        type: "invoice_payment.paid",
        purpose: "links an invoice to its payment intent, so that one payment is not counted twice",
      },
    ],
    better: [
      { type: "checkout.session.async_payment_succeeded", purpose: "payments that arrive later, such as bank debits" },
      { type: "invoice.marked_uncollectible", purpose: "amounts paid on an invoice that you write off" },
      { type: "charge.refunded", purpose: "refunds lower the commission" },
      { type: "credit_note.created", purpose: "so do refunds outside of the provider" },
      { type: "credit_note.voided", purpose: "unless you reverse them" },
      { type: "refund.failed", purpose: "a failed refund raises it again" },
      { type: "refund.updated", purpose: "the same, for one that is canceled" },
      { type: "charge.dispute.created", purpose: "open disputes hold the commission back" },
      { type: "charge.dispute.closed", purpose: "lost disputes count as refunds" },
      { type: "charge.dispute.funds_reinstated", purpose: "unless the money came back" },
      { type: "customer.subscription.deleted", purpose: "flags the commissions of canceled subscriptions" },
      { type: "transfer.reversed", purpose: "returns a payout whose transfer you reverse in full" },
      { type: "promotion_code.created", purpose: "shows which partner's code a payment used" },
      { type: "promotion_code.updated", purpose: "the same, when it changes" },
      { type: "coupon.created", purpose: "the same, if a coupon's name is the partner's code" },
      { type: "coupon.updated", purpose: "the same, when it changes" },
      { type: "customer.discount.created", purpose: "the same, for invoices of subscriptions" },
      { type: "customer.created", purpose: "has the reference, if you store it on the customer" },
      { type: "customer.updated", purpose: "the same, when it changes" },
      {
        type: "payment_intent.succeeded",
        purpose:
          "payments made with Elements, through the API or with a saved card, and money that is held first and taken later",
      },
      {
        type: "charge.succeeded",
        purpose: "shows which refund belongs to which payment, and payments of the old Charges API",
      },
      { type: "charge.captured", purpose: "the same, if their money is held first and taken later" },
    ],
  },
  checkout,
} satisfies Pick<Vendor, "secrets" | "wanted_events" | "checkout">;
