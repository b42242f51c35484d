import { isEarning, type Fact } from "./fact.ts";

/** The replacement for an erased address. */
export const ERASED = "[erased]";

const ADDRESS = /^[^\s@"<>()[\]{},;:\\]+@[^\s@"<>()[\]{},;:\\.]+(?:\.[^\s@"<>()[\]{},;:\\.]+)+$/;

/** Whether a text is one e-mail address as a vendor may send it: looser than the addresses that the service mails. */
export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether a text contains one of these addresses (in lower case) as a whole word, however it is escaped. */
export function holdsAddress(text: string, addresses: ReadonlySet<string>): boolean {
  for (const [field, part] of textsOf(parsed(text))) if (namesOneOf(field, part, addresses)) return true;
  return false;
}

/** Whether a text, JSON or not, contains one of these ids as a whole word, also within a URL. */
export function holdsId(text: string, ids: ReadonlySet<string>): boolean {
  for (const [, part] of textsOf(parsed(text))) if (part.split(APART).some((word) => ids.has(word))) return true;
  return false;
}

/** Replaces texts with one of these addresses (lower case) by `ERASED`, and a customer's field by null. */
export function withoutAddresses<T>(value: T, addresses: ReadonlySet<string>): T {
  const instead = (key: string) => (key === "customer_email" ? null : ERASED);
  const clean = (key: string, part: unknown) =>
    typeof part === "string" && namesOneOf(key, part, addresses) ? instead(key) : part;
  return JSON.parse(JSON.stringify(value, clean)) as T;
}

/** Removes the customer's address from a fact. */
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

/** Every text of a JSON value with its field, and the names. Iterative: a body may nest as deep as it is long. */
function* textsOf(root: unknown): Iterable<[field: string, text: string]> {
  const waiting: [string, unknown][] = [["", root]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [field, value] = next;
    if (typeof value === "string") yield [field, value];
    else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) waiting.push(["", key], [key, inner]);
    }
  }
}

/** Fields that contain one address, and the value that a flow's condition saw. */
const ADDRESS_FIELD = /(?:^saw|e-?mail(?:_?address)?)$/i;

/** A text that is one address: its domain is a name, which does not end with punctuation. */
const ONE_ADDRESS = /^[^\s@"<>()[\]{},;:\\]+@[\p{L}\p{M}\p{N}.-]*[\p{L}\p{M}\p{N}]$/u;

/** A field for an address has that alone: `_jo@…` is not `jo@…`. Other texts may contain it among words. */
function namesOneOf(field: string, text: string, addresses: ReadonlySet<string>): boolean {
  if (ADDRESS_FIELD.test(field) && ONE_ADDRESS.test(text)) return addresses.has(text.toLowerCase());
  if (isAmongWords(text, addresses)) return true;
  if (text.includes("%") && isAmongWords(unescapedUrl(text), addresses)) return true;
  if (!text.includes("\\u")) return false;
  for (const [, inner] of textsOf(parsed(text))) if (isAmongWords(inner, addresses)) return true;
  return false;
}

function isAmongWords(text: string, addresses: ReadonlySet<string>): boolean {
  if (!text.includes("@")) return false;
  const lower = text.toLowerCase();
  for (const address of addresses) if (includesAddress(lower, address)) return true;
  return false;
}

/** Whether a text contains the address as a whole word; the address may contain separator characters. */
function includesAddress(text: string, address: string): boolean {
  for (let at = text.indexOf(address); at >= 0; at = text.indexOf(address, at + 1)) {
    if (isApart(text, at - 1, -1) && isApart(text, at + address.length, 1)) return true;
  }
  return false;
}

/** Characters that separate an address from the text around it; `/?&=#` because addresses occur in URLs. */
const APART = /[\s"<>()[\]{},;:\\/?&=#|]/;

const MARKS = new Set("'`*~!._-");

/** Whether a word ends right before a position in a text, or right after it, ignoring punctuation. */
function isApart(text: string, place: number, step: 1 | -1): boolean {
  let at = place;
  while (MARKS.has(text.charAt(at))) at += step;
  const next = text.charAt(at);
  return next === "" || APART.test(next);
}

function unescapedUrl(text: string): string {
  return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
