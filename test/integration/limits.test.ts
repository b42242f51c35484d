/**
 * Limits are checked before the secret is compared. Callers are counted by IPv4 address or IPv6 /64, and by /48 (HTTP-12).
 * `/r/` and failed signatures of `/webhooks/*` have the limits of clicks and failed keys (HTTP-26).
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { networksOf } from "../../src/domain/address.ts";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { visit } from "../support/clicks.ts";
import { limitOf, playLimiter, type PlayedLimiter } from "../support/rate-limits.ts";
import { makePartner, makeProgram, testContext, type Reply, type TestProgram } from "../support/program.ts";
import { holdClock } from "../support/time.ts";
import { makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

const TOKEN = "test-admin-token";
let made = 0;
/** A network that other tests do not use. */
const newAddress = () => `2001:db8:${(made++).toString(16)}:1::1`;

let failures: PlayedLimiter;
let signIns: PlayedLimiter;
let sites: PlayedLimiter;
beforeEach(() => {
  sites = playLimiter(limitOf("RATE_LIMIT_FAILED_AUTH_SITE"));
  failures = playLimiter(limitOf("RATE_LIMIT_FAILED_AUTH"));
  signIns = playLimiter(limitOf("RATE_LIMIT_SIGN_IN"));
});
afterEach(() => void vi.useRealTimers());

const limiters = () => ({
  RATE_LIMIT_FAILED_AUTH: failures,
  RATE_LIMIT_FAILED_AUTH_SITE: sites,
  RATE_LIMIT_SIGN_IN: signIns,
  RATE_LIMIT_SIGN_IN_SITE: playLimiter(Infinity),
});

function from<T = { error: { code: string } }>(
  address: string,
  path: string,
  init: RequestInit = {},
): Promise<Reply<T>> {
  const headers = new Headers(init.headers);
  if (!headers.has("cf-connecting-ip")) headers.set("cf-connecting-ip", address);
  return callWith<T>(limiters(), path, { ...init, headers, redirect: "manual" });
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** The responses to 35 wrong secrets of a kind, in order. */
async function guess(address: string, path: string, wrong: (n: number) => RequestInit): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < 35; n++) statuses.push((await from(address, path, wrong(n))).status);
  return statuses;
}

const cookieOf = ({ cookies }: Visitor) => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");

const ROUTES = [
  ...new Map(
    app.routes
      .filter(({ method, path }) => method !== "ALL" && !path.includes("*"))
      .map(({ method, path }) => [`${method} ${path}`, { method, path }]),
  ).values(),
];

const addressOfRoute = (path: string) => path.replaceAll(/:[a-z_]+/g, "none_00000000000000000000000000");

