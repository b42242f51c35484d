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
      begins: ["whsec_"],
    },
    api_key: {
      label: (name) => `API key of ${name}`,
      hint: (name) =>
        `Finds events whose webhooks were lost, reads the data of thin events and the names of promotion codes, and pays out through ${name}'s connected accounts. A restricted key is enough. It needs read for Events, Checkout Sessions, Invoices, Credit Notes, Subscriptions, Payment Intents, Charges and Refunds, Disputes, Customers, Coupons and Promotion Codes; for payouts also write for Transfers and Accounts, and read for Balance, which also gives ${name}'s exchange rates; for the button that adds our webhook address, write for Webhook Endpoints.`,
      removed:
        "Events whose webhooks were lost are no longer found, thin events are refused, and payouts to connected accounts are no longer possible, until you paste a new key.",
      begins: ["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
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
      { type: "credit_note.created", purpose: "credit notes lower the commission" },
      { type: "credit_note.voided", purpose: "voided credit notes raise it again" },
      { type: "refund.failed", purpose: "failed refunds raise it again" },
      { type: "refund.updated", purpose: "canceled refunds raise it again" },
      { type: "charge.dispute.created", purpose: "open disputes hold the commission back" },
      { type: "charge.dispute.closed", purpose: "lost disputes count as refunds" },
      { type: "charge.dispute.funds_reinstated", purpose: "disputes won later raise it again" },
      { type: "customer.subscription.deleted", purpose: "flags the commissions of canceled subscriptions" },
      { type: "transfer.reversed", purpose: "returns a payout whose transfer you reverse in full" },
      { type: "promotion_code.created", purpose: "shows which partner's code a payment used" },
      { type: "promotion_code.updated", purpose: "changes of promotion codes" },
      { type: "coupon.created", purpose: "coupons whose name is a partner's code" },
      { type: "coupon.updated", purpose: "changes of coupons" },
      { type: "customer.discount.created", purpose: "codes on invoices of subscriptions" },
      { type: "customer.created", purpose: "a reference stored on the customer" },
      { type: "customer.updated", purpose: "changes of that reference" },
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
