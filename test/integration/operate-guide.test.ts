/** The database statements of the operating guide have the documented effect. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import guide from "../../src/docs/operate.md?raw";
import { openPortalLink } from "../../src/core/sessions/portal-links.ts";
import { readSession } from "../../src/core/sessions/sessions.ts";
import { confirmLink, createLinkByHand, readLink } from "../../src/core/sessions/sign-in.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";

/** An export cannot contain a longer row. */
const LONGEST = 100_000;

/** The guide's statements with this verb, in order, each once. */
function statements(verb: "delete from" | "update"): string[] {
  const found = guide.match(/\b(?:delete from|update) [a-z_]+[^;`"|\n]*/g) ?? [];
  return [...new Set(found.filter((one) => one.startsWith(verb)))];
}

async function execute(all: readonly string[]): Promise<void> {
  expect(all.length).toBeGreaterThan(0);
  for (const statement of all) await env.DB.prepare(statement).run();
}

it("those that end sessions end every one, however it was opened, and what would open another (PAGE-3, EMBED-2)", async () => {
  const ctx = testContext();
  const program = await makeProgram();
  const partner = await makePartner(program);
  const opened: string[] = [];
  for (const email of [program.program.owner_email, partner.email]) {
    const confirmed = await confirmLink(ctx, (await createLinkByHand(ctx, email)).token, null);
    if (confirmed.outcome === "signed_in") opened.push(confirmed.session.token);
  }
  const made = await program.api<{ url: string }>("POST", `/api/v1/partners/${partner.id}/portal-links`);
  const token = new URL(made.body.url).searchParams.get("token") ?? "";
  const framed = await openPortalLink(ctx, token, { framed: true, device: null });
  opened.push(framed!.token);
  const inForce = async () => Promise.all(opened.map(async (one) => (await readSession(ctx, one)) !== null));
  expect(await inForce()).toEqual([true, true, true]);
  const waiting = await createLinkByHand(ctx, partner.email);

  await execute(statements("delete from"));

  expect(await inForce()).toEqual([false, false, false]);
  expect(await readLink(ctx, waiting.token)).toBeNull();
});

it("those before an export leave no row that is too long to come back, and nothing is decided otherwise", async () => {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  await sendA(program, sessionCompleted({ ref: "jane", payment_intent: "pi_1" }));
  const [payment] = (await ledgerOf(program)).payments;
  const long = "長".repeat(LONGEST / 2);
  const flows = JSON.stringify([{ flow_id: "flw_1", name: long, matched: false, conditions: [] }]);
  const once = { "Idempotency-Key": "once" };
  const made = { email: "kept@partners.example", slug: "kept" };
  await program.api("POST", "/api/v1/partners", made, once);
  await env.DB.batch([
    env.DB.prepare("update payments set decision = json_set(decision, '$.flows', json(?)) where id = ?").bind(
      ...[flows, payment!.id],
    ),
    env.DB.prepare("update provider_events set body = ? where program_id = ?").bind(long, program.id),
    env.DB.prepare("update idempotency_keys set body = ? where program_id = ?").bind(long, program.id),
  ]);

  await execute(statements("update"));

  for (const table of ["payments", "provider_events", "idempotency_keys"]) {
    const { results } = await env.DB.prepare(`select * from ${table} where program_id = ?`).bind(program.id).all();
    expect(results).toHaveLength(1);
    expect([table, new TextEncoder().encode(JSON.stringify(results[0])).length < LONGEST]).toEqual([table, true]);
  }
  const shown = await program.api<{ trace: { flows: object[] } }>("GET", `/api/v1/payments/${payment!.id}`);
  expect(shown).toMatchObject({ status: 200, body: { outcome: "commission", trace: { flows: [] } } });
  const refund = chargeRefunded({ payment_intent: "pi_1", refunded: 1_000 });
  expect(await sendA(program, refund)).toMatchObject({ status: 200, body: { outcome: "adjusted" } });
  expect((await program.api("POST", "/api/v1/partners", made, once)).status).toBe(409);
});

it("that before a restore lists who and what was changed since: what the restore takes back (TEAM-3, ACCESS-10, PASS-1)", async () => {
  const [select = ""] = guide.match(/\bselect created_at[^"]+/) ?? [];
  const program = await makeProgram();
  const api = async (method: string, path: string, body?: unknown) =>
    (await program.api<{ id: string }>(method, `/api/v1/${path}`, body)).body.id;
  const member = await api("POST", "members", { email: "gone@shop.example", role: "owner" });
  const key = await api("POST", "api-keys", { name: "old", scopes: ["read"] });
  const endpoint = await api("POST", "webhooks", { url: "https://receiver.example.com/", events: ["*"] });
  const partner = (await makePartner(program)).id;
  await api("PATCH", `partners/${partner}`, { email: "other@partners.example" });
  await api("PATCH", "programs/me", { provider_a_webhook_secret: "whsec_new" });
  for (const path of [`members/${member}`, `api-keys/${key}`, `webhooks/${endpoint}`]) await api("DELETE", path);

  const { results } = await env.DB.prepare(select.replace("'2026-11-20T14:00:00.000Z'", "''")).all<{
    program_id: string;
    type: string;
  }>();
  const types = new Set(results.filter((row) => row.program_id === program.id).map(({ type }) => type));
  for (const type of ["member.added", "member.removed", "api_key.deleted", "webhook_endpoint.deleted"]) {
    expect(types).toContain(type);
  }
  expect([...types]).toEqual(expect.arrayContaining(["partner.updated", "program.updated"]));
});
