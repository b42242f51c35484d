import { describe, expect, it } from "vitest";
import { resolveTarget, type ResolveDeps } from "../../src/core/kernel/target.ts";
import {
  dnsJson,
  dripping,
  never,
  playOutsideWorld,
  PUBLIC_IPV4,
  PUBLIC_IPV6,
  OWN_HOSTS,
  RESOLVER_URL,
  type ZoneAnswer,
  type ZoneEntry,
} from "../support/dns.ts";
import { inPlayedTime } from "../support/time.ts";
import { URL_CASE_ZONE, URL_CASES } from "../support/url-cases.ts";

async function resolve(entry: ZoneEntry | ZoneAnswer, deps: Partial<ResolveDeps> = {}) {
  const world = playOutsideWorld({ zone: { "hooks.example": entry } });
  return await resolveTarget("hooks.example", {
    fetch: world.fetch,
    resolverUrl: RESOLVER_URL,
    ownHosts: OWN_HOSTS,
    timeoutMs: 600_000,
    ...deps,
  });
}

async function kindOf(entry: ZoneEntry | ZoneAnswer, deps: Partial<ResolveDeps> = {}): Promise<string> {
  return (await resolve(entry, deps)).kind;
}

describe("every answer must be public unicast (HOOK-20)", () => {
  it.each<[string, ZoneEntry, "public" | "blocked" | "dns"]>([
    ["A and AAAA public", { A: [PUBLIC_IPV4], AAAA: [PUBLIC_IPV6] }, "public"],
    ["A only", { A: [PUBLIC_IPV4] }, "public"],
    ["AAAA only", { AAAA: [PUBLIC_IPV6] }, "public"],
    ["many public", { A: ["1.1.1.1", "8.8.8.8", "9.9.9.9"] }, "public"],
    ["one private among many", { A: ["1.1.1.1", "8.8.8.8", "192.168.1.1"] }, "blocked"],
    ["the first private", { A: ["10.0.0.1", "1.1.1.1"] }, "blocked"],
    ["A public, AAAA loopback", { A: [PUBLIC_IPV4], AAAA: ["::1"] }, "blocked"],
    ["A private, AAAA public", { A: ["172.16.0.1"], AAAA: [PUBLIC_IPV6] }, "blocked"],
    ["CGNAT", { A: ["100.64.0.1"] }, "blocked"],
    ["benchmarking", { A: ["198.18.0.1"] }, "blocked"],
    ["documentation", { A: ["203.0.113.1"] }, "blocked"],
    ["documentation v6", { AAAA: ["3fff::1"] }, "blocked"],
    ["multicast", { A: ["224.0.0.1"] }, "blocked"],
    ["reserved", { A: ["240.0.0.1"] }, "blocked"],
    ["metadata", { A: ["169.254.169.254"] }, "blocked"],
    ["Azure's host", { A: ["168.63.129.16"] }, "blocked"],
    ["metadata v6", { AAAA: ["fd00:ec2::254"] }, "blocked"],
    ["mapped private", { AAAA: ["::ffff:10.0.0.1"] }, "blocked"],
    ["mapped private in hex", { AAAA: ["::ffff:a00:1"] }, "blocked"],
    ["mapped public", { AAAA: ["::ffff:1.1.1.1"] }, "public"],
    ["NAT64 of metadata", { AAAA: ["64:ff9b::169.254.169.254"] }, "blocked"],
    ["NAT64 of public", { AAAA: ["64:ff9b::101:101"] }, "public"],
    ["NAT64 of Azure's host", { AAAA: ["64:ff9b::168.63.129.16"] }, "blocked"],
    ["local NAT64 prefix", { AAAA: ["64:ff9b:1::101:101"] }, "blocked"],
    ["6to4 of private", { AAAA: ["2002:c0a8:101::1"] }, "blocked"],
    ["6to4 of public", { AAAA: ["2002:101:101::1"] }, "public"],
    ["Teredo, client private", { AAAA: ["2001:0:101:101:0:0:f5ff:fffe"] }, "blocked"],
    ["Teredo, server private", { AAAA: ["2001:0:a00:1:0:0:fefe:fefe"] }, "blocked"],
    ["Teredo, both public", { AAAA: ["2001:0:101:101:0:0:fefe:fefe"] }, "public"],
    ["IPv4-compatible, as resolvers print it", { AAAA: ["::1.1.1.1"] }, "blocked"],
    ["site-local", { AAAA: ["fec0::1"] }, "blocked"],
    ["SRv6", { AAAA: ["5f00::1"] }, "blocked"],
    ["outside global unicast", { AAAA: ["4000::1"] }, "blocked"],
  ])("%s", async (_name, entry, kind) => {
    expect(await kindOf(entry)).toBe(kind);
  });

  it("asks for A and AAAA at once, each once, as DNS JSON", async () => {
    const both = Promise.withResolvers<void>();
    let asked = 0;
    const meet: ZoneAnswer = async ({ type }) => {
      if (++asked === 2) both.resolve();
      await both.promise; // the first answer waits for the second question
      return type === "A" ? { A: [PUBLIC_IPV4] } : { AAAA: [PUBLIC_IPV6] };
    };
    const world = playOutsideWorld({ zone: { "hooks.example": meet } });
    const deps = { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, timeoutMs: 600_000 };
    expect(await resolveTarget("hooks.example", deps)).toEqual({ kind: "public" });
    expect(world.questions).toEqual([
      { name: "hooks.example", type: "A" },
      { name: "hooks.example", type: "AAAA" },
    ]);
  });

  it("keeps what the resolver's URL already asks for", async () => {
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(url);
      return dnsJson("hooks.example", "A", { A: [PUBLIC_IPV4] });
    };
    await resolveTarget("hooks.example", {
      fetch,
      resolverUrl: "https://dns.example/resolve?key=1",
      ownHosts: OWN_HOSTS,
      timeoutMs: 600_000,
    });
    expect(asked).toEqual([
      "https://dns.example/resolve?key=1&name=hooks.example&type=A",
      "https://dns.example/resolve?key=1&name=hooks.example&type=AAAA",
    ]);
  });

  it("judges each time: a second answer that differs is seen", async () => {
    const flip: ZoneAnswer = ({ type, nth }) => (type === "A" ? { A: [nth === 1 ? PUBLIC_IPV4 : "127.0.0.1"] } : {});
    const world = playOutsideWorld({ zone: { "hooks.example": flip } });
    const deps = { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, timeoutMs: 600_000 };
    expect((await resolveTarget("hooks.example", deps)).kind).toBe("public");
    expect((await resolveTarget("hooks.example", deps)).kind).toBe("blocked");
  });
});

