/** The true story of payments, which the played vendors keep beside their events. */
import type { ListedProvider } from "../../src/providers/registry.ts";

/** The places of a payment's references, the strongest first (REF-1). */
export const PLACES = ["client_reference_id", "metadata", "subscription", "line", "invoice"] as const;

export interface Carried {
  slug: string;
  place: (typeof PLACES)[number];
}

/** Money that left the customer once, and its later changes. */
export interface Truth {
  provider: ListedProvider;
  /** Its identity at the vendor. */
  key: string;
  /** Another identity of the same payment: a payout made under it, before the two were joined, stays there. */
  also?: string;
  currency: string;
  /** The invoiced amount, tax included, and the tax in it. */
  total: number;
  tax: number;
  /** The amount charged to the customer: credit paid the rest. */
  charged: number;
  paid: boolean;
  /** Gone back, tax included: refunds that hold and disputes that were lost. */
  back: number;
  /** The same net of tax, if the vendor reports the tax of each; otherwise null. */
  net_back: number | null;
  /** A dispute about it that is not decided. */
  open: boolean;
  canceled: boolean;
  carried: Carried[];
  /** Promotion codes. */
  codes: string[];
  customer: string | null;
  subscription: string | null;
  email: string | null;
  chapter: number;
  /** Seconds: when it was made. */
  at: number;
}

/** A reference or a code that the vendor reported of a customer or a subscription. */
export interface Said {
  provider: Truth["provider"];
  chapter: number;
  /** Seconds. */
  at: number;
  /** The slugs of one event, the strongest first. */
  slugs: string[];
  codes: string[];
  customer: string | null;
  subscription: string | null;
  /** The customer or the subscription that keeps the reference, and repeats it in each of its events (REF-4). */
  keeper?: string | null;
  /** The address in a lead; a lead serves the payments of every provider (FACT-4). */
  lead?: { email: string | null };
}
