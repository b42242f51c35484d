/**
 * Payout destinations are hidden or masked for a viewer, and for a key without `payouts`, on every page and in every
 * reply (TEAM-1, ACCESS-12).
 */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { maskAccount, maskAddress } from "../../src/domain/mask.ts";
import { ROUTES } from "../../src/http/routes.ts";
import { newId } from "../../src/lib/id.ts";
import { newKey } from "../support/keys.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { makeUncountedVisitor, signInMember, type Visitor } from "../support/visitor.ts";

const WALLET = "where-it-goes@wallet.example";
const ACCOUNT = "acct_1WhereItGoesTo9";
const IN_FULL = [WALLET, ACCOUNT];
const IN_PART = [maskAddress(WALLET), maskAccount(ACCOUNT), "wallet.example"];

let stocked: Stocked;
/** Further payouts, each with its own kind of details. */
const payouts: string[] = [];

async function run(statement: string, ...values: unknown[]): Promise<void> {
  await env.DB.prepare(statement)
    .bind(...values)
    .run();
}

beforeAll(async () => {
  stocked = await makeStocked();
  const { program, partner, ids } = stocked;
  await run("update partners set provider_a_account_id = ? where id = ?", ACCOUNT, partner.id);
  await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_method: "wallet", payout_email: WALLET });
  await program.api("POST", `/api/v1/partners/${partner.id}/release-hold`);
  const failed = `No such destination: ${ACCOUNT}`;
  for (const [method, recipient, status] of [
    ["wallet", maskAddress(WALLET), "pending"],
    ["provider_a", maskAccount(ACCOUNT), "failed"],
    ["provider_a", maskAccount(ACCOUNT), "processing"],
    ["wallet", maskAddress(WALLET), "paid"],
  ] as const) {
    const earned = { partner_id: partner.id, amount_cents: 100, note: "thanks" };
    const made = await program.api<{ id: string }>("POST", "/api/v1/commissions", earned);
    await program.api("PATCH", `/api/v1/commissions/${made.body.id}`, { status: "approved" });
    const { body } = await program.api<{ payouts: { id: string }[] }>("POST", "/api/v1/payouts/generate", {});
    const id = body.payouts[0]!.id;
    payouts.push(id);
    const failure = status === "failed" || status === "processing" ? ["account_invalid", failed] : [null, null];
    await run(
      "update payouts set method = ?, recipient = ?, status = ?, failure_code = ?, failure_message = ? where id = ?",
      ...[method, recipient, status, ...failure, id],
    );
  }
  const logged = (type: string, payload: unknown, changes: unknown = null) =>
    run(
      "insert into events (program_id, id, type, payload, created_at, actor, changes) values (?, ?, ?, ?, ?, null, ?)",
      ...[program.id, newId("event", Date.now()), type, JSON.stringify(payload), new Date().toISOString()],
      changes === null ? null : JSON.stringify(changes),
    );
  // Versions before reported accounts whole.
  const expected = { transfers: 1, account_id: ACCOUNT };
  await logged("reconciliation.failed", { check: "transfer", subject: payouts[0], expected, found: { transfers: 0 } });
  await logged(
    "payout.updated",
    { payout_id: payouts[1], partner_id: partner.id, amount_cents: 100 },
    { status: ["processing", "failed"], failure_message: [null, failed] },
  );
  await run(
    `insert into mails (id, program_id, kind, recipient, partner_id, status, attempt_count, error, created_at, completed_at)
      values (?1, ?2, 'payout_details', ?3, ?4, 'refused', 1, ?5, ?6, ?6)`,
    ...[newId("mail", Date.now() + 60_000), program.id, WALLET, partner.id],
    ...[`E_RECIPIENT_SUPPRESSED destination address ${WALLET} is suppressed`, new Date().toISOString()],
  );
  const at = `/api/v1/webhooks/${ids["webhooks"]}/deliveries`;
  const { body } = await program.api<{ data: { id: string; event: string }[] }>("GET", at);
  const delivery = body.data.find(({ event }) => event === "partner.updated")!.id;
  await run(
    `insert into delivery_attempts (delivery_id, number, started_at, duration_ms, status_code, response_excerpt)
      values (?, 1, ?, 5, 500, ?)`,
    ...[delivery, new Date().toISOString(), `cannot read {"payout_email":"${WALLET}"}`],
  );
  ids["deliveries"] = delivery;
});

function seenIn(text: string, needles: readonly string[]): string[] {
  return needles.filter((needle) => text.includes(needle));
}

/** The addresses of the pages, with those of each payout, and lists with all that they can show. */
function addresses(): string[] {
  const paths = pageRoutes("dashboard").filter(({ method }) => method === "GET");
  const each = paths.flatMap(({ path }) =>
    path.includes("payouts/:id")
      ? payouts.map((id) => pageAddress(path, { ...stocked.ids, payouts: id }))
      : [pageAddress(path, stocked.ids)],
  );
  const { slug, email } = stocked.partner;
  const searches = [slug, email, stocked.partner.id, ...payouts].map((q) => `/dashboard/search?search=${q}`);
  return [...each, ...searches, "/dashboard/events?per_page=100", "/dashboard/events/list.csv?per_page=100"];
}

