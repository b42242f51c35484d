import { lowerAscii } from "./ascii.ts";

export const PARTNER_STATUSES = ["invited", "active", "deactivated"] as const;
export type PartnerStatus = (typeof PARTNER_STATUSES)[number];

export const PAYOUT_METHODS = ["wallet", "provider_a", "bank_transfer", "crypto"] as const;
/** The method whose payouts are transfers to a connected account; it is named after the provider that makes them. */
export const TRANSFER_METHOD = "provider_a";
/** The name of the service behind the method `wallet`, which pays to e-mail addresses. */
export const WALLET_SERVICE = "PayPal";
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

/** What `search` looks in (PART-5): what it is called on pages, and its columns, which are found as one text too. */
const SEARCHED = { "e-mail": ["email"], slug: ["slug"], name: ["first_name", "last_name"] } as const;
type SearchedColumn = (typeof SEARCHED)[keyof typeof SEARCHED][number];

/** The columns that `search` looks in. */
export type Searched = Record<SearchedColumn, string | null>;
export const SEARCHED_COLUMNS: readonly SearchedColumn[] = Object.values(SEARCHED).flat();

/** What `search` looks in, as pages and the reference say it: "a, b or c". */
export const SEARCHED_WORDS = Object.keys(SEARCHED)
  .join(", ")
  .replace(/, ([^,]+)$/, " or $1");

/**
 * What begins the text of a partner who is not yet found by its parts of three characters: no search has an upper-case
 * letter.
 */
const UNINDEXED = "NEW";

/** The search text of a new partner: the minute's job brings it to the parts by which partners are found (PART-5). */
export function unindexed(search_text: string): string {
  return UNINDEXED + search_text;
}

/** The texts that `search` looks in, folded, each after a line feed, which an unfolded text lacks (PART-5). */
export function searchText(partner: Searched): string {
  const texts = Object.values<readonly SearchedColumn[]>(SEARCHED).map((columns) =>
    columns.flatMap((column) => partner[column] ?? []).join(" "),
  );
  return foldSearch(["", ...texts].join("\n"));
}
