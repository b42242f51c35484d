/** Promotion codes: the vendor's codes on a payment, and the partner who held each at the payment's time. */
import { lowerAscii } from "./ascii.ts";
import { foldSearch, SEARCH_GRAM, SLUG_PATTERN } from "./partner.ts";
import { compare } from "./payment-state.ts";

/** Characters of a code, without zero-width ones. */
export const MAX_CODE = 200;
/** Codes that a partner may have at a time. */
export const MAX_CODES = 100;

/** The form in which codes are compared, in code and SQL: codes are unique ignoring case. */
export function codeKey(code: string): string {
  return lowerAscii(code);
}

/** A code for as long as one partner held it. */
export interface HeldCode {
  id: string;
  partner_id: string;
  code_key: string;
  provider_code_id: string | null;
  created_at: string;
  /** When it was taken away or given to another partner; null while it holds. */
  ended_at: string | null;
}

/** A code's name at the vendor at the time of the fact that carries it (`CodeFact`). */
export interface NamedCode {
  code_id: string;
  at: string;
  name: string | null;
  parents: readonly string[];
}

/** Everything known about the codes that facts carry. */
export interface Codes {
  named: readonly NamedCode[];
  held: readonly HeldCode[];
}

/** One code of a payment. */
export interface TriedCode {
  /** Its name, else its vendor id. */
  text: string;
  /** The holder at that time, else the first holder after it (CODE-3). */
  held: HeldCode | null;
}

/**
 * The codes of a fact reported at `said_at`, with their ancestors, as of `at`. Ids that stand for others are left out.
 */
export function codesOf(
  { codes, said_at, at }: { codes: readonly string[]; said_at: string; at: string },
  known: Codes,
): TriedCode[] {
  const tried = new Map<string, TriedCode>();
  const walk = (code_id: string): void => {
    if (tried.has(code_id)) return;
    const named = known.named.find((one) => one.code_id === code_id && one.at === said_at);
    const name = named?.name ?? null;
    const held = holderOf(known.held, code_id, name, at);
    tried.set(code_id, { text: name ?? code_id, held });
    for (const parent of named?.parents ?? []) walk(parent);
    if (held === null && name === null && named && named.parents.length > 0) tried.delete(code_id);
  };
  for (const code_id of codes) walk(code_id);
  return [...tried.values()];
}

/** The holder in force at a time, else the first one after it. */
function holderOf(held: readonly HeldCode[], code_id: string, name: string | null, at: string): HeldCode | null {
  const keys = new Set([codeKey(code_id), ...(name === null ? [] : [codeKey(name)])]);
  const own = held.filter((one) => one.provider_code_id === code_id || keys.has(one.code_key));
  const inForce = own.filter((one) => one.created_at <= at && (one.ended_at === null || one.ended_at > at));
  const isById = (one: HeldCode) => Number(one.provider_code_id === code_id);
  const [now] = inForce.toSorted((a, b) => isById(b) - isById(a) || compare(a.created_at, b.created_at));
  const later = own.filter((one) => one.created_at > at);
  const [next] = later.toSorted((a, b) => compare(a.created_at, b.created_at) || isById(b) - isById(a));
  return now ?? next ?? null;
}

/** Slugs that a code may come from, likeliest first: `JANE-DOE20`: `jane-doe20`, `jane-doe`, `janedoe`, `jane`. */
export function suggestedSlugs(code: string): string[] {
  const key = codeKey(code);
  let end = key.length;
  while (end > 0 && "0123456789%_-".includes(key.charAt(end - 1))) end--;
  const bare = key.slice(0, end);
  const words = key.split(/[^a-z]+/).filter((word) => word.length >= 3);
  const slugs = [key, bare, bare.replaceAll(/[^a-z0-9]/g, ""), ...words];
  return [...new Set(slugs)].filter((slug) => SLUG_PATTERN.test(slug));
}

/** The words of a code that may be a partner's first or last name, as `search` compares them, each once, in order. */
export function wordsOf(code: string): string[] {
  const words = foldSearch(code).split(/[^\p{L}]+/u);
  return [...new Set(words)].filter((word) => Array.from(word).length >= SEARCH_GRAM);
}

/** Whether a word is the partner's first or last name, or both names together, ignoring accents and case. */
export function resemblesName(words: readonly string[], names: readonly (string | null)[]): boolean {
  const parts = names.flatMap((name) => (name === null ? [] : wordsOf(name)));
  return words.some((word) => parts.includes(word) || (parts.length > 1 && word === parts.join("")));
}
