/** Every event has `actor: {type, id, name}` and, for changes, `changes: {field: [old, new]}` (EVT-1, EVT-2). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ACTOR_TYPES, type Changes, type ShownActor } from "../../src/domain/actor.ts";
import { AUDIT_EVENT_TYPES, isChange, type AuditEventType } from "../../src/domain/event.ts";
import { createOwnerLink } from "../../src/core/sign-in.ts";
import { baseContext } from "../../src/http/context.ts";
import { runCron } from "../../src/jobs.ts";
import { click, flush } from "../support/clicks.ts";
import { create, ENDPOINT } from "../support/conformance.ts";
import { sendImport } from "../support/imports.ts";
import { sendA, sendB } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { callApi, makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { followLink, makeVisitor, signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

interface Reported {
  id: string;
  type: AuditEventType;
  payload: Record<string, unknown>;
  actor: ShownActor | null;
  changes: Changes | null;
}

interface EventPage {
  data: Reported[];
  next_cursor: string | null;
}

async function eventsOf(program: Pick<TestProgram, "api">, query = ""): Promise<Reported[]> {
  const reported: Reported[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const at: string = `/api/v1/events?per_page=100${query}${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const { body }: { body: EventPage } = await program.api<EventPage>("GET", at);
    reported.push(...body.data);
    cursor = body.next_cursor;
  }
  return reported.toReversed();
}

async function last(program: Pick<TestProgram, "api">, type: AuditEventType): Promise<Reported> {
  const event = (await eventsOf(program, `&type=${type}`)).at(-1);
  if (!event) throw new Error(`no event ${type}`);
  return event;
}

/** The cron's jobs over the one database of the tests. */
async function fire(cron: string): Promise<void> {
  const ctx = baseContext(env, Date.now(), () => {});
  const outbound = { db: ctx.db, now: Date.now, wake: async () => {} };
  await runCron(cron, [{ env, ctx, outbound }]);
}

/** A form of a page, as a person sends it. */
async function send(visitor: Visitor, page: string, fields: Record<string, string>, action = ""): Promise<void> {
  await visitor.get(page);
  const reply = await visitor.post(`${page}${action}`, fields);
  if (reply.status !== 303) throw new Error(`${page}: ${reply.status} ${textOf(reply.body)}`);
}