async function walk(visitor: Visitor, needles: readonly string[]): Promise<string[]> {
  const shown = [];
  for (const address of addresses()) {
    const { body } = await visitor.get(address);
    if (seenIn(body, needles).length > 0) shown.push(address);
  }
  return shown;
}

describe("payout details on the pages of a viewer (TEAM-1)", () => {
  it("are on none, not in part either", async () => {
    const email = `${uniqueId("viewer")}@shop.example`.toLowerCase();
    await stocked.program.api("POST", "/api/v1/members", { email, role: "viewer" });
    const viewer = await signInMember(stocked.program, email, makeUncountedVisitor());
    expect(await walk(viewer, [...IN_FULL, ...IN_PART])).toEqual([]);
  });

  it("are where others of the team look", async () => {
    const email = `${uniqueId("finance")}@shop.example`.toLowerCase();
    await stocked.program.api("POST", "/api/v1/members", { email, role: "finance" });
    const finance = await signInMember(stocked.program, email, makeUncountedVisitor());
    const shown = await walk(finance, [...IN_FULL, ...IN_PART]);
    const places = ["partners/", "payouts/", "payouts", "events", "events/list.csv", "webhooks/", "settings/mails"];
    for (const place of places) expect(shown.some((address) => address.startsWith(`/dashboard/${place}`))).toBe(true);
  });
});

/** Routes that a key with these scopes may call; routes that delete an object come last. */
function routesOf(...scopes: string[]): [method: string, path: string][] {
  const order = ["GET", "POST", "PUT", "PATCH", "DELETE"];
  return ROUTES.filter(({ scope }) => scope?.every((one) => scopes.includes(one)))
    .map(({ method, path }): [string, string] => [method, path])
    .toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
}

async function shownBy(scopes: ("read" | "write" | "payouts")[], methods: string[]): Promise<string[]> {
  const key = await newKey(stocked.program, scopes);
  const shown = [];
  for (const [method, path] of routesOf(...scopes).filter(([one]) => methods.includes(one))) {
    const body = ["POST", "PUT", "PATCH"].includes(method) ? {} : undefined;
    const reply = await key.api(method, pageAddress(path, { ...stocked.ids, integrations: "provider_a" }), body);
    if (seenIn(JSON.stringify(reply.body), IN_FULL).length > 0) shown.push(`${method} ${path}`);
  }
  return shown;
}

describe("payout details in replies to a key without `payouts` (ACCESS-12)", () => {
  it("are never whole, also where an earlier version wrote them so", async () => {
    const { partner, ids } = stocked;
    const key = await newKey(stocked.program, ["read", "write"]);
    const shown = [];
    const lists = ["events?per_page=100", "events?type=reconciliation.failed", "payouts?per_page=100", "partners"];
    const ones = [...payouts.map((id) => `payouts/${id}`), `partners/${partner.id}`, `webhooks/${ids["webhooks"]}`];
    for (const path of [...lists, ...ones, `webhooks/${ids["webhooks"]}/deliveries`]) {
      const { status, body } = await key.api("GET", `/api/v1/${path}`);
      expect([path, status]).toEqual([path, 200]);
      if (seenIn(JSON.stringify(body), IN_FULL).length > 0) shown.push(path);
    }
    expect(shown).toEqual([]);
  });

  it("leave what is the owner's own as it was, however deep", async () => {
    const key = await newKey(stocked.program, ["read", "write"]);
    const deep = JSON.parse(`${"[".repeat(900)}${"]".repeat(900)}`) as unknown;
    const metadata = { recipient: "acct_1OfAnotherSystem", deep };
    await key.api("PATCH", `/api/v1/partners/${stocked.partner.id}`, { metadata });
    const { status, body } = await key.api<{ data: { changes: unknown }[] }>("GET", "/api/v1/events?per_page=1");
    expect([status, body.data[0]!.changes]).toEqual([200, { metadata: [expect.anything(), metadata] }]);
  });

  it("are shown to a key with `payouts`, where it reads a partner and what was sent of one", async () => {
    expect((await shownBy(["read", "payouts"], ["GET"])).toSorted()).toEqual([
      "GET /api/v1/partners",
      "GET /api/v1/partners/:id",
      "GET /api/v1/partners/:id/payout-details",
      "GET /api/v1/payouts",
      "GET /api/v1/payouts/export.csv",
      "GET /api/v1/payouts/exports/:id/file",
      "GET /api/v1/webhooks/:id",
      "GET /api/v1/webhooks/:id/deliveries",
    ]);
  });

  // Last, because it deletes objects of the other tests.
  it("are shown by no route to a key without it", async () => {
    expect(await shownBy(["read"], ["GET"])).toEqual([]);
    expect(await shownBy(["read", "write"], ["GET", "POST", "PUT", "PATCH", "DELETE"])).toEqual([]);
  });
});
