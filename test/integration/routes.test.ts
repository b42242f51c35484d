import { env } from "cloudflare:workers";
import { makeApplication } from "../support/applications.ts";
import { makeClaim } from "../support/claims.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { REQUEST_EXAMPLES } from "../../src/http/openapi/request-examples.ts";
import { API } from "../../src/http/routes.ts";
import { callApi, makePartner, makeProgram, type Reply, type TestProgram } from "../support/program.ts";

interface ErrorBody {
  error: { code: string; message: string; request_id: string };
}

/** Each route of the API, with the example of its body. */
const ROUTES = API.map(({ method, path, body }): { method: string; path: string; body?: unknown } =>
  body ? { method, path, body: REQUEST_EXAMPLES[body.name] } : { method, path },
);

const RATE = { source: "manual", action_type: "flat", action_value: 1 };

/** Makes one of each kind of thing that a path can name, of this program. */
async function makeOneOfEach(program: TestProgram): Promise<Record<string, string>> {
  const made = async (at: string) => {
    const body = ROUTES.find(({ method, path }) => method === "POST" && path === at)?.body;
    return (await program.api<{ id: string }>("POST", at, body)).body.id;
  };
  const partner = (await makePartner(program)).id;
  const rest = program.id.slice(5);
  const stamp = "2026-01-01T00:00:00.000Z";
  // Rows that only the ledger and payout runs create.
  await env.DB.batch([
    env.DB.prepare(
      `insert into payments (id, program_id, provider, provider_transaction_id, currency, txn_amount_cents, gross_cents,
         created_at, updated_at) values (?, ?, 'provider_a', 'x', 'USD', 1, 1, ?, ?)`,
    ).bind(`pmt_${rest}`, program.id, stamp, stamp),
    env.DB.prepare(
      `insert into commissions (id, program_id, partner_id, kind, status, amount_cents, txn_amount_cents, currency,
         rate, created_at, updated_at) values (?, ?, ?, 'manual', 'pending', 1, 1, 'USD', ?, ?, ?)`,
    ).bind(`com_${rest}`, program.id, partner, JSON.stringify(RATE), stamp, stamp),
    env.DB.prepare(
      `insert into payouts (id, program_id, partner_id, amount_cents, currency, status, period_end, due_at,
         commission_count, recipient_sealed, created_at, updated_at) values (?, ?, ?, 1, 'USD', 'pending', ?, ?, 0, '', ?, ?)`,
    ).bind(`pay_${rest}`, program.id, partner, stamp, stamp, stamp, stamp),
  ]);
  return {
    partners: partner,
    codes: (
      await program.api<{ id: string }>("POST", `/api/v1/partners/${partner}/codes`, {
        code: "WALKED",
        provider: "provider_a",
      })
    ).body.id,
    "api-keys": await made("/api/v1/api-keys"),
    flows: await made("/api/v1/flows"),
    groups: await made("/api/v1/groups"),
    members: await made("/api/v1/members"),
    webhooks: await made("/api/v1/webhooks"),
    events: (await program.api<{ data: { id: string }[] }>("GET", "/api/v1/events")).body.data[0]!.id,
    applications: await makeApplication(program),
    claims: await makeClaim(program, partner, { order_id: "walked" }),
    payments: `pmt_${rest}`,
    commissions: `com_${rest}`,
    payouts: `pay_${rest}`,
  };
}

function addressOf(route: string, ids: Record<string, string>): string {
  // A provider does not belong to a program: an unknown one is not found for any key.
  const path = route.replace(":provider", "provider_x");
  const resource = path.split("/")[3] ?? "";
  if (!path.includes(":")) return path;
  const id = ids[resource];
  if (id === undefined) throw new Error(`makeOneOfEach makes none of ${resource}: let it`);
  return path.replace(/:[a-z_]+/g, id);
}

function refusal(reply: Reply<unknown>): [number, string] {
  const { error } = reply.body as ErrorBody;
  expect(error.request_id).toBe(reply.headers.get("X-Request-Id"));
  expect(reply.headers.get("Cache-Control")).toBe("no-store");
  return [reply.status, error.code];
}

