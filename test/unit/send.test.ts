import { createHmac } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { ATTEMPT_ERRORS } from "../../src/domain/delivery.ts";
import { toBase64 } from "../../src/lib/crypto.ts";
import { sendAttempt, type OutgoingDelivery, type SendDeps } from "../../src/outbound/send.ts";
import {
  counted,
  dripping,
  never,
  playOutsideWorld,
  PUBLIC_IPV4,
  OWN_HOSTS,
  RESOLVER_URL,
  type OutsideWorld,
  type Receiver,
  type ZoneAnswer,
  type ZoneEntry,
} from "../support/dns.ts";
import { inPlayedTime } from "../support/time.ts";

const SECRET = secretOf(1);
const OLD_SECRET = secretOf(2);

function secretOf(seed: number): string {
  return `whsec_${toBase64(Uint8Array.from({ length: 32 }, (_, i) => (seed * 97 + i * 31) % 256))}`;
}

const DELIVERY: OutgoingDelivery = {
  delivery_id: "dlv_01jd0000000000000000000000",
  event_id: "evt_01jd0000000000000000000000",
  event: "commission.created",
  url: "https://hooks.example/in?a=1",
  body: '{"event":"commission.created","timestamp":"2026-11-20T12:00:00.000Z","data":{"id":"com_1"}}',
  secrets: [SECRET],
};

async function send(world: OutsideWorld, delivery: Partial<OutgoingDelivery> = {}, deps: Partial<SendDeps> = {}) {
  return await sendAttempt(
    { ...DELIVERY, ...delivery },
    { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, now: Date.now, budgetMs: 600_000, ...deps },
  );
}

/** One attempt to a receiver at hooks.example. */
async function sendTo(receiver: Receiver, delivery: Partial<OutgoingDelivery> = {}, deps: Partial<SendDeps> = {}) {
  const world = playOutsideWorld({ receivers: { "hooks.example": receiver } });
  const result = await send(world, delivery, deps);
  return { result, requests: world.requests };
}

const ok: Receiver = () => new Response("ok");

