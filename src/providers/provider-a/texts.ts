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
        `Finds events whose webhooks were lost, reads what thin events name and what promotion codes are called, and pays out through ${name}'s connected accounts. A restricted key is enough. It needs read for Events, Checkout Sessions, Invoices, Credit Notes, Subscriptions, Payment Intents, Charges and Refunds, Disputes, Customers, Coupons and Promotion Codes; for payouts also write for Transfers and Accounts; for the button that enters our address there, write for Webhook Endpoints.`,
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
        purpose: "says which payment intent paid an invoice, so that one payment is not counted twice",
      },
    ],
    better: [
      { type: "checkout.session.async_payment_succeeded", purpose: "payments that arrive later, such as bank debits" },
      { type: "invoice.marked_uncollectible", purpose: "what was paid of an invoice that you write off" },
      { type: "charge.refunded", purpose: "refunds lower the commission" },
      { type: "credit_note.created", purpose: "so does what you give back outside of the provider" },
      { type: "credit_note.voided", purpose: "and does not, where you take it back" },
      { type: "refund.failed", purpose: "a refund that did not happen raises it again" },
      { type: "refund.updated", purpose: "the same, for one that is canceled" },
      { type: "charge.dispute.created", purpose: "open disputes hold the commission back" },
      { type: "charge.dispute.closed", purpose: "lost disputes count as refunds" },
      { type: "charge.dispute.funds_reinstated", purpose: "and money that came back does not" },
      { type: "customer.subscription.deleted", purpose: "flags the commissions of canceled subscriptions" },
      { type: "promotion_code.created", purpose: "says which code of a partner a payment was made with" },
      { type: "promotion_code.updated", purpose: "the same, when it changes" },
      { type: "coupon.created", purpose: "the same, where a coupon has the partner's code as its name" },
      { type: "coupon.updated", purpose: "the same, when it changes" },
      { type: "customer.discount.created", purpose: "the same, for invoices of subscriptions" },
      { type: "customer.created", purpose: "has the reference, where you put it on the customer" },
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
