import { lowerAscii } from "./ascii.ts";

/** The longest address that mail can carry (RFC 5321). */
export const LONGEST_ADDRESS = 320;

/** The form in which addresses are stored and looked up. */
export function emailKey(address: string): string {
  return lowerAscii(address);
}

/** Mail services that ignore characters of the local part, each with the domain that represents its domains. */
const SERVICES: { domains: readonly string[]; ignored: RegExp }[] = [
  { domains: ["gmail.com", "googlemail.com"], ignored: /\./g },
  // proton.me/support/change-username: ". _ -" are transparent; a name belongs to one account on all of these domains.
  { domains: ["proton.me", "protonmail.com", "protonmail.ch", "pm.me"], ignored: /[._-]/g },
];

/** Far longer than mail can carry: a longer text is compared unchanged. */
const MAX_ADDRESS = 1_000;

/** The longest possible domain name; a longer one is compared unchanged. */
const MAX_DOMAIN = 253;

/**
 * Maps all addresses of one mailbox to the same key: removes a `+tag` and the characters that the service ignores,
 * ignores case, uses one Unicode form, and writes the domain in ASCII without its final dot (PAY-12). For comparison
 * only: mail is never sent to it, and it is stored only beside its address, for a day (JOIN-2). Accepts any text, in
 * time linear in its length.
 */
export function addressKey(address: string): string {
  // Normalization takes time quadratic in the number of combining marks.
  if (address.length > MAX_ADDRESS) return address;
  const text = address
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFKC")
    .toLowerCase()
    .trim();
  const at = text.lastIndexOf("@");
  if (at === -1) return text;
  const domain = asciiDomain(text.slice(at + 1));
  const service = SERVICES.find(({ domains }) => domains.includes(domain));
  const tagged = stripQuotes(text.slice(0, at));
  const tag = tagged.indexOf("+");
  // An address that begins with its plus has no other identifying part.
  const local = tag > 0 ? tagged.slice(0, tag) : tagged;
  const bare = service ? local.replaceAll(service.ignored, "") : local;
  return `${bare === "" ? local : bare}@${service?.domains[0] ?? domain}`;
}

/** True if two addresses belong to one mailbox, as far as `addressKey` shows; a missing address matches no other. */
export function sameAddress(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && addressKey(a) === addressKey(b);
}

/** `"jane"@…` is another spelling of `jane@…` (RFC 5321). */
function stripQuotes(local: string): string {
  const isQuoted = local.length > 2 && local.startsWith('"') && local.endsWith('"');
  return isQuoted ? local.slice(1, -1).replaceAll(/\\(.)/g, "$1") : local;
}

/** The domain in ASCII (IDNA), without its final dot; a text that is not a domain is returned unchanged. */
function asciiDomain(domain: string): string {
  const name = domain.replaceAll("\u3002", ".").replace(/\.$/, "");
  // The URL parser implements IDNA; ASCII names, nearly all, do not need it, and other texts must not reach it.
  if (name.length > MAX_DOMAIN || /^\p{ASCII}*$/u.test(name) || !/^[\p{L}\p{M}\p{N}.-]+$/u.test(name)) return name;
  return URL.parse(`http://${name}`)?.hostname ?? name;
}