describe("a limit is looked at before the secret is compared (HTTP-12)", () => {
  it.each([
    ["an admin token", "/admin/programs", (n: number) => bearer(`wrong-admin-token-${n}`), 401],
    ["an API key", "/api/v1/partners", (n: number) => bearer(`sk_wrong${n}`), 401],
    [
      "a session",
      "/dashboard",
      (n: number) => ({ headers: { cookie: `__Host-session=${String(n).padStart(43, "A")}` } }),
      303,
    ],
  ] as const)(
    "after 35 wrong ones in place of %s the right one is 429 as well, and right again a minute later",
    async (_, path, wrong, refused) => {
      const program = await makeProgram();
      const owner = await signInOwner(program);
      const right: Record<string, RequestInit> = {
        "/admin/programs": bearer(TOKEN),
        "/api/v1/partners": bearer(program.api_key),
        "/dashboard": { headers: { cookie: cookieOf(owner) } },
      };
      const address = newAddress();
      expect(await guess(address, path, wrong)).toEqual([
        ...Array.from({ length: 30 }, () => refused),
        ...Array.from({ length: 5 }, () => 429),
      ]);
      const limited = await from(address, path, right[path]);
      expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "60"]);
      expect((await from(newAddress(), path, right[path])).status).toBe(200);
      vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ["Date"] });
      failures.used.clear();
      expect((await from(address, path, right[path])).status).toBe(200);
    },
  );

  it("whichever route compares it: with right credentials each is 429 to an address that has guessed", async () => {
    holdClock();
    const program = await makeProgram();
    const partner = await makePartner(program);
    const [owner, affiliate] = [await signInOwner(program), await signInPartner(partner.email)];
    const credentialsFor = (path: string): HeadersInit => {
      if (path.startsWith("/api/v1")) return bearer(program.api_key).headers;
      if (path.startsWith("/admin")) return bearer(TOKEN).headers;
      return { cookie: cookieOf(path.startsWith("/portal") ? affiliate : owner) };
    };
    const address = newAddress();
    await guess(address, "/api/v1/partners", (n) => bearer(`sk_wrong${n}`));
    const guarded: string[] = [];
    for (const { method, path } of ROUTES) {
      const at = addressOfRoute(path);
      const without = await from(newAddress(), at, { method });
      const asksForOne = without.status === 401 || /^\/sign-in(?:\?|$)/.test(without.headers.get("location") ?? "");
      if (!asksForOne || path.startsWith("/webhooks/")) continue;
      guarded.push(`${method} ${path}`);
      const reply = await from(address, at, { method, headers: credentialsFor(path) });
      expect([method, path, reply.status]).toEqual([method, path, 429]);
    }
    for (const route of [
      "GET /api/v1/partners",
      "PATCH /api/v1/programs/me",
      "POST /admin/programs",
      "GET /dashboard",
      "POST /dashboard/settings/secrets",
      "GET /portal",
      "GET /switch",
      "POST /sign-out",
      "GET /",
    ]) {
      expect(guarded).toContain(route);
    }
  });

  it("a link to sign in with: 30 tries a minute, right or wrong", async () => {
    const program = await makeProgram();
    const { token } = await createLinkByHand(testContext(), program.program.owner_email);
    const address = newAddress();
    const visitor = makeVisitor((path, init) => from<string>(address, path, init));
    const attempt = async (tried: string) => {
      await visitor.get("/sign-in");
      return (await visitor.post("/sign-in/confirm", { token: tried })).status;
    };
    for (let n = 0; n < 30; n++) expect(await attempt(String(n).padStart(43, "A"))).toBe(410);
    expect(await attempt(token)).toBe(429);
    expect(await signInOwner(program)).toBeDefined();
  });

  it("looking costs the limiter nothing: right secrets are not counted", async () => {
    const program = await makeProgram();
    const address = newAddress();
    for (let n = 0; n < 35; n++) {
      expect((await from(address, "/admin/programs?per_page=1", bearer(TOKEN))).status).toBe(200);
      expect((await from(address, "/api/v1/programs/me", bearer(program.api_key))).status).toBe(200);
    }
    expect(failures.used.size).toBe(0);
  });
});

