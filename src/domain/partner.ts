import { lowerAscii } from "./ascii.ts";

export const PARTNER_STATUSES = ["invited", "active", "deactivated"] as const;
export type PartnerStatus = (typeof PARTNER_STATUSES)[number];

export const PAYOUT_METHODS = ["wallet", "provider_a", "bank_transfer", "crypto"] as const;
/** The payout method of transfers to a connected account, named after the provider that makes them. */
export const TRANSFER_METHOD = "provider_a";
/** The name of the service of the method `wallet`, which pays to e-mail addresses. */
export const WALLET_SERVICE = "PayPal";
export type PayoutMethod = (typeof PAYOUT_METHODS)[number];

/** `[A-Za-z0-9_-]{1,64}` (PART-1); the tracking script checks the same alphabet. */
/** The slugs that a partner may have, former ones included, to add another one (PART-16). */
export const MAX_OWN_SLUGS = 10;

export const SLUG_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** The form in which slugs are compared: slugs are unique ignoring case. A Kelvin sign is not a `k`, here or in SQL. */
export function slugKey(slug: string): string {
  return lowerAscii(slug);
}

/** Characters of the text parts in the search index. */
export const SEARCH_GRAM = 3;

/** Folds a text for `search` (PART-5): no accents, lower case. Marks go first: ordering a run of them is quadratic. */
export function foldSearch(text: string): string {
  return withoutMarks(withoutMarks(text.toLowerCase()).normalize("NFKD"));
}

function withoutMarks(text: string): string {
  return text.replaceAll(/\p{M}/gu, "");
}

/** The searched columns by their name on pages (PART-5); several columns of one name are also searched as one text. */
const SEARCHED = { "e-mail": ["email"], slug: ["slug"], name: ["first_name", "last_name"] } as const;
type SearchedColumn = (typeof SEARCHED)[keyof typeof SEARCHED][number];

export type Searched = Record<SearchedColumn, string | null>;
export const SEARCHED_COLUMNS: readonly SearchedColumn[] = Object.values(SEARCHED).flat();

/** The searched fields in words, for pages and the reference: "a, b or c". */
export const SEARCHED_WORDS = Object.keys(SEARCHED)
  .join(", ")
  .replace(/, ([^,]+)$/, " or $1");

/** The prefix of a search text that is not indexed yet; searches never contain upper-case letters. */
const UNINDEXED = "NEW";

/** Marks the search text of a new partner as not indexed; a job indexes it within a minute (PART-5). */
export function markUnindexed(search_text: string): string {
  return UNINDEXED + search_text;
}

/** The texts that `search` covers, normalized, each after a line feed, which an unnormalized text lacks (PART-5). */
export function searchText(partner: Searched): string {
  const texts = Object.values<readonly SearchedColumn[]>(SEARCHED).map((columns) =>
    columns.flatMap((column) => partner[column] ?? []).join(" "),
  );
  return foldSearch(["", ...texts].join("\n"));
}
