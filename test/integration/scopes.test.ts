/** Which key may do what: each route of the API with each scope (ACCESS-11). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { SCOPES, type Scope } from "../../src/domain/scope.ts";
import { ROUTE_SCOPES } from "../../src/http/scopes.ts";
import { newKey, type TestKey } from "../support/keys.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { operationAt, operations } from "../support/openapi.ts";

/** Each route under /api/v1 once, as the router has it. */
const ROUTES = [
  ...new Map(
    app.routes
      .filter(({ method, path }) => method !== "ALL" && path.startsWith("/api/v1/"))
      .map(({ method, path }) => [`${method} ${path}`, { name: `${method} ${path}`, method, path }]),
  ).values(),
];

interface Refused {
  error?: { code: string; message: string };
}

const NOBODY = "none_00000000000000000000000000";

/** What is refused for its scope before anything else is looked at: the address names nothing, the body is wrong. */
function callWithNothing(key: Pick<TestKey, "api">, { method, path }: { method: string; path: string }, headers = {}) {
  const at = path.replace(":provider", "provider_x").replaceAll(/:[a-z_]+/g, NOBODY);
  const body = method === "GET" || method === "DELETE" ? undefined : { unknown: true };
  return key.api<Refused>(method, at, body, headers);
}

function forbiddenOf({ status, body }: Reply<Refused>): string | null {
  if (status !== 403) return null;
  expect(body.error?.code).toBe("forbidden");
  return /^This API key lacks the scope ([a-z]+)\.$/.exec(body.error?.message ?? "")?.[1] ?? "unnamed";
}

/** All that a request could have changed, but when a key was used. */
async function stateOf(program: TestProgram): Promise<string> {
  const tables = ["partners", "flows", "commissions", "payouts", "webhook_endpoints", "idempotency_keys", "events"];
  const rows = tables.map(async (table) =>
    env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all(),
  );
  const keys = env.DB.prepare("select id from api_keys where program_id = ?").bind(program.id).all();
  const own = env.DB.prepare("select name, updated_at, api_key_hash from programs where id = ?").bind(program.id).all();
  return JSON.stringify((await Promise.all([...rows, keys, own])).map(({ results }) => results));
}

describe("the scopes of a key", () => {
  let program: TestProgram;
  const keys = new Map<Scope, TestKey>();
  beforeAll(async () => {
    program = await makeProgram();
    await makePartner(program);
    for (const scope of SCOPES) keys.set(scope, await newKey(program, [scope]));
  });

  it("are declared for each route under /api/v1, and for no other (ACCESS-11)", () => {
    expect(Object.keys(ROUTE_SCOPES).toSorted()).toEqual(ROUTES.map(({ name }) => name).toSorted());
    for (const needs of Object.values(ROUTE_SCOPES)) expect(needs.length).toBeGreaterThan(0);
  });

  it("that a field needs in addition are in the reference where its route is described (HTTP-32)", async () => {
    const key = keys.get("write")!;
    const { id } = await makePartner(program);
    const details = { payout_method: "wallet", payout_email: "pay@example.com" };
    for (const [method, path, body, scope] of [
      ["PATCH", "/api/v1/programs/me", { provider_a_api_key: null }, "keys"],
      ["POST", "/api/v1/partners", { slug: "new", email: "new@example.com", ...details }, "payouts"],
      ["PATCH", `/api/v1/partners/${id}`, details, "payouts"],
      ["PATCH", `/api/v1/partners/${id}`, { email: "other@example.com" }, "payouts"],
    ] as const) {
      expect([path, forbiddenOf(await key.api<Refused>(method, path, body))]).toEqual([path, scope]);
      expect(operationAt(method, path)?.operation.description).toContain(`need the scope \`${scope}\` too`);
    }
  });

  it("decide each route: allowed, or 403 that names the missing one, with nothing done (ACCESS-11)", async () => {
    for (const scope of SCOPES) {
      const key = keys.get(scope)!;
      const missingIn = (route: string) => ROUTE_SCOPES[route]!.find((need) => need !== scope) ?? null;
      const [refused, allowed] = [true, false].map((is) =>
        ROUTES.filter(({ name }) => (missingIn(name) !== null) === is),
      );
      const before = await stateOf(program);
      for (const route of refused!) {
        for (const headers of route.method === "POST" ? [{}, { "Idempotency-Key": `${route.name} ${scope}` }] : [{}]) {
          const reply = await callWithNothing(key, route, headers);
          expect([route.name, scope, forbiddenOf(reply)]).toEqual([route.name, scope, missingIn(route.name)]);
          expect([Object.keys(reply.body), reply.headers.get("Allow")]).toEqual([["error"], null]);
        }
      }
      expect([scope, await stateOf(program)]).toEqual([scope, before]);
      for (const route of allowed!) {
        expect([route.name, scope, forbiddenOf(await callWithNothing(key, route))]).toEqual([route.name, scope, null]);
      }
    }
  });

  it("let a key with all that a route needs, and no more, through (ACCESS-11)", async () => {
    for (const needs of new Set(Object.values(ROUTE_SCOPES).map((scopes) => scopes.join()))) {
      const key = await newKey(program, needs.split(",") as Scope[]);
      for (const route of ROUTES.filter(({ name }) => ROUTE_SCOPES[name]!.join() === needs)) {
        expect([route.name, forbiddenOf(await callWithNothing(key, route))]).toEqual([route.name, null]);
      }
    }
  });

  it("are shown with each operation of the document (HTTP-17)", () => {
    const documented = operations()
      .filter(({ path }) => path.startsWith("/api/v1/"))
      .map(({ method, path, operation }) => [
        `${method.toUpperCase()} ${path.replaceAll(/\{([a-z_]+)\}/g, ":$1")}`,
        operation.security[0]?.["api_key"],
      ]);
    expect(Object.fromEntries(documented)).toEqual(ROUTE_SCOPES);
  });

  it("say nothing at an address that no route has, but that it is not found", async () => {
    const key = keys.get("keys")!;
    expect((await key.api("GET", "/api/v1/nowhere")).status).toBe(404);
    expect((await key.api("PUT", "/api/v1/partners")).status).toBe(405);
  });

  it("hold for HEAD as for GET", async () => {
    expect((await keys.get("write")!.api("HEAD", "/api/v1/partners")).status).toBe(403);
    expect((await keys.get("read")!.api("HEAD", "/api/v1/partners")).status).toBe(200);
  });
});