describe("what is sent", () => {
  it("is one POST of the stored bytes with all headers (HOOK-2, HOOK-3)", async () => {
    const now = Date.UTC(2026, 10, 20, 12, 0, 0, 987);
    const { result, requests } = await sendTo(ok, {}, { now: () => now });
    expect(result).toEqual({
      started_at: "2026-11-20T12:00:00.987Z",
      duration_ms: 0,
      status_code: 200,
      error: null,
      response_excerpt: "ok",
      reason: null,
    });
    expect(requests).toHaveLength(1);
    const request = requests[0]!;
    expect(request.method).toBe("POST");
    expect(request.url.href).toBe(DELIVERY.url);
    expect(request.text).toBe(DELIVERY.body);
    expect(request.redirect).toBe("manual");
    expect(Object.fromEntries(request.headers)).toEqual({
      "content-type": "application/json",
      "user-agent": "Service-Webhooks/1.0",
      "x-service-event": "commission.created",
      "x-service-event-id": DELIVERY.event_id,
      "x-service-delivery-id": DELIVERY.delivery_id,
      "x-service-signature": createHmac("sha256", SECRET).update(DELIVERY.body).digest("hex"),
      "webhook-id": DELIVERY.event_id,
      "webhook-timestamp": String(Math.floor(now / 1000)),
      "webhook-signature": expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/) as string,
    });
  });

  it.each([
    ["ASCII", DELIVERY.body],
    ["accents, CJK, emoji and joined emoji", '{"name":"Zoë Łuk 北京 😀 👩‍👩‍👧 e\u0301"}'],
    ["a NUL, line separators and escapes", '{"a":"\\u0000\u2028\u2029\\\\\\""}'],
    ["a byte order mark and spaces", '\uFEFF { "a" : 1 } \n'],
    ["a lone surrogate, which UTF-8 cannot hold", '{"a":"\ud800"}'],
    ["nothing", ""],
    ["1 MB", JSON.stringify({ a: "é".repeat(500_000) })],
  ])("signs the very bytes it sends: %s", async (_name, body) => {
    const { result, requests } = await sendTo(ok, { body });
    expect(result.error).toBeNull();
    const { body: bytes, headers } = requests[0]!;
    expect(bytes).toEqual(new TextEncoder().encode(body));
    // The receiver's side, in plain Node: the raw body and the secret as it was shown.
    expect(headers.get("X-Service-Signature")).toBe(createHmac("sha256", SECRET).update(bytes).digest("hex"));
    const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
    const signed = createHmac("sha256", key)
      .update(`${DELIVERY.event_id}.${headers.get("webhook-timestamp")}.`)
      .update(bytes);
    expect(headers.get("webhook-signature")).toBe(`v1,${signed.digest("base64")}`);
  });

  it("verifies with the stock Standard Webhooks library, and not once a byte is changed (HOOK-17)", async () => {
    const body = '{"data":{"name":"Zoë 😀"}}';
    const { requests } = await sendTo(ok, { body });
    const { text, headers } = requests[0]!;
    const given = Object.fromEntries(headers);
    expect(new Webhook(SECRET).verify(text, given)).toEqual({ data: { name: "Zoë 😀" } });
    expect(() => new Webhook(SECRET).verify(text.replace("Zoë", "Zoe"), given)).toThrow();
    expect(() => new Webhook(secretOf(3)).verify(text, given)).toThrow();
    expect(() => new Webhook(SECRET).verify(text, { ...given, "webhook-id": "evt_other" })).toThrow();
  });

  it("after a rotation signs with both secrets, and X-Service-Signature with the new one (HOOK-8)", async () => {
    const { requests } = await sendTo(ok, { secrets: [SECRET, OLD_SECRET] });
    const { text, headers } = requests[0]!;
    const given = Object.fromEntries(headers);
    expect(headers.get("webhook-signature")?.split(" ")).toHaveLength(2);
    expect(() => new Webhook(SECRET).verify(text, given)).not.toThrow();
    expect(() => new Webhook(OLD_SECRET).verify(text, given)).not.toThrow();
    expect(() => new Webhook(secretOf(3)).verify(text, given)).toThrow();
    expect(headers.get("X-Service-Signature")).toBe(createHmac("sha256", SECRET).update(text).digest("hex"));
  });

  it("property: any body and any secrets verify with the library", async () => {
    const secret = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => `whsec_${toBase64(bytes)}`);
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), secret, fc.option(secret), async (value, current, previous) => {
        const secrets: [string, ...string[]] = previous === null ? [current] : [current, previous];
        const { requests } = await sendTo(ok, { body: JSON.stringify(value), secrets });
        const { text, headers, body } = requests[0]!;
        for (const one of secrets) {
          expect(new Webhook(one).verify(text, Object.fromEntries(headers))).toEqual(JSON.parse(JSON.stringify(value)));
        }
        expect(headers.get("X-Service-Signature")).toBe(createHmac("sha256", current).update(body).digest("hex"));
      }),
      { numRuns: 100 },
    );
  });

  it.each(["whsec_", "whsec_%%%", "plain-text", ""])(
    "sends nothing that it cannot sign (secret %j)",
    async (secret) => {
      const { result, requests } = await sendTo(ok, { secrets: [SECRET, secret] });
      expect(result).toMatchObject({ status_code: null, error: "connection" });
      expect(result.reason).not.toContain(SECRET);
      expect(requests).toEqual([]);
    },
  );

  it("stamps the signature with the attempt's second, each attempt with its own", async () => {
    const first = await sendTo(ok, {}, { now: () => 1_800_000_000_999 });
    const second = await sendTo(ok, {}, { now: () => 1_800_000_300_000 });
    const [a, b] = [first, second].map(({ requests }) => requests[0]!.headers);
    expect(a!.get("webhook-timestamp")).toBe("1800000000");
    expect(b!.get("webhook-timestamp")).toBe("1800000300");
    expect(a!.get("webhook-id")).toBe(b!.get("webhook-id"));
    expect(a!.get("webhook-signature")).not.toBe(b!.get("webhook-signature"));
  });
});