describe("aliases", () => {
  it.each<[string, ZoneEntry, "public" | "blocked" | "dns"]>([
    ["a chain to a public address", { CNAME: ["a.cdn.example", "b._edge.cdn.example"], A: [PUBLIC_IPV4] }, "public"],
    ["a chain to a private address", { CNAME: ["a.cdn.example", "b.cdn.example"], A: ["10.0.0.1"] }, "blocked"],
    ["localhost", { CNAME: ["localhost"] }, "blocked"],
    ["localhost with a public address", { CNAME: ["localhost"], A: [PUBLIC_IPV4] }, "blocked"],
    ["a local name in the middle", { CNAME: ["db.internal", "a.cdn.example"], A: [PUBLIC_IPV4] }, "blocked"],
    ["upper case", { CNAME: ["PRINTER.LOCAL"], A: [PUBLIC_IPV4] }, "blocked"],
    ["a single label", { CNAME: ["metadata"], A: [PUBLIC_IPV4] }, "blocked"],
    ["the root", { CNAME: [""], A: [PUBLIC_IPV4] }, "blocked"],
    ["an address as a name", { CNAME: ["127.0.0.1"], A: [PUBLIC_IPV4] }, "blocked"],
    ["without any address", { CNAME: ["a.cdn.example"] }, "dns"],
  ])("%s", async (_name, entry, kind) => {
    expect(await kindOf(entry)).toBe(kind);
  });

  it("judges a DNAME and passes over other records (RRSIG)", async () => {
    const answer = (records: object[]) => () => Response.json({ Status: 0, Answer: records });
    const a = { name: "x.example", type: 1, TTL: 60, data: PUBLIC_IPV4 };
    expect(await kindOf(answer([{ name: "example", type: 39, TTL: 60, data: "local." }, a]))).toBe("blocked");
    expect(await kindOf(answer([{ name: "x.example", type: 46, TTL: 60, data: "A 13 2 300 …" }, a]))).toBe("public");
    expect(await kindOf(answer([{ name: "x.example", type: 46, TTL: 60, data: "A 13 2 300 …" }]))).toBe("dns");
  });
});

