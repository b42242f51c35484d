/** The rights of keys: each route of the API with each scope (ACCESS-11). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { SCOPES, type Scope } from "../../src/domain/scope.ts";
import { API } from "../../src/http/routes.ts";
import { newKey, type TestKey } from "../support/keys.ts";
import { commissionsOf, makeCommissions, type CommissionRow } from "../support/payouts.ts";
import type { Plain } from "../support/plain.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";
import { operationAt } from "../support/openapi.ts";

/** Each route of the API with the scopes that it needs. */
const ROUTES = API.map(({ at, method, path, scope = [] }) => ({ name: at, method, path, needs: scope }));

interface Refused {
  error?: { code: string; message: string };
}

const FLOW = { name: "Half", conditions: [], action_type: "percentage", action_value: 50 };

const NOBODY = "none_00000000000000000000000000";

/** The scope is checked first: the address does not exist and the body is wrong. */
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

  it("are declared for each address under /api/v1 (ACCESS-11)", () => {
    const served = app.routes.filter(({ method, path }) => method !== "ALL" && path.startsWith("/api/v1/"));
    expect(served.map(({ method, path }) => `${method} ${path}`)).toEqual(ROUTES.map(({ name }) => name));
  });

  it("that a field needs in addition are in the reference where its route is described (HTTP-32)", async () => {
    const key = keys.get("write")!;
    const { id } = await makePartner(program);
    const flow = (await program.api<{ id: string }>("POST", "/api/v1/flows", FLOW)).body;
    const details = { payout_method: "wallet", payout_email: "pay@example.com" };
    for (const [method, path, body, scope] of [
      ["PATCH", "/api/v1/programs/me", { provider_a_api_key: null }, "keys"],
      ["POST", "/api/v1/partners", { slug: "new", email: "new@example.com", ...details }, "payouts"],
      ["PATCH", `/api/v1/partners/${id}`, details, "payouts"],
      ["PATCH", `/api/v1/partners/${id}`, { email: "other@example.com" }, "payouts"],
      ["PATCH", `/api/v1/partners/${id}`, { commission_pct: 90, apply_from: "2026-01-01" }, "payouts"],
      ["PATCH", "/api/v1/programs/me", { auto_approve_days: 0 }, "payouts"],
      ["PATCH", "/api/v1/programs/me", { default_commission_pct: 90, apply_from: "2026-01-01" }, "payouts"],
      ["POST", "/api/v1/flows", { ...FLOW, apply_from: "2026-01-01" }, "payouts"],
      ["PATCH", `/api/v1/flows/${flow.id}`, { priority: 2, apply_from: "2026-01-01" }, "payouts"],
      ["POST", "/api/v1/commissions", { partner_id: id, amount_cents: 1, note: "Bonus" }, "payouts"],
      ["POST", "/api/v1/commissions/bulk", { filter: {}, status: "approved" }, "payouts"],
      ["PATCH", `/api/v1/commissions/${NOBODY}`, { status: "approved" }, "payouts"],
    ] as const) {
      expect([path, forbiddenOf(await key.api<Refused>(method, path, body))]).toEqual([path, scope]);
      expect(operationAt(method, path)?.operation.description).toMatch(new RegExp(`needs? the scope \`${scope}\` too`));
    }
  });

  it("let `write` take from a partner and make commissions wait, and decide for no partner (ACCESS-13)", async () => {
    const own = await makeProgram();
    const { id: partner_id } = await makePartner(own);
    const [less, enough] = [await newKey(own, ["read", "write"]), await newKey(own, ["read", "write", "payouts"])];
    const states: Record<string, Partial<Plain<CommissionRow>>> = {
      pending: { status: "pending", approved_at: null },
      flagged: {
        status: "pending",
        approved_at: null,
        flagged: true,
        review_reason: "manual",
        review_reasons: "manual",
      },
      approved: { status: "approved" },
      rejected: { status: "rejected", approved_at: null },
      owed: { status: "approved", kind: "clawback", amount_cents: -500 },
    };
    const cases: [keyof typeof states, object, boolean][] = [
      ["pending", { status: "approved" }, false],
      ["pending", { status: "rejected" }, true],
      ["pending", { flagged: true }, true],
      ["flagged", { flagged: false }, false],
      ["flagged", { status: "rejected" }, true],
      ["flagged", { status: "rejected", flagged: false }, false],
      ["approved", { status: "rejected" }, true],
      ["rejected", { status: "pending" }, false],
      ["owed", { status: "rejected" }, false],
      ["owed", { flagged: true }, true],
    ];
    for (const [state, change, isAllowed] of cases) {
      const ways = [
        ["PATCH", (id: string) => `/api/v1/commissions/${id}`, () => change],
        ["POST", () => "/api/v1/commissions/bulk", (id: string) => ({ ids: [id], ...change })],
        [
          "POST",
          () => "/api/v1/commissions/bulk",
          () => ({ filter: { partner_id }, include_flagged: true, ...change }),
        ],
      ] as const;
      for (const [method, path, bodyOf] of "flagged" in change ? ways.slice(0, 1) : ways) {
        await env.DB.prepare("delete from commissions where program_id = ?").bind(own.id).run();
        const [row, other] = await makeCommissions(own, partner_id, [states[state]!, { status: "paid" }]);
        const call = (key: TestKey) => key.api<Refused>(method, path(row!.id), bodyOf(row!.id));
        const about = [state, change, method];
        expect([...about, forbiddenOf(await call(less))]).toEqual([...about, isAllowed ? null : "payouts"]);
        if (isAllowed) continue;
        expect([...about, await commissionsOf(own)]).toEqual([
          ...about,
          [row!, other!].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
        ]);
        expect([...about, (await call(enough)).status]).toEqual([...about, 200]);
      }
    }
    // One refused item prevents all changes of the call.
    const [earned, owed] = await makeCommissions(own, partner_id, [states["pending"]!, states["owed"]!]);
    const both = { ids: [earned!.id, owed!.id], status: "rejected" };
    expect(forbiddenOf(await less.api<Refused>("POST", "/api/v1/commissions/bulk", both))).toBe("payouts");
    expect((await commissionsOf(own)).find(({ id }) => id === earned!.id)).toEqual(earned);
    const manual = (amount_cents: number) => ({ partner_id, amount_cents, note: "By hand" });
    expect(forbiddenOf(await less.api<Refused>("POST", "/api/v1/commissions", manual(1)))).toBe("payouts");
    expect((await less.api("POST", "/api/v1/commissions", manual(-1))).status).toBe(201);
    // A stored reply is for a key that may as much.
    const again = { "Idempotency-Key": "bonus" };
    expect((await enough.api("POST", "/api/v1/commissions", manual(1), again)).status).toBe(201);
    expect(forbiddenOf(await less.api<Refused>("POST", "/api/v1/commissions", manual(1), again))).toBe("payouts");
  });

  it("decide each route: allowed, or 403 that names the missing one, with nothing done (ACCESS-11)", async () => {
    for (const scope of SCOPES) {
      const key = keys.get(scope)!;
      const missingIn = ({ needs }: (typeof ROUTES)[number]) => needs.find((need) => need !== scope) ?? null;
      const [refused, allowed] = [true, false].map((is) =>
        ROUTES.filter((route) => (missingIn(route) !== null) === is),
      );
      const before = await stateOf(program);
      for (const route of refused!) {
        for (const headers of route.method === "POST" ? [{}, { "Idempotency-Key": `${route.name} ${scope}` }] : [{}]) {
          const reply = await callWithNothing(key, route, headers);
          expect([route.name, scope, forbiddenOf(reply)]).toEqual([route.name, scope, missingIn(route)]);
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
    for (const needs of new Set(ROUTES.map((route) => route.needs.join()))) {
      const key = await newKey(program, needs.split(",") as Scope[]);
      for (const route of ROUTES.filter((one) => one.needs.join() === needs)) {
        expect([route.name, forbiddenOf(await callWithNothing(key, route))]).toEqual([route.name, null]);
      }
    }
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