/** One program to which everything happens, through every way into the service. */
async function liveThroughAll() {
  const program = await makeProgram({ auto_approve_days: 0 });
  const patch = (path: string, body: unknown) => program.api("PATCH", `/api/v1${path}`, body);
  const partner = await makePartner(program, { payout_email: "wanda@example.com" });
  await patch(`/partners/${partner.id}`, { payout_email: "walter@example.com", first_name: "Wanda" });
  const gone = await makePartner(program);
  await program.api("DELETE", `/api/v1/partners/${gone.id}`);

  const flow = await create(program, "/api/v1/flows", { name: "x", action_type: "flat", action_value: 1_000 });
  await patch(`/flows/${flow["id"]}`, { action_value: 2_000 });
  await program.api("DELETE", `/api/v1/flows/${flow["id"]}`);
  const endpoint = await create(program, "/api/v1/webhooks", ENDPOINT);
  await patch(`/webhooks/${endpoint["id"]}`, { description: "new" });
  await program.api("POST", `/api/v1/webhooks/${endpoint["id"]}/rotate-secret`);
  await program.api("DELETE", `/api/v1/webhooks/${endpoint["id"]}`);

  const [sale, session] = [
    transactionCompleted({ ref: partner.slug, program: program.id }),
    sessionCompleted({ ref: partner.slug }),
  ];
  await sendB(program, sale);
  await sendA(program, session);
  await callWith({}, `/webhooks/provider_a?program_id=${program.id}`, { method: "POST", body: "{}" });
  await fire("17 3 * * *");
  await sendImport(program, { kind: "customers" }, `customer_id,partner_code\ncus_1,${partner.slug}\n`);
  await click({ program_id: program.id, ref: partner.slug, landing: "/", referrer: "" });
  await flush();

  await program.api("POST", "/api/v1/payouts/generate", {});
  const { data } = (await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts")).body;
  await program.api("GET", "/api/v1/payouts/export.csv?status=pending");
  await program.api("POST", `/api/v1/payouts/${data[0]!.id}/mark-paid`, { reference: "bank 1" });
  await makeCommissions(program, partner.id, [{}]);
  await program.api("POST", "/api/v1/payouts/generate", {});
  const [pending] = (await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts?status=pending")).body.data;
  await program.api("POST", `/api/v1/payouts/${pending!.id}/cancel`);

  await patch("/programs/me", { min_payout_cents: 7, provider_a_api_key: "rk_test_1" });
  const portal = await signInPartner(partner.email);
  await send(portal, "/portal/details", { payout_method: "wallet", payout_email: "zoe@example.com" });

  await (await signInOwner(program)).post("/sign-out");
  await send(await signInOwner(program), "/dashboard/settings/sessions", {}, "/end-all");
  const { token } = await createOwnerLink(testContext(), program.program.owner_email);
  for (let use = 0; use < 2; use++) await followLink(makeVisitor(), token);

  await env.DB.prepare("update balances set amount_cents = amount_cents + 1 where partner_id = ?")
    .bind(partner.id)
    .run();
  for (const repair of [undefined, "balances"]) {
    await callApi("test-admin-token", "POST", "/admin/reconcile", { program_id: program.id, repair });
  }

  const issued = await callApi<{ api_key: string }>(
    "test-admin-token",
    "POST",
    `/admin/programs/${program.id}/api-key`,
  );
  const { api_key } = issued.body;
  const after: TestProgram = { ...program, api: (...args) => callApi(api_key, ...args) };
  return { program: after, before: program.program, partner, sale, session, owner: await signInOwner(after) };
}

describe("the audit trail", () => {
  let world: Awaited<ReturnType<typeof liveThroughAll>>;
  let events: Reported[];
  beforeAll(async () => {
    world = await liveThroughAll();
    events = await eventsOf(world.program);
  }, 120_000);

  it("S3: an event of every type has its actor, and its changes where it is a change (EVT-1, EVT-5)", () => {
    expect([...new Set(events.map(({ type }) => type))].toSorted()).toEqual([...AUDIT_EVENT_TYPES].toSorted());
    for (const { type, actor, changes, id } of events) {
      expect([id, type, actor?.type]).toEqual([id, type, expect.toBeOneOf([...ACTOR_TYPES, "visitor"])]);
      if (isChange(type)) expect([type, Object.keys(changes ?? {}).length > 0]).toEqual([type, true]);
      else expect([type, changes]).toEqual([type, null]);
      for (const [field, change] of Object.entries(changes ?? {}))
        expect([field, change]).toEqual([field, [change[0], change[1]]]);
    }
  });

  it("names the API key, the member, the partner, the vendor's event, the operator and the job (EVT-2)", async () => {
    const { program, before, partner, sale, session } = world;
    const of = (type: AuditEventType, which: (event: Reported) => boolean = () => true) =>
      events.find((event) => event.type === type && which(event))?.actor;
    const key = { type: "api_key", id: `key_${before.api_key_hash.slice(0, 16)}`, name: before.api_key_last4 };
    expect(of("partner.created")).toEqual(key);
    expect(of("payout.generated")).toEqual(key);
    expect(of("webhook.provider_b")).toEqual({ type: "provider", id: sale.event_id, name: "provider_b" });
    expect(of("webhook.refused")).toEqual({ type: "provider", id: null, name: "provider_a" });
    expect(of("commission.created", ({ payload }) => payload["provider"] === "provider_a")).toEqual({
      type: "provider",
      id: session.id,
      name: "provider_a",
    });
    expect(of("commission.updated")).toEqual({ type: "cron", id: null, name: "approve due commissions" });
    expect(of("partner.signed_in")).toEqual({ type: "partner", id: partner.id, name: "Wanda" });
    const member = { type: "member", id: before.owner_email, name: before.owner_email };
    for (const type of ["member.signed_in", "session.ended", "session.all_ended", "sign_in.failed"] as const) {
      expect([type, of(type)]).toEqual([type, member]);
    }
    expect((await last(program, "partner.updated")).actor).toEqual({ type: "partner", id: partner.id, name: "Wanda" });
    for (const type of ["api_key.regenerated", "reconciliation.failed", "reconciliation.repaired"] as const) {
      expect([type, of(type)]).toEqual([type, { type: "operator", id: null, name: "operator" }]);
    }
    expect(of("click")).toEqual({ type: "visitor", id: null, name: null });
    const { owner } = world;
    await send(owner, `/dashboard/partners/${partner.id}/deactivate`, {});
    expect((await last(program, "partner.deleted")).actor).toEqual(member);
  });

  it("says what changed, with secrets and payout details masked (EVT-2)", async () => {
    const of = (type: AuditEventType) => events.filter((event) => event.type === type).map(({ changes }) => changes);
    expect(of("partner.updated")).toEqual(
      expect.arrayContaining([
        { first_name: [null, "Wanda"], payout_email: ["w****@example.com", "w****@example.com"] },
        { payout_method: [null, "wallet"], payout_email: ["w****@example.com", "z****@example.com"] },
      ]),
    );
    expect(of("program.updated").at(-1)).toEqual({
      min_payout_cents: [0, 7],
      provider_a_api_key: [null, "(secret)"],
    });
    expect(of("flow.updated")).toEqual([{ action_value: [1_000, 2_000] }]);
    expect(of("webhook_endpoint.updated")).toEqual([
      { description: [null, "new"] },
      { secret: ["(secret)", "(secret)"] },
    ]);
    expect(of("payout.paid")).toEqual([{ status: ["pending", "paid"], reference: [null, "bank 1"] }]);
    expect(of("payout.updated")).toEqual([{ status: ["pending", "canceled"] }]);
    // Reported by the database for many rows at once, and by the code for one.
    expect(of("commission.updated")).toEqual(
      expect.arrayContaining([{ status: ["pending", "approved"] }, { status: ["approved", "paid"] }]),
    );
    expect(of("partner.deleted")[0]).toEqual({ status: ["active", "deactivated"] });
    const { api_key_last4 } = world.before;
    expect(of("api_key.regenerated")).toEqual([{ api_key_last4: [api_key_last4, expect.stringMatching(/^.{4}$/)] }]);
    const rows = await env.DB.prepare("select changes from events where program_id = ?").bind(world.program.id).raw();
    expect(JSON.stringify(rows)).not.toMatch(/walter@|wanda@|zoe@|rk_test_1/);
  });

  it("shows both in one event, in the list and on the page; what was written before actors has none", async () => {
    const { program, owner } = world;
    const { id, actor, changes } = await last(program, "flow.updated");
    const { body: one } = await program.api<Reported>("GET", `/api/v1/events/${id}`);
    expect([one.actor, one.changes]).toEqual([actor, changes]);
    await owner.get("/dashboard/events?type=flow.updated");
    const shown = textOf(owner.html);
    expect(shown).toContain(`API key …${world.before.api_key_last4}`);
    expect(shown).toContain("action_value : 1000 → 2000");
    await env.DB.prepare("update events set actor = null, changes = null where program_id = ? and id = ?")
      .bind(program.id, id)
      .run();
    const { body: old } = await program.api<Reported>("GET", `/api/v1/events/${id}`);
    expect([old.actor, old.changes]).toEqual([null, null]);
    await owner.get("/dashboard/events?type=flow.updated");
    expect(textOf(owner.html)).toContain("not recorded");
  });

  it("a click's row holds neither: it costs nothing more", async () => {
    const rows = await env.DB.prepare("select actor, changes from events where program_id = ? and type = 'click'")
      .bind(world.program.id)
      .all();
    expect(rows.results).toEqual([{ actor: null, changes: null }]);
  });
});
