import type { Program } from "../../../core/rows.ts";

/** What an owner or partner copies, filled with the program's own values. */

/** The partner's link to the program's site; the script there keeps the reference. */
export function referralLink(program: Pick<Program, "domain">, slug: string): string {
  return `https://${program.domain ?? "your-domain.example"}/?ref=${slug}`;
}

/** The link through this service, which counts the click itself and leads to the program's domain. */
export function redirectLink(origin: string, program: Pick<Program, "id">, slug: string): string {
  return `${origin}/r/${program.id}/${slug}`;
}

/**
 * The tracking script's tag (TRACK-11), with the settings that differ from its defaults; `param` is the `data-param`
 * for links of another product.
 */
export function scriptTag(
  origin: string,
  program: Pick<Program, "id" | "cookie_days" | "attribution">,
  param: string | null = null,
): string {
  const attributes = [
    `src="${origin}/service.js"`,
    `data-program="${program.id}"`,
    ...(program.cookie_days === 60 ? [] : [`data-cookie-days="${program.cookie_days}"`]),
    ...(program.attribution === "last" ? [] : [`data-attribution="${program.attribution}"`]),
    ...(param === null ? [] : [`data-param="${param}"`]),
  ];
  return `<script ${attributes.join(" ")} defer></script>`;
}

export function webhookUrl(
  origin: string,
  program: Pick<Program, "id">,
  provider: "provider_a" | "provider_b",
): string {
  return `${origin}/webhooks/${provider}?program_id=${program.id}`;
}

/** What a provider is to be asked to send, and what each is for. */
export interface WantedEvent {
  type: string;
  purpose: string;
}

export const WANTED_EVENTS: Record<"provider_a" | "provider_b", { needed: WantedEvent[]; better: WantedEvent[] }> = {
  provider_a: {
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
  provider_b: {
    needed: [
      { type: "transaction.completed", purpose: "every payment" },
      { type: "subscription.canceled", purpose: "flags the commissions of canceled subscriptions" },
      { type: "adjustment.updated", purpose: "approved refunds lower the commission" },
    ],
    better: [
      { type: "adjustment.created", purpose: "chargebacks and refunds that need no approval" },
      { type: "subscription.created", purpose: "remembers the partner for renewals" },
      { type: "customer.created", purpose: "has the customer's address, for conditions and self-referrals" },
      { type: "customer.updated", purpose: "the same, when it changes" },
    ],
  },
};

/** Provider A's hosted checkout, made on the owner's server; the page sends the reference along. */
export function checkoutSnippet(): string {
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

export function subscriptionSnippet(): string {
  return `const session = await provider.checkout.sessions.create({
  mode: "subscription",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref ?? undefined,
  // Renewals carry the reference automatically this way.
  subscription_data: { metadata: ref ? { service_ref: ref } : {} },
  success_url: "…",
});`;
}

/** Provider A's payment links need nothing; this is what the script makes of one. */
export function paymentLinkSnippet(slug: string): string {
  return `<!-- The script adds the reference when the link is clicked: -->
<a href="https://buy.stripe.com/…">Buy</a>
<!-- becomes https://buy.stripe.com/…?client_reference_id=${slug} -->`;
}

export function customDataSnippet(program: Pick<Program, "id">): string {
  return `Checkout.open({
  items: [{ priceId: "pri_…", quantity: 1 }],
  customData: {
    service_program: "${program.id}",
    service_ref: window.Service?.getRef(),
  },
});`;
}

export function customDataServerSnippet(program: Pick<Program, "id">): string {
  return `const transaction = await provider.transactions.create({
  items: [{ priceId: "pri_…", quantity: 1 }],
  customData: {
    service_program: "${program.id}",
    service_ref: ref,
  },
});`;
}

export function apiSnippet(origin: string): string {
  return `curl ${origin}/api/v1/programs/me \\
  -H "Authorization: Bearer $SERVICE_API_KEY"`;
}
