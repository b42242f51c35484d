/** How the reference is passed to provider A's checkouts (TRACK-13). */
import type { SnippetValues, Vendor } from "../provider.ts";

export const checkout: Vendor["checkout"] = {
  intro:
    "`Service.getRef()` gives the reference, or null. Pass it as `client_reference_id`, or where there is no checkout session as `service_ref` in the metadata:",
  snippets: [
    { label: "Hosted checkout", page: hostedPage, server: hostedSession },
    { label: "Hosted checkout of a subscription", page: hostedPage, server: subscriptionSession },
    { label: "Embedded checkout", page: embeddedPage, server: embeddedSession },
    { label: "Payment link", page: paymentLink, server: null },
    { label: "Pricing table", page: pricingTable, server: null },
    { label: "Buy button", page: buyButton, server: null },
    { label: "Elements", page: elementsPage, server: elementsSession },
    { label: "Subscription made through the API", page: confirmingPage, server: subscription },
    { label: "Payment intent made through the API", page: confirmingPage, server: paymentIntent },
  ],
  payment_links: {
    // A payment link uses one of the first three hosts, depending on its button.
    hosts: ["donate.stripe.com", "book.stripe.com", "buy.stripe.com", "checkout.stripe.com"],
    parameter: "client_reference_id",
  },
  // Covers pricing tables and buy buttons.
  payment_elements: { having: "publishable-key", attribute: "client-reference-id" },
};

function hostedPage(): string {
  return `<button id="buy">Buy</button>
<script>
  document.querySelector("#buy").onclick = async () => {
    const body = JSON.stringify({ ref: window.Service?.getRef?.() });
    location.href = await (await fetch("/checkout", { method: "POST", body })).text();
  };
</script>`;
}

function hostedSession({ domain }: SnippetValues): string {
  return `// POST /checkout: the page has sent { ref }.
const session = await stripe.checkout.sessions.create({
  mode: "payment",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref || undefined,
  success_url: "https://${domain}/thanks",
});
return session.url;`;
}

function subscriptionSession({ domain }: SnippetValues): string {
  return `// POST /checkout: the page has sent { ref }.
const session = await stripe.checkout.sessions.create({
  mode: "subscription",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref || undefined,
  // Each renewal then carries the reference too.
  subscription_data: { metadata: ref ? { service_ref: ref } : {} },
  success_url: "https://${domain}/thanks",
});
return session.url;`;
}

/** Loads with the page, waits for the tracking script, and continues if a browser blocks the script. */
function embeddedPage(): string {
  return `<div id="checkout"></div>
<script src="https://js.stripe.com/dahlia/stripe.js"></script>
<script>
  addEventListener("DOMContentLoaded", async () => {
    const body = JSON.stringify({ ref: window.Service?.getRef?.() });
    const fetchClientSecret = async () => (await fetch("/checkout", { method: "POST", body })).text();
    const checkout = await Stripe("pk_…").createEmbeddedCheckoutPage({ fetchClientSecret });
    checkout.mount("#checkout");
  });
</script>`;
}

function embeddedSession({ domain }: SnippetValues): string {
  return `// POST /checkout: the page has sent { ref }.
const session = await stripe.checkout.sessions.create({
  ui_mode: "embedded_page",
  mode: "payment",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref || undefined,
  return_url: "https://${domain}/thanks",
});
return session.client_secret;`;
}

function paymentLink({ slug }: SnippetValues): string {
  return `<!-- The tracking script adds the reference when the link is followed: -->
<a href="https://buy.stripe.com/…">Buy</a>
<!-- becomes https://buy.stripe.com/…?client_reference_id=${slug}. Links on a domain
     of your own: name it in the script's tag, data-checkout="pay.your-domain.example". -->`;
}

function pricingTable({ slug }: SnippetValues): string {
  return `<script async src="https://js.stripe.com/v3/pricing-table.js"></script>
<stripe-pricing-table pricing-table-id="prctbl_…" publishable-key="pk_…"></stripe-pricing-table>
<!-- The tracking script adds client-reference-id="${slug}". -->`;
}

function buyButton({ slug }: SnippetValues): string {
  return `<script async src="https://js.stripe.com/v3/buy-button.js"></script>
<stripe-buy-button buy-button-id="buy_btn_…" publishable-key="pk_…"></stripe-buy-button>
<!-- The tracking script adds client-reference-id="${slug}". -->`;
}

function elementsPage(): string {
  return `<form id="payment"><div id="element"></div><button>Pay</button></form>
<script src="https://js.stripe.com/dahlia/stripe.js"></script>
<script>
  addEventListener("DOMContentLoaded", async () => {
    const body = JSON.stringify({ ref: window.Service?.getRef?.() });
    const clientSecret = await (await fetch("/checkout", { method: "POST", body })).text();
    const checkout = Stripe("pk_…").initCheckoutElementsSdk({ clientSecret });
    checkout.createPaymentElement().mount("#element");
    const { actions } = await checkout.loadActions();
    document.querySelector("#payment").onsubmit = (event) => {
      event.preventDefault();
      actions.confirm();
    };
  });
</script>`;
}

function elementsSession({ domain }: SnippetValues): string {
  return `// POST /checkout: the page has sent { ref }.
const session = await stripe.checkout.sessions.create({
  ui_mode: "elements",
  mode: "payment",
  line_items: [{ price: "price_…", quantity: 1 }],
  client_reference_id: ref || undefined,
  return_url: "https://${domain}/thanks",
});
return session.client_secret;`;
}

function confirmingPage({ domain }: SnippetValues): string {
  return `<form id="payment"><div id="element"></div><button>Pay</button></form>
<script src="https://js.stripe.com/dahlia/stripe.js"></script>
<script>
  addEventListener("DOMContentLoaded", async () => {
    const body = JSON.stringify({ ref: window.Service?.getRef?.() });
    const clientSecret = await (await fetch("/checkout", { method: "POST", body })).text();
    const stripe = Stripe("pk_…");
    const elements = stripe.elements({ clientSecret });
    elements.create("payment").mount("#element");
    document.querySelector("#payment").onsubmit = (event) => {
      event.preventDefault();
      stripe.confirmPayment({ elements, confirmParams: { return_url: "https://${domain}/thanks" } });
    };
  });
</script>`;
}

function subscription(): string {
  return `// POST /checkout: the page has sent { ref }.
const subscription = await stripe.subscriptions.create({
  customer: "cus_…",
  items: [{ price: "price_…" }],
  payment_behavior: "default_incomplete",
  // Its invoices, including renewals, carry the reference.
  metadata: ref ? { service_ref: ref } : {},
  expand: ["latest_invoice.confirmation_secret"],
});
return subscription.latest_invoice.confirmation_secret.client_secret;`;
}

function paymentIntent(): string {
  return `// POST /checkout: the page has sent { ref }.
const intent = await stripe.paymentIntents.create({
  amount: 12000,
  currency: "usd",
  automatic_payment_methods: { enabled: true },
  // Each intent needs its own: neither an invoice nor a session names the customer's partner.
  metadata: ref ? { service_ref: ref } : {},
  // It does not name the payer either. The receipt is sent to this address, which also identifies a partner who buys
  // through the own link.
  receipt_email: "buyer@…",
});
return intent.client_secret;`;
}
