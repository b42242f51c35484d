import { describe, expect, it } from "vitest";
import { sendAttempt, type OutgoingDelivery } from "../../src/outbound/send.ts";
import {
  playOutsideWorld,
  PUBLIC_IPV4,
  OWN_HOSTS,
  RESOLVER_URL,
  type OutsideWorld,
  type Receiver,
  type ZoneAnswer,
} from "../support/dns.ts";
import { URL_CASE_REDIRECTS, URL_CASE_ZONE, URL_CASES } from "../support/url-cases.ts";

const DELIVERY: OutgoingDelivery = {
  delivery_id: "dlv_01jd0000000000000000000000",
  event_id: "evt_01jd0000000000000000000000",
  event: "commission.created",
  url: "https://hooks.example/in?a=1",
  body: "{}",
  secrets: [`whsec_${btoa("0".repeat(32))}`],
};

async function send(world: OutsideWorld, delivery: Partial<OutgoingDelivery> = {}) {
  const { fetch } = world;
  return sendAttempt(
    { ...DELIVERY, ...delivery },
    { fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, now: Date.now, budgetMs: 2_000 },
  );
}

const ok: Receiver = () => new Response("ok");

describe("the guard runs before every attempt (HOOK-7)", () => {
  it.each(URL_CASES.filter(({ stage }) => !["dns", "redirect", "ok", "range"].includes(stage)))(
    "a stored $input is blocked: no look-up, no request",
    async ({ input }) => {
      const world = playOutsideWorld({});
      expect(await send(world, { url: input })).toMatchObject({
        status_code: null,
        error: "blocked",
        response_excerpt: null,
      });
      expect([world.questions, world.requests]).toEqual([[], []]);
    },
  );

  it.each(URL_CASES.filter(({ stage }) => stage === "dns"))(
    "$input is looked up and never called",
    async ({ input }) => {
      const { hostname } = new URL(input);
      const world = playOutsideWorld({ zone: URL_CASE_ZONE, receivers: { [hostname]: ok } });
      expect((await send(world, { url: input })).error).toBe(hostname === "empty.example" ? "dns" : "blocked");
      expect(world.questions).toHaveLength(2);
      expect(world.requests).toEqual([]);
    },
  );

  it.each(URL_CASES.filter(({ stage }) => stage === "redirect"))(
    "$input fails, and is not followed",
    async ({ input }) => {
      const { hostname } = new URL(input);
      const [status, location] = URL_CASE_REDIRECTS[hostname]!;
      const world = playOutsideWorld({
        receivers: {
          [hostname]: () => new Response(null, { status, headers: { location } }),
          "public2.example": ok,
          "127.0.0.1": ok,
          "169.254.169.254": ok,
        },
      });
      expect(await send(world, { url: input })).toMatchObject({ status_code: status, error: "redirect" });
      expect(world.requests.map(({ url }) => url.href)).toEqual([input]);
    },
  );

  it.each(URL_CASES.filter(({ stage }) => stage === "ok"))("$input is called", async ({ input }) => {
    const world = playOutsideWorld({ receivers: { [new URL(input).hostname]: ok } });
    expect((await send(world, { url: input })).error).toBeNull();
  });

  it.each(URL_CASES.filter(({ stage }) => stage === "range"))(
    "$input is called without a look-up",
    async ({ input }) => {
      const world = playOutsideWorld({ receivers: { [new URL(input).hostname]: ok } });
      expect((await send(world, { url: input })).error).toBeNull();
      expect(world.questions).toEqual([]);
    },
  );

  it("a stored endpoint whose name starts to resolve elsewhere is blocked from then on", async () => {
    const moved: ZoneAnswer = ({ type, nth }) =>
      type === "A" ? { A: [nth === 1 ? PUBLIC_IPV4 : "192.168.0.10"] } : {};
    const world = playOutsideWorld({ zone: { "hooks.example": moved }, receivers: { "hooks.example": ok } });
    expect((await send(world)).error).toBeNull();
    expect((await send(world)).error).toBe("blocked");
    expect(world.requests).toHaveLength(1);
  });

  it("a failed lookup is `dns`, never a send", async () => {
    for (const entry of [{ status: 3 }, { status: 2 }, {}, { A: [PUBLIC_IPV4], status: { AAAA: 2 } }]) {
      const world = playOutsideWorld({ zone: { "hooks.example": entry }, receivers: { "hooks.example": ok } });
      expect(await send(world)).toMatchObject({ status_code: null, error: "dns", response_excerpt: null });
      expect(world.requests).toEqual([]);
    }
  });

  it("asks once for A and once for AAAA in an attempt", async () => {
    const world = playOutsideWorld({ receivers: { "hooks.example": ok } });
    await send(world);
    expect(world.questions.map(({ type }) => type)).toEqual(["A", "AAAA"]);
  });
});
