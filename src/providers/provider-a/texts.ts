/** What pages say of provider A. */
import type { Provider } from "../provider.ts";

export const texts = {
  secrets: {
    webhook_secret: {
      label: "Webhook signing secret",
      hint: "Provider A shows it where you add the webhook address below.",
      removed:
        "Webhooks of this provider are refused from now on. The provider tries again later, so nothing is lost if you paste a new secret soon.",
    },
    api_key: {
      label: "API key of provider A",
      hint: "Only for payouts through provider A's connected accounts. A restricted key that may write transfers and accounts is enough.",
      removed: "Payouts through provider A are no longer possible until you paste a new key.",
    },
  },
  wanted_events: {
    needed: [
      { type: "checkout.session.completed", purpose: "payments through the checkout and payment links" },
      { type: "invoice.paid", purpose: "subscriptions and invoices" },
    ],
    better: [
      { type: "checkout.session.async_payment_succeeded", purpose: "payments that arrive later, such as bank debits" },
      { type: "charge.refunded", purpose: "refunds lower the commission" },
      { type: "refund.failed", purpose: "a refund that did not happen raises it again" },
      { type: "charge.dispute.created", purpose: "open disputes hold the commission back" },
      { type: "charge.dispute.closed", purpose: "lost disputes count as refunds" },
      { type: "charge.dispute.funds_reinstated", purpose: "and money that came back does not" },
      { type: "customer.subscription.deleted", purpose: "flags the commissions of canceled subscriptions" },
      { type: "charge.succeeded", purpose: "shows which refund belongs to which payment" },
      { type: "payment_intent.succeeded", purpose: "the same, for other kinds of payment" },
      { type: "invoice_payment.paid", purpose: "the same, for invoices" },
    ],
  },
  checkout: {
    intro: "`Service.getRef()` gives the reference, or null. Pass it as `client_reference_id`:",
    snippets: [
      { label: "One-time payment with provider A", code: checkoutSnippet },
      { label: "Subscription with provider A", code: subscriptionSnippet },
      { label: "Payment links of provider A", code: paymentLinkSnippet },
    ],
    payment_links: { hosts: /^(buy|checkout)\.stripe\.com$/, parameter: "client_reference_id" },
  },
} satisfies Pick<Provider, "secrets" | "wanted_events" | "checkout">;

/** The hosted checkout, made on the owner's server; the page sends the reference along. */
function checkoutSnippet(): string {
  return `// In the page: send the reference with the order.
const ref = window.Service?.getRef() ?? null;

// On your server: pass it on to the checkout.
const session = await provider.checkout.sessions.create({
  mode: "payment",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref ?? undefined,
  success_url: "…",
});`;
}

function subscriptionSnippet(): string {
  return `const session = await provider.checkout.sessions.create({
  mode: "subscription",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref ?? undefined,
  // Renewals carry the reference automatically this way.
  subscription_data: { metadata: ref ? { service_ref: ref } : {} },
  success_url: "…",
});`;
}

/** Payment links need nothing; this is what the script makes of one. */
function paymentLinkSnippet({ slug }: { slug: string }): string {
  return `<!-- The script adds the reference when the link is clicked: -->
<a href="https://buy.stripe.com/…">Buy</a>
<!-- becomes https://buy.stripe.com/…?client_reference_id=${slug} -->`;
}