describe("what the answer means: success if the endpoint answers 2xx (HOOK-4)", () => {
  it.each([200, 201, 202, 204, 206, 299])("%i succeeds", async (status) => {
    const { result } = await sendTo(() => new Response(status === 204 ? null : "done", { status }));
    expect(result).toMatchObject({
      status_code: status,
      error: null,
      response_excerpt: status === 204 ? null : "done",
    });
  });

  it.each([300, 301, 302, 303, 304, 307, 308, 399])("%i is a redirect, a failure", async (status) => {
    const { result, requests } = await sendTo(() => {
      return new Response(null, { status, headers: { location: "https://elsewhere.example/" } });
    });
    expect(result).toMatchObject({ status_code: status, error: "redirect" });
    expect(requests).toHaveLength(1);
  });

  it.each([400, 401, 404, 410, 429, 500, 502, 503, 599])(
    "%i fails as http, with its status and text",
    async (status) => {
      const { result } = await sendTo(() => new Response("no\nway", { status }));
      expect(result).toMatchObject({ status_code: status, error: "http", response_excerpt: "no\nway" });
    },
  );

  it.each<[string, Receiver]>([
    [
      "refuses the connection",
      () => {
        throw new TypeError("Network connection lost.");
      },
    ],
    ["fails with something that is no Error", () => Promise.reject("odd")],
    ["breaks off a 200 in its body", () => new Response(breakingOff("half"))],
  ])("a receiver that %s is a connection failure", async (_name, receiver) => {
    expect((await sendTo(receiver)).result.error).toBe("connection");
  });

  it("keeps what it got of a body that broke off", async () => {
    const { result } = await sendTo(() => new Response(breakingOff("half")));
    expect(result).toMatchObject({ status_code: 200, response_excerpt: "half" });
    const refused = await sendTo(() => new Response(breakingOff("half"), { status: 503 }));
    expect(refused.result).toMatchObject({ status_code: 503, error: "http", response_excerpt: "half" });
  });

  it("a host that nobody answers for is a connection failure", async () => {
    const world = playOutsideWorld({ zone: { "hooks.example": { A: [PUBLIC_IPV4] } } });
    expect(await send(world)).toMatchObject({ status_code: null, error: "connection", response_excerpt: null });
  });
});

