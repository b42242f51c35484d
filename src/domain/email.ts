import { lowerAscii } from "./ascii.ts";

/** The longest that mail can carry (RFC 5321): what is longer is no address. */
export const LONGEST_ADDRESS = 320;

/** The form under which addresses are stored and found. */
export function emailKey(address: string): string {
  return lowerAscii(address);
}

/** Mail services whose addresses ignore characters of the local part, with the domain that represents all of theirs. */
const SERVICES: { domains: readonly string[]; ignored: RegExp }[] = [
  { domains: ["gmail.com", "googlemail.com"], ignored: /\./g },
  // proton.me/support/change-username: ". _ -" are transparent; a name belongs to one account on all of these domains.
  { domains: ["proton.me", "protonmail.com", "protonmail.ch", "pm.me"], ignored: /[._-]/g },
];

/** Far longer than mail can carry: what is longer is no address, and is compared as it is. */
const MAX_ADDRESS = 1_000;

/** The longest domain name there is; what is longer is compared as it is. */
const MAX_DOMAIN = 253;

/**
 * Of one mailbox's addresses the same key: without a `+tag`, without characters that the service ignores, without
 * case, in one Unicode form, the domain in ASCII and without its final dot (PAY-12). For comparison only: never
 * written to, and stored only beside its address, for a day (JOIN-2). Takes any text, in time linear in its length.
 */
export function addressKey(address: string): string {
  // Bringing marks into their order takes time that grows with the square of their number.
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
  const tagged = unquoted(text.slice(0, at));
  const tag = tagged.indexOf("+");
  // An address that begins with its plus has nothing else to be identified by.
  const local = tag > 0 ? tagged.slice(0, tag) : tagged;
  const bare = service ? local.replaceAll(service.ignored, "") : local;
  return `${bare === "" ? local : bare}@${service?.domains[0] ?? domain}`;
}

/** True where two addresses are of one mailbox, as far as `addressKey` knows; nobody's address is like no other. */
export function sameAddress(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && addressKey(a) === addressKey(b);
}

/** `"jane"@…` is another spelling of `jane@…` (RFC 5321). */
function unquoted(local: string): string {
  const isQuoted = local.length > 2 && local.startsWith('"') && local.endsWith('"');
  return isQuoted ? local.slice(1, -1).replaceAll(/\\(.)/g, "$1") : local;
}

/** The domain as the name system knows it (IDNA), without its final dot; what is no domain stays as it is. */
function asciiDomain(domain: string): string {
  const name = domain.replaceAll("\u3002", ".").replace(/\.$/, "");
  // The parser of URLs knows IDNA; ASCII names, nearly all there are, need none, and anything but a name is not its business.
  if (name.length > MAX_DOMAIN || /^\p{ASCII}*$/u.test(name) || !/^[\p{L}\p{M}\p{N}.-]+$/u.test(name)) return name;
  return URL.parse(`http://${name}`)?.hostname ?? name;
}