describe("addresses are counted by their network (HTTP-12)", () => {
  it("an IPv4 address, however it is written, an IPv6 /64 and its /48", () => {
    for (const [address, network, site = network] of [
      ["192.0.2.7", "192.0.2.7"],
      ["::ffff:192.0.2.7", "192.0.2.7"],
      ["::FFFF:c000:207", "192.0.2.7"],
      ["2001:db8:1:2::", "2001:db8:1:2::/64", "2001:db8:1::/48"],
      ["2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
      ["2001:0db8:0001:0003:ffff:ffff:ffff:ffff", "2001:db8:1:3::/64", "2001:db8:1::/48"],
      ["2001:db8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
      ["::1", "0:0:0:0::/64", "0:0:0::/48"],
      ["no address", "no address"],
      ["x".repeat(10_000), "x".repeat(45)],
      ["", ""],
    ] as const) {
      expect(networksOf(address)).toEqual({ network, site });
    }
  });

  it("by the /48 too: 8 times the limit of a /64, and a /64 beyond its own limit uses up no more of it", async () => {
    const [failed, failedOfSite] = [limitOf("RATE_LIMIT_FAILED_AUTH"), limitOf("RATE_LIMIT_FAILED_AUTH_SITE")];
    for (const name of ["FAILED_AUTH", "CLICK", "SIGN_IN"] as const)
      expect(limitOf(`RATE_LIMIT_${name}_SITE`)).toBe(8 * limitOf(`RATE_LIMIT_${name}`));
    const at = (site: string, n: number) => `2001:db8:${site}:${n.toString(16)}::1`;
    const wrong = async (address: string) => (await from(address, "/admin/programs", bearer("wrong"))).status;
    for (let n = 0; n < 2 * failed; n++) await wrong(at("a001", 0));
    expect(sites.used.get("2001:db8:a001::/48")).toBe(failed);
    for (let n = failed; n < failedOfSite; n++) expect(await wrong(at("a001", n))).toBe(401);
    expect(await wrong(at("a001", 0xfff0))).toBe(429);
    expect((await from(at("a001", 0xfff1), "/admin/programs?per_page=1", bearer(TOKEN))).status).toBe(429);
    expect((await from(at("a002", 1), "/admin/programs?per_page=1", bearer(TOKEN))).status).toBe(200);
  });

  it("by every limiter: a caller who changes the lower 64 bits is one", async () => {
    const program: TestProgram = await makeProgram();
    const prefix = newAddress().slice(0, -1);
    const clicks = playLimiter(30);
    const visitor = makeVisitor((path, init) => from<string>(`${prefix}9`, path, init));
    await visitor.get("/sign-in");
    const last = async (send: (address: string) => Promise<{ status: number }>) => {
      let status = 0;
      for (let n = 0; n < 31; n++) status = (await send(`${prefix}${n + 1}`)).status;
      return status;
    };
    expect(await last((address) => from(address, "/admin/programs", bearer("wrong")))).toBe(429);
    expect(await last((address) => visitor.post("/sign-in", { email: "x" }, { "cf-connecting-ip": address }))).toBe(
      429,
    );
    const tracked = (path: string, init: RequestInit) => (address: string) =>
      visit(path, {
        ...init,
        headers: { ...init.headers, "cf-connecting-ip": address },
        env: { RATE_LIMIT_CLICK: clicks },
      });
    const body = JSON.stringify({ program_id: program.id, ref: "jane", landing: "/", referrer: "" });
    expect(await last(tracked("/click", { method: "POST", headers: { "content-type": "text/plain" }, body }))).toBe(
      429,
    );
    for (const limiter of [failures, signIns, clicks]) {
      expect([...limiter.used.keys()]).toEqual([networksOf(`${prefix}1`).network]);
    }
  });
});

describe("/r/ is limited like clicks (HTTP-26)", () => {
  it("429 beyond the limit of the address, before anything is looked up, and counted together with /click", async () => {
    const program = await makeProgram({ domain: "shop.example" });
    await makePartner(program, { slug: "jane" });
    const clicks = playLimiter(3);
    const env = { RATE_LIMIT_CLICK: clicks };
    const headers = { "cf-connecting-ip": newAddress() };
    const follow = (slug: string) => visit(`/r/${program.id}/${slug}`, { headers, env });
    const body = JSON.stringify({ program_id: program.id, ref: "jane", landing: "/", referrer: "" });
    const click = { method: "POST", body, headers: { ...headers, "content-type": "text/plain" }, env };
    expect([(await follow("jane")).status, (await visit("/click", click)).status]).toEqual([302, 202]);
    expect((await follow("jane")).status).toBe(302);
    const unknown = await makeProgram();
    const away = { ...env, DB: undefined as never };
    const limited = await visit<{ error: { code: string } }>(`/r/${unknown.id}/jane`, { headers, env: away });
    expect([limited.status, limited.body.error.code, limited.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "60",
    ]);
    expect((await visit("/click", click)).status).toBe(429);
    expect((await visit(`/r/${program.id}/jane`, { env })).status).toBe(302);
  });
});

describe("an admin token of less than 32 characters (ACCESS-4)", () => {
  it("is none outside development, and the log says so", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const short = "t".repeat(31);
    const open = async (ENVIRONMENT: string, ADMIN_TOKEN: string) =>
      (await callWith({ ENVIRONMENT, ADMIN_TOKEN }, "/admin/programs?per_page=1", bearer(ADMIN_TOKEN))).status;
    expect(await open("production", short)).toBe(404);
    expect(logged.mock.calls.join()).toContain("ADMIN_TOKEN is too short");
    expect(logged.mock.calls.join()).not.toContain(short);
    expect([await open("production", `${short}t`), await open("development", short)]).toEqual([200, 200]);
    logged.mockRestore();
  });
});