describe("the 5 seconds cover the connection, the headers and the body read (HOOK-4)", () => {
  const budgetMs = 2_000;
  async function timed(receiver: Receiver, zone: Record<string, ZoneEntry | ZoneAnswer> = {}) {
    const world = playOutsideWorld({ zone, receivers: { "hooks.example": receiver } });
    const result = await inPlayedTime(() => send(world, {}, { budgetMs }));
    expect(result.duration_ms).toBeLessThanOrEqual(budgetMs + 100);
    return { result, requests: world.requests };
  }

  it("no answer in time is a timeout, and the request is aborted", async () => {
    const { result, requests } = await timed(never);
    expect(result).toMatchObject({ status_code: null, error: "timeout", response_excerpt: null });
    expect(result.duration_ms).toBeGreaterThanOrEqual(budgetMs - 5);
    expect(requests[0]?.signal.aborted).toBe(true);
  });

  it("a fetch that rejects because it was aborted is a timeout as well", async () => {
    const { result } = await timed(({ signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    });
    expect(result).toMatchObject({ status_code: null, error: "timeout" });
  });

  it("a 2xx whose body drips on is a timeout, and the body is canceled", async () => {
    const { body, canceled } = dripping("tick ", 150);
    const { result } = await timed(() => new Response(body));
    expect(result).toMatchObject({ status_code: 200, error: "timeout" });
    expect(result.response_excerpt).toMatch(/^(tick )+$/);
    await expect.poll(canceled).toBe(true);
  });

  it("a 2xx whose body never starts is a timeout", async () => {
    const { result } = await timed(() => new Response(new ReadableStream({ pull: never })));
    expect(result).toMatchObject({ status_code: 200, error: "timeout", response_excerpt: null });
  });

  it("a 500 whose body drips on is still a 500, within the budget", async () => {
    const { result } = await timed(() => new Response(dripping("tick ", 150).body, { status: 500 }));
    expect(result).toMatchObject({ status_code: 500, error: "http" });
  });

  it("the look-up counts: what it leaves is all that the receiver gets", async () => {
    const slow: ZoneAnswer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return { A: [PUBLIC_IPV4] };
    };
    const world = playOutsideWorld({ zone: { "hooks.example": slow }, receivers: { "hooks.example": never } });
    const result = await inPlayedTime(() => send(world, {}, { budgetMs: 2_000 }));
    expect(result.error).toBe("timeout");
    expect(world.requests).toHaveLength(1);
    expect(result.duration_ms).toBe(2_000);
  });

  it("a look-up that eats the whole budget is a failed lookup, never a send", async () => {
    const { result, requests } = await timed(ok, { "hooks.example": never });
    expect(result).toMatchObject({ status_code: null, error: "dns" });
    expect(requests).toEqual([]);
  });

  it("an answer that comes after the deadline is dropped", async () => {
    const { body, canceled } = counted(1_000_000, 1_000);
    const late = Promise.withResolvers<Response>();
    const { result } = await timed(() => late.promise);
    expect(result.error).toBe("timeout");
    late.resolve(new Response(body));
    await expect.poll(canceled).toBe(true);
  });

  it("is 5 seconds unless said otherwise", async () => {
    const world = playOutsideWorld({ receivers: { "hooks.example": never } });
    const result = await inPlayedTime(() =>
      sendAttempt(DELIVERY, { fetch: world.fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, now: Date.now }),
    );
    expect(result).toMatchObject({ error: "timeout", duration_ms: 5_000 });
  });
});

describe("the body read is cut at 16 KiB, the excerpt at 1 KiB (HOOK-4, HOOK-14)", () => {
  it("a 2xx with 10 MB succeeds after 16 KiB; the rest is canceled, not read", async () => {
    const { body, taken, canceled } = counted(10 * 1024 * 1024, 4_096);
    const { result } = await sendTo(() => new Response(body));
    expect(result).toMatchObject({ status_code: 200, error: null, response_excerpt: "a".repeat(1024) });
    await expect.poll(canceled).toBe(true);
    expect(taken()).toBeLessThanOrEqual(16 * 1024 + 4_096);
  });

  it("the same when the 10 MB come in one piece", async () => {
    const { body } = counted(10 * 1024 * 1024, 10 * 1024 * 1024);
    const { result } = await sendTo(() => new Response(body));
    expect(result).toMatchObject({ error: null, response_excerpt: "a".repeat(1024) });
  });

  it("a body that sends 16 KiB and then hangs has been read", async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(16 * 1024).fill(0x62)),
      pull: never,
    });
    const { result } = await sendTo(() => new Response(body), {}, { budgetMs: 4_000 });
    expect(result.error).toBeNull();
    expect(result.duration_ms).toBeLessThan(2_000);
  });

  it("one byte less and it has not", async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(16 * 1024 - 1).fill(0x62)),
      pull: never,
    });
    expect((await sendTo(() => new Response(body), {}, { budgetMs: 80 })).result.error).toBe("timeout");
  });

  it("a cancel that hangs or fails holds nothing up", async () => {
    for (const cancel of [never, () => Promise.reject(new Error("no"))]) {
      const body = new ReadableStream<Uint8Array>({ pull: (c) => c.enqueue(new Uint8Array(8_192)), cancel });
      expect((await sendTo(() => new Response(body))).result.error).toBeNull();
    }
  });

  it.each<[string, Uint8Array | string, string | null]>([
    ["nothing", "", null],
    ["text", "thanks", "thanks"],
    ["markup, as text", "<script>alert(1)</script>", "<script>alert(1)</script>"],
    ["exactly 1 KiB", "x".repeat(1024), "x".repeat(1024)],
    ["one more", "x".repeat(1025), "x".repeat(1024)],
    ["a character over the cut", `${"x".repeat(1023)}é`, "x".repeat(1023)],
    ["an emoji over the cut", `${"x".repeat(1021)}😀tail`, "x".repeat(1021)],
    ["an emoji up to the cut", `${"x".repeat(1020)}😀tail`, `${"x".repeat(1020)}😀`],
    ["NULs", "a\0b\0", "a\uFFFDb\uFFFD"],
    ["bytes that are no UTF-8", Uint8Array.of(0xff, 0x61, 0xc3), "\uFFFDa\uFFFD"],
    ["1 KiB of them", new Uint8Array(1024).fill(0xff), "\uFFFD".repeat(341)],
  ])("excerpt of %s", async (_name, body, excerpt) => {
    expect((await sendTo(() => new Response(body as BodyInit))).result.response_excerpt).toBe(excerpt);
  });

  it("reads a character that two pieces share", async () => {
    const bytes = new TextEncoder().encode("né😀");
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect((await sendTo(() => new Response(body))).result.response_excerpt).toBe("né😀");
  });
});

