import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Returns a short reason if requests to an address are refused, or null if it is public unicast (HOOK-20).
 *
 * IPv4-mapped, NAT64, 6to4 and Teredo addresses are checked by the IPv4 addresses they carry. CGNAT, benchmarking,
 * documentation, multicast, reserved and metadata ranges are refused, and so is every range in the special-purpose
 * registries, including those they call globally reachable (AS112, AMT, ORCHIDv2): no owner receives webhooks there. In
 * IPv6 only global unicast (2000::/3) can be public.
 */
export function whyNotPublic(address: Address): string | null {
  return isIPv4(address) ? whyNotPublicIPv4(address) : whyNotPublicIPv6(address);
}

/** Parses strict dotted decimal, or IPv6 without a zone; null for any other text, such as `127.1` or `0x7f.0.0.1`. */
export function parseAddress(text: string): Address | null {
  if (text.length > MAX_ADDRESS_LENGTH) return null;
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  // The URL parser gives the hexadecimal spelling: ipaddr.js reads `::1.1.1.1` as mapped, which it is not.
  if (!text.includes(":") || !/^[0-9a-f:.]+$/i.test(text) || !URL.canParse(`https://[${text}]/`)) return null;
  return ipaddr.IPv6.parse(new URL(`https://[${text}]/`).hostname.slice(1, -1));
}

/** The two networks by which callers are counted, equal for an IPv4 address. */
export interface Networks {
  /** An IPv4 address, or an IPv6 /64: one customer of an internet provider. */
  network: string;
  /** An IPv6 /48: a larger customer owns all of its 65,536 networks. */
  site: string;
}

/**
 * The networks that count a caller. IPv4-mapped IPv6 counts as IPv4; any other text as it is, cut to an address's
 * length.
 */
export function networksOf(text: string): Networks {
  const isIPv6 = text.length <= MAX_ADDRESS_LENGTH && text.includes(":") && ipaddr.IPv6.isValid(text);
  if (!isIPv6) return sameNetworks(text.slice(0, MAX_ADDRESS_LENGTH));
  const parsed = ipaddr.IPv6.parse(text);
  if (parsed.isIPv4MappedAddress()) return sameNetworks(parsed.toIPv4Address().toString());
  const parts = parsed.parts.map((part) => part.toString(16));
  return { network: `${parts.slice(0, 4).join(":")}::/64`, site: `${parts.slice(0, 3).join(":")}::/48` };
}

function sameNetworks(network: string): Networks {
  return { network, site: network };
}

/** All eight groups, the last two written as IPv4. */
const MAX_ADDRESS_LENGTH = 45;

/** Addresses in public ranges that clouds answer internally: 168.63.129.16 is Azure's host. */
const METADATA_IPV4 = new Set(["168.63.129.16"]);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const MAPPED = ipaddr.IPv6.parseCIDR("::ffff:0:0/96");
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR("2002::/16");
const TEREDO = ipaddr.IPv6.parseCIDR("2001::/32");

function whyNotPublicIPv4(address: ipaddr.IPv4): string | null {
  if (METADATA_IPV4.has(address.toString())) return "metadata";
  return nameOfSpecialRange(address);
}

function whyNotPublicIPv6(address: ipaddr.IPv6): string | null {
  const carried = carriedIPv4(address);
  if (carried.length > 0) {
    for (const inner of carried) {
      const reason = whyNotPublicIPv4(inner);
      if (reason !== null) return `carries ${inner.toString()}, ${reason}`;
    }
    return null;
  }
  const special = nameOfSpecialRange(address);
  if (special !== null) return special;
  return address.match(GLOBAL_UNICAST) ? null : "not global unicast";
}

/** The IPv4 addresses at or through which a packet to this IPv6 address would arrive; empty for native IPv6. */
function carriedIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  if (address.match(MAPPED) || address.match(NAT64)) return [ipv4At(address, 6)];
  if (address.match(SIX_TO_FOUR)) return [ipv4At(address, 1)];
  // RFC 4380: the server's address, then the client's with every bit inverted.
  if (address.match(TEREDO)) return [ipv4At(address, 2), ipv4At(address, 6, 0xffff)];
  return [];
}

function ipv4At(address: ipaddr.IPv6, part: number, mask = 0): ipaddr.IPv4 {
  const high = (address.parts[part] ?? 0) ^ mask;
  const low = (address.parts[part + 1] ?? 0) ^ mask;
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

function nameOfSpecialRange(address: Address): string | null {
  const range = address.range();
  return range === "unicast" ? null : (RANGE_NAMES[range] ?? range);
}

/** Readable names for the ranges whose ipaddr.js name would not explain the refusal to an owner. */
const RANGE_NAMES: Readonly<Record<string, string>> = {
  linkLocal: "link-local",
  carrierGradeNat: "carrier-grade NAT",
  uniqueLocal: "unique local",
  deprecatedSiteLocal: "site-local",
};

function isIPv4(address: Address): address is ipaddr.IPv4 {
  return address.kind() === "ipv4";
}