describe("a failed lookup is `dns`, never public (HOOK-19)", () => {
  const good = { A: [PUBLIC_IPV4], AAAA: [PUBLIC_IPV6] };
  const json = (value: unknown): ZoneAnswer => {
    return () => new Response(typeof value === "string" ? value : JSON.stringify(value));
  };
  it.each<[string, ZoneEntry | ZoneAnswer]>([
    ["NXDOMAIN", { status: 3 }],
    ["SERVFAIL", { status: 2 }],
    ["REFUSED", { status: 5 }],
    ["an unknown code", { status: 23 }],
    ["SERVFAIL beside addresses", { ...good, status: 2 }],
    ["SERVFAIL for AAAA only", { A: [PUBLIC_IPV4], status: { AAAA: 2 } }],
    ["SERVFAIL for A only", { AAAA: [PUBLIC_IPV6], status: { A: 2 } }],
    ["empty", {}],
    ["HTTP 500", () => new Response("oops", { status: 500 })],
    ["HTTP 429", () => new Response("slow down", { status: 429 })],
    ["HTTP 204", () => new Response(null, { status: 204 })],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://other.example/" } })],
    [
      "a good answer under HTTP 400",
      () => Response.json({ Status: 0, Answer: [{ type: 1, data: "1.1.1.1" }] }, { status: 400 }),
    ],
    ["not JSON", json("<html>")],
    ["empty text", json("")],
    ["null", json(null)],
    ["a list", json([])],
    ["no Status", json({ Answer: [{ type: 1, data: "1.1.1.1" }] })],
    ["Status as text", json({ Status: "0", Answer: [{ type: 1, data: "1.1.1.1" }] })],
    ["Answer as an object", json({ Status: 0, Answer: { type: 1, data: "1.1.1.1" } })],
    ["an entry that is no record", json({ Status: 0, Answer: [{ type: 1, data: "1.1.1.1" }, null] })],
    ["an entry without data", json({ Status: 0, Answer: [{ type: 1, data: "1.1.1.1" }, { type: 1 }] })],
    ["truncated", json({ Status: 0, TC: true, Answer: [{ type: 1, data: "1.1.1.1" }] })],
    ["an A that is no address", { A: ["1.1.1.1", "not an address"] }],
    ["an A in a lenient form", { A: ["0x1.1.1.1"] }],
    ["an A with leading zeros", { A: ["001.001.001.001"] }],
    ["an A as an integer", { A: ["16843009"] }],
    ["an A that is IPv6", { A: [PUBLIC_IPV6] }],
    ["an AAAA that is IPv4", { AAAA: [PUBLIC_IPV4] }],
    ["an AAAA with a zone", { AAAA: ["2606:4700::1%eth0"] }],
    ["an AAAA with a bracket trick", { AAAA: ["2606:4700::1]@[::1"] }],
    [
      "a connection that fails",
      () => {
        throw new TypeError("Network connection lost.");
      },
    ],
    [
      "a body that breaks off",
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode('{"Status":0')),
            pull: () => {
              throw new Error("reset");
            },
          }),
        ),
    ],
    [
      "a good answer that goes on without end",
      () =>
        new Response(
          new ReadableStream({
            start: (controller) =>
              controller.enqueue(new TextEncoder().encode('{"Status":0,"Answer":[{"type":1,"data":"1.1.1.1"}]}')),
            pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(0x20)),
          }),
        ),
    ],
    [
      "an answer without end",
      () => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(65_536)) })),
    ],
  ])("%s", async (_name, entry) => {
    expect(await kindOf(entry)).toBe("dns");
  });

  it.each<[string, ZoneAnswer]>([
    ["both hang", () => never()],
    ["A hangs", ({ type }) => (type === "A" ? never() : { AAAA: [PUBLIC_IPV6] })],
    ["AAAA hangs", ({ type }) => (type === "AAAA" ? never() : { A: [PUBLIC_IPV4] })],
    ["the body drips", () => new Response(dripping(" ", 100).body)],
  ])("timeout: %s", async (_name, answer) => {
    const began = Date.now();
    const { resolution, ended } = await inPlayedTime(async () => ({
      resolution: await resolve(answer, { timeoutMs: 2_000 }),
      ended: Date.now(),
    }));
    expect(resolution).toMatchObject({ kind: "dns", reason: expect.stringContaining("timed out") as string });
    expect(ended - began).toBeGreaterThanOrEqual(2_000);
    expect(ended - began).toBeLessThan(4_000);
  });

  it("aborts a look-up that hangs", async () => {
    const signals: AbortSignal[] = [];
    await kindOf(
      ({ signal }) => {
        signals.push(signal);
        return never();
      },
      { timeoutMs: 30 },
    );
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
  });

  it.each(["", "not a url", "https://"])("an unusable resolver URL (%j)", async (resolverUrl) => {
    expect(await kindOf(good, { resolverUrl })).toBe("dns");
  });

  it("a refused address blocks although the other look-up failed", async () => {
    expect(await kindOf({ A: ["10.0.0.1"], status: { AAAA: 2 } })).toBe("blocked");
    expect(await kindOf({ AAAA: ["::1"], status: { A: 2 } })).toBe("blocked");
    expect(await kindOf({ A: ["nonsense", "10.0.0.1"] })).toBe("blocked");
  });

  it("says what failed", async () => {
    expect(await resolve({ status: 3 })).toEqual({ kind: "dns", reason: "A: NXDOMAIN" });
    expect(await resolve({ A: ["10.0.0.1"] })).toEqual({ kind: "blocked", reason: "resolves to 10.0.0.1 (private)" });
  });
});

