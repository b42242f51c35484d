/** Security headers (HTTP-29), on every answer of every route, whether it went well or not. */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { call, callApi, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { pageAddress, makeStocked, type Stocked } from "../support/stocked.ts";
import { signInOwner } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const ROUTES = [
  ...new Map(
    app.routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => [`${method} ${path}`, { method, path }]),
  ).values(),
];

function expectHardened({ headers, status }: Reply<unknown>, what: string): void {
  const of = (name: string) => headers.get(name);
  const label = `${what} ${status}`;
  expect([label, of("x-request-id")]).toEqual([label, expect.stringMatching(/^req_[0-9a-z]{26}$/)]);
  // The empty answer to a click does not need headers, and is the most frequent answer.
  if (status === 202) return;
  expect([label, of("x-content-type-options")]).toEqual([label, "nosniff"]);
  expect([label, of("strict-transport-security")]).toEqual([label, "max-age=31536000; includeSubDomains"]);
  if (status === 204) return;
  // Other sites may not frame it, and it may load only its own resources.
  expect([label, of("content-security-policy")]).toEqual([label, expect.stringContaining("default-src 'none'")]);
  expect([label, of("content-security-policy")]).toEqual([label, expect.stringContaining("frame-ancestors 'none'")]);
  expect([label, of("x-frame-options")]).toEqual([label, "DENY"]);
  const policy = what.includes("/r/") && status === 302 ? "strict-origin-when-cross-origin" : "no-referrer";
  expect([label, of("referrer-policy")]).toEqual([label, policy]);
  // Only static files may be cached (test/dev/static-files.test.ts).
  expect([label, of("cache-control")]).toEqual([label, "no-store"]);
}

describe("security headers (HTTP-29)", () => {
  let program: TestProgram;
  let stocked: Stocked;

  beforeAll(async () => {
    stocked = await makeStocked();
    program = stocked.program;
  });
  afterEach(() => vi.restoreAllMocks());

  it("are on the answer of every route to a stranger", async () => {
    expect(ROUTES.length).toBeGreaterThan(80);
    for (const { method, path } of ROUTES) {
      const at = path.replaceAll(/:\w+(\{[^}]*\})?/g, "x");
      expectHardened(await call(at, { method }), `${method} ${at}`);
    }
  });

  it("are on what the routes give to who may read them (HTTP-14)", async () => {
    const owner = await signInOwner(program);
    let good = 0;
    for (const { path } of ROUTES.filter(({ method }) => method === "GET")) {
      if (path.startsWith("/portal") || path.startsWith("/r/")) continue;
      const at = path.startsWith("/dashboard")
        ? pageAddress(path, stocked.ids)
        : path.replace(/:id\b/, stocked.ids[path.split("/")[3] ?? ""] ?? "x");
      const token = path.startsWith("/admin") ? "test-admin-token" : program.api_key;
      const reply = path.startsWith("/dashboard") ? await owner.get(at) : await callApi(token, "GET", at);
      if (reply.status === 200) good++;
      expectHardened(reply, `GET ${at}`);
    }
    expect(good).toBeGreaterThan(40);
  });

  it("are on the answers to visitors", async () => {
    const click = (body: string, type = "text/plain") =>
      call("/click", { method: "POST", body, headers: { "content-type": type } });
    const good = JSON.stringify({ program_id: program.id, ref: "x", landing: "/", referrer: "" });
    const replies: [string, () => Promise<Reply<unknown>>, number][] = [
      ["POST /click", () => click(good), 202],
      ["POST /click", () => click("{"), 400],
      ["POST /click", () => click("x".repeat(5_000)), 413],
      ["POST /click", () => click(good, "text/html"), 415],
      ["POST /click", () => click("{}"), 422],
      ["OPTIONS /click", () => call("/click", { method: "OPTIONS" }), 204],
      ["GET /click", () => call("/click"), 405],
      ["GET /r/", () => call(`/r/${program.id}/${stocked.partner.slug}`), 302],
      ["GET /r/", () => call("/r/prog_00000000000000000000000000/x"), 404],
      ["GET /r/", () => call("/r/x/y"), 404],
    ];
    for (const [what, send, status] of replies) {
      const reply = await send();
      expect([what, reply.status]).toEqual([what, status]);
      expectHardened(reply, what);
    }
  });

  it("are on errors, ours among them", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const authorization = `Bearer ${program.api_key}`;
    const broken = watchDatabase(env.DB, {
      before: () => {
        throw new Error("away");
      },
    }).binding;
    const replies: [string, Reply<unknown>][] = [
      ["GET /nowhere", await call("/nowhere")],
      ["PUT /api/v1/flows", await program.api("PUT", "/api/v1/flows")],
      ["POST /api/v1/flows", await program.api("POST", "/api/v1/flows", "{")],
      ["GET /api/v1/flows", await callWith({ DB: broken }, "/api/v1/flows", { headers: { authorization } })],
      ["GET /healthz", await callWith({ DB: broken }, "/healthz")],
      [
        "GET /dashboard",
        await callWith({ DB: broken }, "/dashboard", { headers: { cookie: `__Host-session=${"s".repeat(43)}` } }),
      ],
      ["GET /r/", await callWith({ DB: broken }, `/r/${(await makeProgram()).id}/x`)],
    ];
    expect(replies.map(([, { status }]) => status >= 400)).not.toContain(false);
    for (const [what, reply] of replies) expectHardened(reply, what);
  });
});
