import { isEarning, type Fact } from "./fact.ts";

/** What replaces an address. */
export const ERASED = "[erased]";

const ADDRESS = /^[^\s@"<>()[\]{},;:\\]+@[^\s@"<>()[\]{},;:\\.]+(?:\.[^\s@"<>()[\]{},;:\\.]+)+$/;

/** Whether a text is one e-mail address, as a vendor may have sent it: looser than those that the service writes to. */
export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether a text, JSON or not, holds one of these addresses (in lower case) as a whole, however it is escaped in it. */
export function holdsAddress(text: string, addresses: ReadonlySet<string>): boolean {
  for (const part of textsOf(parsed(text))) if (namesOneOf(part, addresses)) return true;
  return false;
}

/** Whether a text, JSON or not, names one of these ids as a whole, also within an address of the web. */
export function holdsId(text: string, ids: ReadonlySet<string>): boolean {
  for (const part of textsOf(parsed(text))) if (part.split(APART).some((word) => ids.has(word))) return true;
  return false;
}

/** A JSON value in which every text that holds one of these addresses (in lower case) is `ERASED`, a customer's field null. */
export function withoutAddresses<T>(value: T, addresses: ReadonlySet<string>): T {
  const instead = (key: string) => (key === "customer_email" ? null : ERASED);
  const clean = (key: string, part: unknown) =>
    typeof part === "string" && namesOneOf(part, addresses) ? instead(key) : part;
  return JSON.parse(JSON.stringify(value, clean)) as T;
}

/** A fact without the address in it. */
export function bareFact<F extends Fact>(fact: F): F {
  if (isEarning(fact)) return { ...fact, customer_email: null };
  if (fact.kind === "attribution") {
    const { customer_email: _, ...bare } = fact;
    return bare as F;
  }
  return fact.kind === "customer" ? { ...fact, email: null } : fact;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Every text in a JSON value, names of fields too; without recursion, for a body may be nested as deep as it is long. */
function* textsOf(root: unknown): Iterable<string> {
  const waiting = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string") yield value;
    else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) waiting.push(key, inner);
    }
  }
}

/** In a text as people and programs write them: between other words, in a URL, in JSON of its own. */
function namesOneOf(text: string, addresses: ReadonlySet<string>): boolean {
  if (isAmongWords(text, addresses)) return true;
  if (text.includes("%") && isAmongWords(unescapedUrl(text), addresses)) return true;
  if (!text.includes("\\u")) return false;
  for (const inner of textsOf(parsed(text))) if (isAmongWords(inner, addresses)) return true;
  return false;
}

/** What sets an address apart from the text around it; `/?&=#` because addresses occur in URLs. */
const APART = /[\s"<>()[\]{},;:\\/?&=#|]+/;

function isAmongWords(text: string, addresses: ReadonlySet<string>): boolean {
  if (!text.includes("@")) return false;
  return text
    .toLowerCase()
    .split(APART)
    .some((word) => addresses.has(word) || addresses.has(unquoted(word)));
}

const QUOTES = new Set("'`*~!._-");

/** A word without the marks around it. */
function unquoted(word: string): string {
  let [start, end] = [0, word.length];
  while (start < end && QUOTES.has(word.charAt(start))) start++;
  while (end > start && QUOTES.has(word.charAt(end - 1))) end--;
  return word.slice(start, end);
}

function unescapedUrl(text: string): string {
  return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