describe("hosts that need no look-up", () => {
  it.each<[string, "public" | "blocked"]>([
    ["1.1.1.1", "public"],
    ["[2606:4700:4700::1111]", "public"],
    ["[::ffff:101:101]", "public"],
    ["127.0.0.1", "blocked"],
    ["[::1]", "blocked"],
    ["[::ffff:7f00:1]", "blocked"],
    ["168.63.129.16", "blocked"],
    ["localhost", "blocked"],
    ["metadata.google.internal", "blocked"],
    ["intranet", "blocked"],
  ])("%s is %s", async (hostname, kind) => {
    const world = playOutsideWorld({});
    const deps = { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, timeoutMs: 600_000 };
    expect((await resolveTarget(hostname, deps)).kind).toBe(kind);
    expect(world.questions).toEqual([]);
  });
});

describe("the collected addresses whose look-up decides", () => {
  it.each(URL_CASES.filter(({ stage }) => stage === "dns"))("never calls $input", async ({ input }) => {
    const world = playOutsideWorld({ zone: URL_CASE_ZONE });
    const deps = { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, timeoutMs: 600_000 };
    const { hostname } = new URL(input);
    expect((await resolveTarget(hostname, deps)).kind).toBe(hostname === "empty.example" ? "dns" : "blocked");
  });
});
