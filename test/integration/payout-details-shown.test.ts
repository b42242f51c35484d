/** What a key without `payouts` is shown of where partners are paid: in part, by every route of the API (ACCESS-12). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/http/routes.ts";
import { newKey } from "../support/keys.ts";
import { makeStocked, pageAddress, type Stocked } from "../support/stocked.ts";

const WALLET = "where-it-goes@wallet.example";
const ACCOUNT = "acct_1WhereItGoes";

/** Routes that a key with these scopes may call; what ends an object comes last. */
function routesOf(...scopes: string[]): [method: string, path: string][] {
  const order = ["GET", "POST", "PATCH", "DELETE"];
  return ROUTES.filter(({ scope }) => scope?.every((one) => scopes.includes(one)))
    .map(({ method, path }): [string, string] => [method, path])
    .toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
}

let stocked: Stocked;

beforeAll(async () => {
  stocked = await makeStocked();
  const { program, partner, ids } = stocked;
  await env.DB.prepare("update partners set provider_a_account_id = ? where id = ?").bind(ACCOUNT, partner.id).run();
  await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_method: "wallet", payout_email: WALLET });
  const earned = { partner_id: partner.id, amount_cents: 100, note: "thanks" };
  const made = await program.api<{ id: string }>("POST", "/api/v1/commissions", earned);
  await program.api("PATCH", `/api/v1/commissions/${made.body.id}`, { status: "approved" });
  await program.api("POST", "/api/v1/payouts/generate", {});
  const at = `/api/v1/webhooks/${ids["webhooks"]}/deliveries`;
  const { body } = await program.api<{ data: { id: string; event: string }[] }>("GET", at);
  ids["deliveries"] = body.data.find(({ event }) => event === "partner.updated")!.id;
  // A receiver may answer with what it was sent.
  await env.DB.prepare(
    `insert into delivery_attempts (delivery_id, number, started_at, duration_ms, status_code, response_excerpt)
      values (?, 1, ?, 5, 500, ?)`,
  )
    .bind(ids["deliveries"], new Date().toISOString(), `cannot read {"payout_email":"${WALLET}"}`)
    .run();
});

async function shownBy(scopes: ("read" | "write" | "payouts")[], methods: string[]): Promise<string[]> {
  const key = await newKey(stocked.program, scopes);
  const shown = [];
  for (const [method, path] of routesOf(...scopes).filter(([one]) => methods.includes(one))) {
    const body = method === "POST" || method === "PATCH" ? {} : undefined;
    const reply = await key.api(method, pageAddress(path, { ...stocked.ids, integrations: "provider_a" }), body);
    const text = JSON.stringify(reply.body);
    if (text.includes(WALLET) || text.includes(ACCOUNT)) shown.push(`${method} ${path}`);
  }
  return shown;
}

describe("payout details in full (ACCESS-12)", () => {
  it("are shown to a key with `payouts`, where it reads a partner and what was sent of one", async () => {
    expect(await shownBy(["read", "payouts"], ["GET"])).toEqual([
      "GET /api/v1/partners",
      "GET /api/v1/partners/:id",
      "GET /api/v1/webhooks/:id",
      "GET /api/v1/webhooks/:id/deliveries",
      "GET /api/v1/payouts/export.csv",
    ]);
  });

  it("are shown by no route to a key without it", async () => {
    expect(await shownBy(["read"], ["GET"])).toEqual([]);
    expect(await shownBy(["read", "write"], ["GET", "POST", "PATCH", "DELETE"])).toEqual([]);
  });
});
