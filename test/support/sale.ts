/** A payment as each listed provider reports it: a new provider does not compile without its own. */
import type { ListedVendor } from "../../src/providers/registry.ts";
import { bodyOfA, sessionCompleted } from "./provider-a.ts";
import { bodyOfB, transactionCompleted } from "./provider-b.ts";

export interface Sale {
  /** The reference that it carries. */
  ref: string | null;
  /** The program that it claims, if its provider's events claim one. */
  program: string;
  /** Smallest units, tax included: 100.00 without tax by default. */
  amount?: number;
  tax?: number;
  /** When it was paid: now by default. */
  at?: Date;
}

const SALES: Record<ListedVendor, (sale: Required<Sale>) => string> = {
  provider_a: ({ at, program: _, ...sale }) =>
    bodyOfA(sessionCompleted({ ...sale, created: Math.floor(at.getTime() / 1_000), email: "buyer@shop.example" })),
  provider_b: ({ at, ...sale }) => bodyOfB(transactionCompleted({ ...sale, occurred_at: at.toISOString() })),
};

/** The body of an event that reports the sale, in USD. */
export function saleAt(provider: ListedVendor, sale: Sale): string {
  return SALES[provider]({ amount: 10_000, tax: 0, at: new Date(), ...sale });
}

/** A sale as the owner's server reports it, and a refund of it. */
export const saidSale = (slug: string) => {
  const sale = { external_id: `sale-${slug}`, ref: slug, customer: { id: `customer-${slug}` } };
  return { ...sale, amount_cents: 10_000, currency: "USD", net_of_tax: true };
};
export const saidRefund = (slug: string) => {
  return { external_id: `refund-${slug}`, sale_external_id: `sale-${slug}`, amount_cents: 1_000 };
};
