/** Rate limits and body limits at their edges (HTTP-11, HTTP-13). */
import { beforeAll, describe, expect, it } from "vitest";
import { byVendor } from "../../src/providers/registry.ts";
import { visit } from "../support/clicks.ts";
import { call, makeProgram, TEST_SECRETS, type TestProgram } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { signed } from "../support/signed.ts";

const KIB = 1024;
let program: TestProgram;

beforeAll(async () => {
  program = await makeProgram();
});

/** A text of exactly `bytes` bytes of UTF-8. `é` takes two bytes, so a limit on characters would show. */
function sized(bytes: number, before: string, after: string): string {
  const room = bytes - before.length - after.length;
  return `${before}${room % 2 === 1 ? "x" : ""}${"é".repeat(Math.floor(room / 2))}${after}`;
}

interface Route {
  limit: number;
  path: () => string;
  body: (bytes: number) => string;
  headers: (body: string) => Promise<Record<string, string>> | Record<string, string>;
  /** The status if the size is accepted. */
  atLimit: number;
}

const json = { "content-type": "application/json" };

const ROUTES: Record<string, Route> = {
  "the API": {
    limit: 64 * KIB,
    path: () => "/api/v1/flows",
    body: (bytes) => sized(bytes, '{"action_type": "flat", "action_value": 1, "name": "', '"}'),
    headers: () => ({ ...json, authorization: `Bearer ${program.api_key}` }),
    atLimit: 422,
  },
  "the API with an Idempotency-Key": {
    limit: 64 * KIB,
    path: () => "/api/v1/payouts/generate",
    body: (bytes) => sized(bytes, '{"a": "', '"}'),
    headers: () => ({ ...json, authorization: `Bearer ${program.api_key}`, "Idempotency-Key": crypto.randomUUID() }),
    atLimit: 422,
  },
  "the operator's API": {
    limit: 64 * KIB,
    path: () => "/admin/programs",
    body: (bytes) => sized(bytes, '{"owner_email": "o@example.com", "name": "', '"}'),
    headers: () => ({ ...json, authorization: "Bearer test-admin-token" }),
    atLimit: 422,
  },
  ...byVendor((name): Route => ({
    limit: 1024 * KIB,
    path: () => `/webhooks/${name}?program_id=${program.id}`,
    body: (bytes) => sized(bytes, '{"id": "', '"}'),
    headers: async (body) => ({ ...json, ...(await signed(name, body, TEST_SECRETS[name])) }),
    atLimit: 422,
  })),
  clicks: {
    limit: 4 * KIB,
    path: () => "/click",
    body: (bytes) => sized(bytes, '{"a": "', '"}'),
    headers: () => json,
    atLimit: 422,
  },
  "forms of pages": {
    limit: 512 * KIB,
    path: () => "/sign-in",
    body: (bytes) => sized(bytes, "email=", ""),
    headers: () => ({ "content-type": "application/x-www-form-urlencoded" }),
    atLimit: 403,
  },
};

/** A stream of pieces, without a content length. */
function chunked(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += 1_000)));
    },
  });
}

describe.each(Object.entries(ROUTES))("a body for %s", (_, route) => {
  const send = async (bytes: number, form: (text: string) => BodyInit) => {
    const body = route.body(bytes);
    expect(new TextEncoder().encode(body)).toHaveLength(bytes);
    const headers = await route.headers(body);
    return (await call(route.path(), { method: "POST", headers, body: form(body) })).status;
  };

  it("passes at exactly the limit and is 413 one byte over it, its length declared or not (HTTP-13)", async () => {
    for (const form of [(text: string) => text, chunked]) {
      expect([await send(route.limit, form), await send(route.limit + 1, form)]).toEqual([route.atLimit, 413]);
    }
  });
});

describe("rate limits", () => {
  it("of clicks: the last one allowed passes and the next is refused, by address (HTTP-11)", async () => {
    const limiter = playLimiter(3);
    const click = async (from: string) => {
      const reply = await visit("/click", {
        method: "POST",
        headers: { "content-type": "text/plain", "cf-connecting-ip": from },
        body: JSON.stringify({ program_id: program.id, ref: "nobody", landing: "/", referrer: "" }),
        env: { RATE_LIMIT_CLICK: limiter },
      });
      return [reply.status, reply.headers.get("Retry-After")];
    };
    for (let i = 0; i < 3; i++) expect(await click("192.0.2.1")).toEqual([202, null]);
    expect(await click("192.0.2.1")).toEqual([429, "60"]);
    expect(await click("192.0.2.2")).toEqual([202, null]);
    limiter.used.clear();
    expect(await click("192.0.2.1"), "a minute later").toEqual([202, null]);
    expect(limitOf("RATE_LIMIT_CLICK")).toBe(6_000);
  });
});
