import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddress, whyNotPublic } from "../../src/domain/address.ts";

/**
 * The law is computed here from the registries alone, without the library: IANA's special-purpose address registries for
 * IPv4 and IPv6 (all rows, also those called globally reachable), multicast, and addresses that RFCs deprecated since.
 */
const IPV4_SPECIAL = [
  "0.0.0.0/8",
  "0.0.0.0/32",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.0.0/29",
  "192.0.0.8/32",
  "192.0.0.9/32",
  "192.0.0.10/32",
  "192.0.0.170/32",
  "192.0.0.171/32",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.88.99.2/32",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "255.255.255.255/32",
  "168.63.129.16/32", // not in a registry: a cloud's own host, refused by name
].map((cidr) => range(cidr, 32, v4Value));

const IPV6_SPECIAL = [
  "::/128",
  "::1/128",
  "::/96", // IPv4-compatible, RFC 4291
  "::ffff:0:0:0/96", // RFC 2765
  "64:ff9b:1::/48",
  "100::/64",
  "100:0:0:1::/64",
  "2001::/23",
  "2001:1::1/128",
  "2001:1::2/128",
  "2001:1::3/128",
  "2001:2::/48",
  "2001:3::/32",
  "2001:4:112::/48",
  "2001:10::/28",
  "2001:20::/28",
  "2001:30::/28",
  "2001:db8::/32",
  "2620:4f:8000::/48",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10", // site-local, RFC 3879
  "ff00::/8",
].map((cidr) => range(cidr, 128, v6Value));

/** Forms of IPv6 that carry IPv4, and the carried addresses. */
const CARRIERS: { of: Range; carried: (value: bigint) => bigint[] }[] = [
  { of: range("::ffff:0:0/96", 128, v6Value), carried: (value) => [low32(value)] },
  { of: range("64:ff9b::/96", 128, v6Value), carried: (value) => [low32(value)] },
  { of: range("2002::/16", 128, v6Value), carried: (value) => [low32(value >> 80n)] },
  {
    of: range("2001::/32", 128, v6Value),
    carried: (value) => [low32(value >> 64n), low32(value) ^ 0xffffffffn],
  },
];

const GLOBAL_UNICAST = range("2000::/3", 128, v6Value);

function lawV4(value: bigint): boolean {
  return !IPV4_SPECIAL.some((special) => contains(special, value));
}

function lawV6(value: bigint): boolean {
  const carrier = CARRIERS.find(({ of }) => contains(of, value));
  if (carrier !== undefined) return carrier.carried(value).every(lawV4);
  return contains(GLOBAL_UNICAST, value) && !IPV6_SPECIAL.some((special) => contains(special, value));
}

/** The guard's verdict for a spelling; undefined if it is no address for the guard. */
function guard(text: string): boolean | undefined {
  const address = parseAddress(text);
  return address === null ? undefined : whyNotPublic(address) === null;
}

const v4 = fc.oneof(fc.bigInt(0n, 2n ** 32n - 1n), ...IPV4_SPECIAL.map((special) => near(special, 32)));

const v6 = fc.oneof(
  fc.bigInt(0n, 2n ** 128n - 1n),
  near(GLOBAL_UNICAST, 128),
  fc.bigInt(GLOBAL_UNICAST.first, GLOBAL_UNICAST.last),
  ...IPV6_SPECIAL.map((special) => near(special, 128)),
  ...CARRIERS.map(({ of }) => near(of, 128)),
  v4.map((value) => (0xffffn << 32n) | value),
  v4.map((value) => (0x64ff9bn << 96n) | value),
  v4.map((value) => value),
  fc.tuple(v4, fc.bigInt(0n, 2n ** 80n - 1n)).map(([value, rest]) => (0x2002n << 112n) | (value << 80n) | rest),
  fc
    .tuple(v4, v4, fc.bigInt(0n, 2n ** 32n - 1n))
    .map(([server, client, flags]) => (0x20010000n << 96n) | (server << 64n) | (flags << 32n) | (client ^ 0xffffffffn)),
);