describe("every route under /api/v1", () => {
  let ids: Record<string, string>;
  let owner: TestProgram;
  let stranger: TestProgram;

  beforeAll(async () => {
    owner = await makeProgram();
    stranger = await makeProgram();
    ids = await makeOneOfEach(owner);
  });

  it("is walked", () => {
    const paths = ROUTES.map(({ method, path }) => `${method} ${path}`);
    for (const resource of ["partners", "flows", "webhooks"]) {
      for (const route of [`POST #`, `GET #`, `GET #/:id`, `PATCH #/:id`, `DELETE #/:id`]) {
        expect(paths).toContain(route.replace("#", `/api/v1/${resource}`));
      }
    }
    expect(paths).toEqual(
      expect.arrayContaining([
        "GET /api/v1/events",
        "GET /api/v1/events/:id",
        "GET /api/v1/programs/me",
        "PATCH /api/v1/programs/me",
        "GET /api/v1/integrations/status",
      ]),
    );
  });

  it.each(ROUTES)(
    "$method $path: 401 without a key, with a wrong one and with an old one (ACCESS-1)",
    async (route) => {
      const { body: issued } = await callApi<{ program: { id: string }; api_key: string }>(
        "test-admin-token",
        "POST",
        "/admin/programs",
        { name: "Walked", owner_email: "walked@example.com" },
      );
      const old = issued.api_key;
      expect((await callApi(old, "GET", "/api/v1/programs/me")).status).toBe(200);
      await callApi("test-admin-token", "POST", `/admin/programs/${issued.program.id}/api-key`);
      const at = addressOf(route.path, ids);
      const headers = [
        {},
        { authorization: "" },
        { authorization: "Bearer" },
        { authorization: "Bearer  " },
        { authorization: "Bearer sk_wrong" },
        { authorization: `Bearer ${owner.api_key}x` },
        { authorization: `Bearer ${owner.program.api_key_hash}` },
        { authorization: owner.api_key },
        { authorization: `Basic ${btoa(`${owner.api_key}:`)}` },
        { authorization: `Bearer ${old}` },
      ];
      for (const header of headers) {
        const reply = await callApi(null, route.method, at, route.body, header);
        expect([header, ...refusal(reply)]).toEqual([header, 401, "unauthorized"]);
        expect(reply.headers.get("WWW-Authenticate")).toBe("Bearer");
      }
    },
  );

  it("is not found for another program's id, which stays as it was (HTTP-5)", async () => {
    const seen = async () =>
      JSON.stringify(await Promise.all(Object.entries(ids).map(([resource, id]) => own(resource, id))));
    // Keys and members have a list only.
    const own = async (resource: string, id: string) =>
      (await owner.api("GET", `/api/v1/${resource}${["api-keys", "members"].includes(resource) ? "" : `/${id}`}`)).body;
    const before = await seen();
    const named = ROUTES.filter(({ path }) => path.includes(":"));
    expect(named.length).toBeGreaterThanOrEqual(10);
    for (const route of named) {
      const headers = typeof route.body === "string" ? { "content-type": "text/csv" } : {};
      const reply = await stranger.api(route.method, addressOf(route.path, ids), route.body, headers);
      expect([route, ...refusal(reply)]).toEqual([route, 404, "not_found"]);
    }
    expect(await seen()).toBe(before);
  });

  it("shows a stranger nothing in lists, counts and settings", async () => {
    const other = await makeProgram();
    const lists = ROUTES.filter(({ method, path }) => method === "GET" && !path.includes(":"));
    const isFile = ({ path }: { path: string }) => path.endsWith(".csv");
    for (const { path } of [...lists.filter(isFile), ...lists.filter((one) => !isFile(one))]) {
      const { status, body } = await other.api("GET", path);
      expect([path, status]).toEqual([path, 200]);
      for (const id of [owner.id, ...Object.values(ids)]) expect(JSON.stringify(body)).not.toContain(id);
      if (typeof body !== "object") continue;
      // The summary has a row for each day, and all counts are 0.
      const counts = JSON.stringify(body).match(/:[1-9]\d*[,}]/g) ?? [];
      if (path === "/api/v1/clicks/summary") expect(counts).toEqual([]);
      // The exports that this has just made.
      else if (path === "/api/v1/events")
        expect(body).toMatchObject({ data: [{ type: "payout.exported" }, { type: "list.exported" }], total: 2 });
      // The stranger's own.
      else if (path === "/api/v1/groups") expect(body).toMatchObject({ data: [{ program_id: other.id }] });
      else if (path === "/api/v1/members") expect(body).toMatchObject({ data: [{ program_id: other.id }] });
      else if ("data" in body) expect(body["data"]).toEqual([]);
      if ("total" in body && path !== "/api/v1/events") expect(body["total"]).toBe(0);
    }
  });

  it("answers 405 with Allow to another method, and only to the bearer of a key (HTTP-24)", async () => {
    const methods = new Map<string, string[]>();
    for (const { method, path } of ROUTES) {
      // `simulate` and the like share their path with `:id`.
      const at = addressOf(path, ids);
      const same = ROUTES.filter((route) => new RegExp(`^${route.path.replace(/:[a-z_]+/g, "[^/]+")}$`).test(at));
      methods.set(at, [...new Set([method, ...same.map((route) => route.method)])]);
    }
    for (const [at, allowed] of methods) {
      for (const method of ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"]) {
        if (allowed.includes(method)) continue;
        const reply = await owner.api(method, at);
        expect([method, at, ...refusal(reply)]).toEqual([method, at, 405, "method_not_allowed"]);
        expect(reply.headers.get("Allow")?.split(", ").toSorted()).toEqual(allowed.toSorted());
        expect((await callApi(null, method, at)).status).toBe(401);
      }
    }
  });
});
