import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { ROUTES } from "../../src/http/routes.ts";
import { sha256Hex } from "../../src/lib/crypto.ts";
import { call, callApi, makeProgram, type Reply } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { eventually } from "../support/time.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

interface ErrorBody {
  error: { code: string; message: string; details?: { path: string; message: string }[]; request_id: string };
}

const FLOW = { name: "x", action_type: "flat", action_value: 1 };

function codeOf(reply: Reply<unknown>): [number, string] {
  return [reply.status, (reply.body as ErrorBody).error.code];
}

describe("HTTP conventions", () => {
  it("give every response an id, no caching and no sniffing, whatever it is (HTTP-2, HTTP-14, HTTP-24)", async () => {
    const program = await makeProgram();
    const replies = [
      await program.api("GET", "/api/v1/flows"),
      await program.api("POST", "/api/v1/flows", FLOW),
      await program.api("POST", "/api/v1/flows", {}),
      await program.api("POST", "/api/v1/flows", "{"),
      await program.api("PUT", "/api/v1/flows"),
      await program.api("GET", "/api/v1/nowhere"),
      await program.api("GET", "/api/v1"),
      await callApi(null, "GET", "/api/v1/flows"),
      await call("/nowhere"),
      await call("/healthz"),
      await call("/healthz", { method: "DELETE" }),
      await call("/admin/programs"),
      await call("/webhooks/provider_a", { method: "POST" }),
      await call("/webhooks/provider_none", { method: "POST" }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([
      200, 201, 422, 400, 405, 404, 404, 401, 404, 200, 405, 401, 404, 404,
    ]);
    const ids = replies.map(({ headers }) => headers.get("X-Request-Id"));
    expect(new Set(ids).size).toBe(replies.length);
    for (const [i, { headers, body, status }] of replies.entries()) {
      expect(ids[i]).toMatch(/^req_[0-9a-z]{26}$/);
      expect(headers.get("Cache-Control")).toBe("no-store");
      expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect(headers.get("Access-Control-Allow-Origin")).toBeNull();
      expect(headers.get("Content-Type")).toMatch(/^application\/json/);
      if (status < 400) continue;
      const { error, ...more } = body as ErrorBody;
      expect(more).toEqual({});
      expect(error.request_id).toBe(ids[i]);
      expect(error.message.length).toBeGreaterThan(5);
    }
  });

  it("answer a browser with a page where there is nothing, and programs with JSON (HTTP-24)", async () => {
    const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const replyTo = async (path: string) => {
      const { status, headers, body } = await call<unknown>(path, { headers: { accept } });
      return [status, headers.get("Content-Type"), body] as const;
    };
    for (const [path, status] of [
      ["/nowhere", 404],
      ["/sign-in/confirm", 405],
      ["/docs/nowhere", 404],
      ["/docs/reference/nowhere", 404],
      ["/r/nobody/nowhere", 404],
    ] as const) {
      const reply = await replyTo(path);
      expect(reply.slice(0, 2)).toEqual([status, "text/html; charset=UTF-8"]);
      expect(reply[2]).toContain("Go to overview");
    }
    for (const path of ["/api/v1/nowhere", "/admin/nowhere", "/webhooks/nowhere"]) {
      expect((await replyTo(path))[1]).toMatch(/^application\/json/);
    }
  });

  it("distinguish broken JSON from a body that is not one, and name what is wrong in it (HTTP-6, HTTP-22)", async () => {
    const program = await makeProgram();
    const post = (body: string, type = "application/json") =>
      program.api("POST", "/api/v1/flows", body, { "content-type": type });
    const good = JSON.stringify(FLOW);
    for (const broken of ["{", "{]", "{'a':1}", `${good}x`, "undefined", "", " "]) {
      expect([broken, ...codeOf(await post(broken))]).toEqual([broken, 400, "invalid_json"]);
    }
    for (const other of ["text/plain", "application/x-www-form-urlencoded", "application/vnd.api+json", "json", ""]) {
      expect([other, ...codeOf(await post(good, other))]).toEqual([other, 415, "unsupported_media_type"]);
    }
    for (const same of ["application/json", "Application/JSON; charset=utf-8", "application/json;"]) {
      expect([same, (await post(good, same)).status]).toEqual([same, 201]);
    }
    for (const shape of ["null", "[]", "1", '"x"', `[${good}]`]) {
      expect([shape, ...codeOf(await post(shape))]).toEqual([shape, 422, "validation_failed"]);
    }
    const reply = await post('{"name":"","action_type":"free","extra":1,"active":"no"}');
    const { details = [] } = (reply.body as unknown as ErrorBody).error;
    expect(details.map(({ path }) => path).toSorted()).toEqual([
      "action_type",
      "action_value",
      "active",
      "extra",
      "name",
    ]);
    expect(details.every(({ message }) => message.length > 5)).toBe(true);
  });

  it("refuse an empty id in a query, which would be no filter at all (HTTP-20)", async () => {
    const program = await makeProgram();
    const asked = ROUTES.filter(({ scope }) => scope).flatMap(({ path, query }) =>
      Object.keys(query?.shape ?? {}).flatMap((name) => (name.endsWith("_id") ? [[path, name] as const] : [])),
    );
    expect(asked.length).toBeGreaterThan(5);
    for (const [path, name] of asked) {
      const { status, body } = await program.api<ErrorBody>("GET", `${path}?${name}=`);
      expect([path, status, body.error.details?.map((one) => one.path)]).toEqual([path, 422, [name]]);
    }
  });

  it("answer 500 with a constant text where something breaks, and log what it was (HTTP-4)", async () => {
    const program = await makeProgram();
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const { binding } = watchDatabase(env.DB, {
      before() {
        throw new Error("D1_ERROR: no such table: the secret name of a table: SQLITE_ERROR");
      },
    });
    const reply = await callWith<ErrorBody>({ DB: binding }, "/api/v1/flows", {
      headers: { authorization: `Bearer ${program.api_key}` },
    });
    expect(codeOf(reply)).toEqual([500, "internal_error"]);
    expect(JSON.stringify(reply.body)).not.toContain("secret name");
    const line = JSON.parse(String(logged.mock.calls[0]?.[0])) as Record<string, unknown>;
    expect(line).toMatchObject({ request_id: reply.headers.get("X-Request-Id"), path: "/api/v1/flows" });
    expect(JSON.stringify(logged.mock.calls)).toContain("the secret name of a table");
    const health = await callWith<ErrorBody>({ DB: binding }, "/healthz");
    expect(codeOf(health)).toEqual([503, "storage_unavailable"]);
    logged.mockRestore();
    expect((await call("/healthz")).body).toEqual({ status: "ok" });
  });
});

describe("rate limits", () => {
  const limited = (reply: Reply<unknown>) => [...codeOf(reply), reply.headers.get("Retry-After")];

  it("allow a key 3,000 requests a minute, and another key as many (HTTP-11)", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const limiter = playLimiter(limitOf("RATE_LIMIT_API"));
    const ask = (key: string, method = "GET") =>
      callWith({ RATE_LIMIT_API: limiter }, "/api/v1/flows", { method, headers: { authorization: `Bearer ${key}` } });
    limiter.used.set(await sha256Hex(program.api_key), 2_998);
    for (let i = 0; i < 2; i++) expect((await ask(program.api_key)).status).toBe(200);
    expect(limited(await ask(program.api_key))).toEqual([429, "rate_limited", "60"]);
    expect(limited(await ask(program.api_key, "POST"))).toEqual([429, "rate_limited", "60"]);
    expect((await ask(other.api_key)).status).toBe(200);
    limiter.used.clear();
    expect((await ask(program.api_key)).status, "a minute later").toBe(200);
  });

  it("are the platform's: its limiter ends in a refusal of the request", async () => {
    const program = await makeProgram();
    const key = await sha256Hex(program.api_key);
    // If the minute changes between the two steps, they are repeated.
    await eventually(async () => {
      await Promise.all(Array.from({ length: 3_000 }, () => env.RATE_LIMIT_API.limit({ key })));
      expect(limited(await program.api("POST", "/api/v1/flows", FLOW))).toEqual([429, "rate_limited", "60"]);
    });
  });

  it("allow an address 30 wrong keys a minute, and then no key at all (HTTP-11)", async () => {
    const program = await makeProgram();
    const [address, other] = [`2001:db8::${program.api_key.slice(3, 9)}`, "203.0.113.2"];
    const limiters = { RATE_LIMIT_FAILED_AUTH: playLimiter(limitOf("RATE_LIMIT_FAILED_AUTH")) };
    const from = (source: string, key: string | null, n = 0) =>
      callWith(limiters, "/api/v1/flows", {
        method: n % 2 === 0 ? "GET" : "POST",
        headers: { "cf-connecting-ip": source, ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
      });
    // A request without a key does not count as a guess.
    for (let i = 0; i < 35; i++) expect((await from(address, null)).status).toBe(401);
    for (let i = 0; i < 30; i++) expect((await from(address, `sk_guess${i}`, i)).status).toBe(401);
    expect(limited(await from(address, "sk_guess"))).toEqual([429, "rate_limited", "60"]);
    expect((await from(other, "sk_guess")).status).toBe(401);
    expect(limited(await from(address, program.api_key))).toEqual([429, "rate_limited", "60"]);
    expect((await from(other, program.api_key)).status).toBe(200);
  });
});