describe("whatever happens outside", () => {
  it("never throws, and gives a result that can be stored", async () => {
    const status = fc.integer({ min: 200, max: 599 }).filter((code) => ![204, 205, 304].includes(code));
    const behavior = fc.oneof(
      fc.record({ kind: fc.constant("answer" as const), status, body: fc.uint8Array({ maxLength: 5_000 }) }),
      fc.record({
        kind: fc.constant("break" as const),
        status,
        body: fc.uint8Array({ minLength: 1, maxLength: 3_000 }),
      }),
      fc.record({ kind: fc.constant("throw" as const), value: fc.anything() }),
      fc.record({ kind: fc.constant("hang" as const) }),
    );
    const url = fc.oneof({ weight: 4, arbitrary: fc.constant(DELIVERY.url) }, { weight: 1, arbitrary: fc.string() });
    await fc.assert(
      fc.asyncProperty(behavior, url, async (does, target) => {
        const { result } = await sendTo(
          () => {
            if (does.kind === "throw") throw does.value;
            if (does.kind === "hang") return never();
            return new Response(does.kind === "break" ? breakingOff(does.body) : does.body, { status: does.status });
          },
          { url: target },
          { budgetMs: 40 },
        );
        const { status_code, error, response_excerpt } = result;
        if (error !== null) expect(ATTEMPT_ERRORS).toContain(error);
        if (error === null) expect(Math.floor(status_code! / 100)).toBe(2);
        if (target === DELIVERY.url && does.kind === "answer") {
          expect(error).toBe(does.status < 300 ? null : does.status < 400 ? "redirect" : "http");
        }
        if (response_excerpt !== null) {
          expect(status_code).not.toBeNull();
          expect(new TextEncoder().encode(response_excerpt).length).toBeLessThanOrEqual(1024);
          expect(response_excerpt.includes("\0")).toBe(false);
          expect(response_excerpt.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("takes the platform's own fetch", () => {
    const deps: SendDeps = { fetch, resolverUrl: RESOLVER_URL, ownHosts: OWN_HOSTS, now: Date.now };
    expect(deps.fetch).toBe(fetch);
  });
});

/** A body that sends a start and then fails, as a reset connection does. */
function breakingOff(start: string | Uint8Array): ReadableStream<Uint8Array> {
  const bytes = typeof start === "string" ? new TextEncoder().encode(start) : start;
  let sent = false;
  return new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (sent) controller.error(new Error("Connection reset."));
      else controller.enqueue(bytes);
      sent = true;
    },
  });
}
