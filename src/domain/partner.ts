import { lowerAscii } from "./ascii.ts";

export const PARTNER_STATUSES = ["invited", "active", "deactivated"] as const;
export type PartnerStatus = (typeof PARTNER_STATUSES)[number];

export const PAYOUT_METHODS = ["wallet", "provider_a", "bank_transfer", "crypto"] as const;
/** The method whose payouts are transfers to a connected account; it is named after the provider that makes them. */
export const TRANSFER_METHOD = "provider_a";
export type PayoutMethod = (typeof PAYOUT_METHODS)[number];

/** `[A-Za-z0-9_-]{1,64}` (PART-1); the tracking script checks the same alphabet. */
export const SLUG_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** Slugs are unique ignoring case: the form under which they are compared. A Kelvin sign is no `k`, here or in SQL. */
export function slugKey(slug: string): string {
  return lowerAscii(slug);
}

/** How many characters of a text partners are found by. */
export const SEARCH_GRAM = 3;

/**
 * A text as `search` compares it: without accents and in lower case (PART-5). Marks go before it is normalized as well:
 * to put a run of them in order takes the square of its length.
 */
export function foldSearch(text: string): string {
  return withoutMarks(withoutMarks(text.toLowerCase()).normalize("NFKD"));
}

function withoutMarks(text: string): string {
  return text.replaceAll(/\p{M}/gu, "");
}

/** The columns that `search` looks in. */
export interface Searched {
  email: string;
  slug: string;
  first_name: string | null;
  last_name: string | null;
}

/** What `search` looks in: e-mail, slug and "first last", folded, each after a line feed, which an unfolded text lacks (PART-5). */
export function searchText({ email, slug, first_name, last_name, ...rest }: Searched): string {
  rest satisfies Record<string, never>;
  const name = [first_name, last_name].filter((part) => part !== null).join(" ");
  return foldSearch(["", email, slug, name].join("\n"));
}
