/** Texts about provider B on pages. */
import type { Vendor } from "../provider.ts";
import { checkout } from "./checkout.ts";

export const texts = {
  secrets: {
    webhook_secret: {
      label: () => "Webhook signing secret",
      hint: (name) => `${name} shows it where you add the webhook address below.`,
      removed:
        "Webhooks of this provider are refused from now on. The provider tries again later, so nothing is lost if you paste a new secret soon.",
      begins: ["pdl_ntfset_"],
    },
    api_key: {
      label: (name) => `API key of ${name}`,
      hint: () =>
        "Finds events whose webhooks were lost, and reads the names of discounts. A read-only key is enough: Notifications, Transactions, Adjustments, Subscriptions, Customers and Discounts; for the button that adds our webhook address, also write for Notification settings. A key of the sandbox finds only test events.",
      removed: "Events whose webhooks were lost are no longer found until you paste a new key.",
      begins: ["pdl_live_apikey_", "pdl_sdbx_apikey_"],
    },
  },
  wanted_events: {
    needed: [
      { type: "transaction.completed", purpose: "every payment" },
      { type: "subscription.canceled", purpose: "flags the commissions of canceled subscriptions" },
      { type: "adjustment.updated", purpose: "approved refunds lower the commission" },
    ],
    better: [
      { type: "adjustment.created", purpose: "chargebacks and refunds that need no approval" },
      { type: "subscription.created", purpose: "stores the partner for renewals" },
      { type: "discount.created", purpose: "shows which partner's code a payment used" },
      { type: "discount.updated", purpose: "changes of discounts" },
      { type: "customer.created", purpose: "customers' addresses, for conditions and self-referrals" },
      { type: "customer.updated", purpose: "changes of addresses" },
      { type: "customer.imported", purpose: "addresses of customers from another system" },
    ],
  },
  checkout,
} satisfies Pick<Vendor, "secrets" | "wanted_events" | "checkout">;
