/** A payment as each listed provider reports it. */
import type { ListedVendor } from "../../src/providers/registry.ts";
import { TEST_VENDORS } from "./vendors/index.ts";
import type { Sale } from "./vendors/test-vendor.ts";

/** The body of an event that reports the sale, in USD. */
export function saleAt(provider: ListedVendor, sale: Sale): string {
  const { bodyOf, sale: report } = TEST_VENDORS[provider];
  return bodyOf(report({ amount: 10_000, tax: 0, at: new Date(), ...sale }));
}

/** A sale as the owner's server reports it, and a refund of it. */
export const saidSale = (slug: string) => {
  const sale = { external_id: `sale-${slug}`, ref: slug, customer: { id: `customer-${slug}` } };
  return { ...sale, amount_cents: 10_000, currency: "USD", net_of_tax: true };
};
export const saidRefund = (slug: string) => {
  return { external_id: `refund-${slug}`, sale_external_id: `sale-${slug}`, amount_cents: 1_000 };
};