describe("every answer must be public unicast (HOOK-20), against the registries", () => {
  it("over the whole of IPv4", () => {
    fc.assert(
      fc.property(v4, (value) => {
        expect(guard(v4Text(value))).toBe(lawV4(value));
      }),
      { numRuns: 20_000 },
    );
  });

  it("at the first and last address of every /16 and of every registered range, and their neighbors", () => {
    const wrong: string[] = [];
    const probe = (value: bigint) => {
      if (value >= 0n && value < 2n ** 32n && guard(v4Text(value)) !== lawV4(value)) wrong.push(v4Text(value));
    };
    for (let block = 0n; block < 65_536n; block++) {
      probe(block << 16n);
      probe((block << 16n) | 0xffffn);
    }
    for (const { first, last } of IPV4_SPECIAL) [first - 1n, first, last, last + 1n].forEach(probe);
    expect(wrong).toEqual([]);
  });

  it("over the whole of IPv6, in every spelling", () => {
    fc.assert(
      fc.property(v6, fc.constantFrom(fullText, compressedText, dottedText), (value, spell) => {
        expect(guard(spell(value))).toBe(lawV6(value));
      }),
      { numRuns: 20_000 },
    );
  });

  it("at the first and last address of every /16 of IPv6 and of every registered range, and their neighbors", () => {
    const wrong: string[] = [];
    const probe = (value: bigint) => {
      if (value >= 0n && value < 2n ** 128n && guard(fullText(value)) !== lawV6(value)) wrong.push(fullText(value));
    };
    for (let block = 0n; block < 65_536n; block++) {
      probe(block << 112n);
      probe(((block + 1n) << 112n) - 1n);
    }
    for (const { first, last } of [...IPV6_SPECIAL, ...CARRIERS.map(({ of }) => of), GLOBAL_UNICAST]) {
      [first - 1n, first, last, last + 1n].forEach(probe);
    }
    expect(wrong).toEqual([]);
  });

  it("judges what is carried alike in every carrier", () => {
    fc.assert(
      fc.property(v4, (value) => {
        const expected = lawV4(value);
        const hex = `${(value >> 16n).toString(16)}:${low16(value).toString(16)}`;
        const turned = value ^ 0xffffffffn;
        const turnedHex = `${(turned >> 16n).toString(16)}:${low16(turned).toString(16)}`;
        expect(guard(`::ffff:${v4Text(value)}`)).toBe(expected);
        expect(guard(`64:ff9b::${hex}`)).toBe(expected);
        expect(guard(`2002:${hex}::1`)).toBe(expected);
        expect(guard(`2001:0:${hex}:0:0:${(0x01010101n ^ 0xffffffffn).toString(16).replace(/(.{4})$/, ":$1")}`)).toBe(
          expected,
        );
        expect(guard(`2001:0:101:101:0:0:${turnedHex}`)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never throws on a text, and takes only an address for one", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: fc.constantFrom(..."0123456789abcdefx:.%/[] ") }),
          fc.ipV4Extended(),
          fc.ipV6(),
        ),
        (text) => {
          const address = parseAddress(text);
          if (address !== null) expect(parseAddress(address.toString())?.toString()).toBe(address.toString());
        },
      ),
      { numRuns: 5_000 },
    );
  });
});

interface Range {
  first: bigint;
  last: bigint;
}

function range(cidr: string, width: number, valueOf: (text: string) => bigint): Range {
  const [network, bits] = cidr.split("/") as [string, string];
  const size = 1n << BigInt(width - Number(bits));
  const first = valueOf(network);
  if (first % size !== 0n) throw new Error(`${cidr} has bits beyond its prefix`);
  return { first, last: first + size - 1n };
}

function contains({ first, last }: Range, value: bigint): boolean {
  return value >= first && value <= last;
}

/** Inside a range, or just outside one of its ends. */
function near({ first, last }: Range, width: number): fc.Arbitrary<bigint> {
  const max = (1n << BigInt(width)) - 1n;
  const clamp = (value: bigint) => (value < 0n ? 0n : value > max ? max : value);
  return fc.oneof(
    fc.bigInt(first, last),
    fc.bigInt(clamp(first - 3n), clamp(first + 3n)),
    fc.bigInt(clamp(last - 3n), clamp(last + 3n)),
  );
}

function v4Value(text: string): bigint {
  return text.split(".").reduce((value, octet) => (value << 8n) | BigInt(octet), 0n);
}

function v4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 0xffn).toString()).join(".");
}

function v6Value(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function groupsOf(value: bigint): bigint[] {
  return Array.from({ length: 8 }, (_, i) => (value >> BigInt(112 - 16 * i)) & 0xffffn);
}

function fullText(value: bigint): string {
  return groupsOf(value)
    .map((group) => group.toString(16).padStart(4, "0"))
    .join(":");
}

/** The longest run of zero groups as `::`, upper case. */
function compressedText(value: bigint): string {
  const text = groupsOf(value)
    .map((group) => group.toString(16))
    .join(":");
  const runs = text.match(/(?:^|:)0(?::0)+(?=:|$)/g) ?? [];
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "");
  if (longest === "") return text.toUpperCase();
  const at = text.indexOf(longest);
  const before = text.slice(0, at);
  const after = text.slice(at + longest.length).replace(/^:/, "");
  return `${before}::${after}`.toUpperCase();
}

/** The last 32 bits as dotted decimal. */
function dottedText(value: bigint): string {
  const groups = groupsOf(value).slice(0, 6);
  const dotted = v4Text(low32(value));
  if (groups.every((group) => group === 0n)) return `::${dotted}`;
  return `${groups.map((group) => group.toString(16)).join(":")}:${dotted}`;
}

function low32(value: bigint): bigint {
  return value & 0xffffffffn;
}

function low16(value: bigint): bigint {
  return value & 0xffffn;
}
