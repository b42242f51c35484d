/** Every event has `actor: {type, id, name}` and, for changes, `changes: {field: [old, new]}` (EVT-1, EVT-2). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ACTOR_TYPES, type Changes, type Actor } from "../../src/domain/actor.ts";
import { isChange, OUTBOUND_EVENT_TYPES, type AuditEventType } from "../../src/domain/event.ts";
import { AUDIT_EVENT_TYPES } from "../../src/providers/registry.ts";
import { liveThroughAll, send } from "../support/every-event.ts";
import type { TestProgram } from "../support/program.ts";
import { textOf } from "../support/visitor.ts";

interface Reported {
  id: string;
  type: AuditEventType;
  payload: Record<string, unknown>;
  actor: Actor | null;
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

describe("the audit trail", () => {
  let world: Awaited<ReturnType<typeof liveThroughAll>>;
  let events: Reported[];
  beforeAll(async () => {
    world = await liveThroughAll();
    events = await eventsOf(world.program);
  });

  it("an event of every type has its actor, and its changes where it is a change (EVT-1, EVT-5)", () => {
    expect([...new Set(events.map(({ type }) => type))].toSorted()).toEqual([...AUDIT_EVENT_TYPES].toSorted());
    for (const { type, actor, changes, id } of events) {
      expect([id, type, actor?.type]).toEqual([id, type, expect.toBeOneOf([...ACTOR_TYPES])]);
      if (isChange(type)) expect([type, Object.keys(changes ?? {}).length > 0]).toEqual([type, true]);
      else expect([type, changes]).toEqual([type, null]);
      for (const [field, change] of Object.entries(changes ?? {}))
        expect([field, change]).toEqual([field, [change[0], change[1]]]);
    }
  });

  it("every type of the catalogue is emitted by what is said to make it, and every outbound type is sent (EVT-5, HOOK-1)", async () => {
    expect(world.unmade).toEqual([]);
    const { results } = await env.DB.prepare("select distinct event from messages where program_id = ? order by event")
      .bind(world.program.id)
      .all<{ event: string }>();
    expect(results.map(({ event }) => event)).toEqual(OUTBOUND_EVENT_TYPES.toSorted());
  });

  it("names the API key, the member, the partner, the vendor's event, the operator and the job (EVT-2)", async () => {
    const { program, before, partner, sales } = world;
    const of = (type: AuditEventType, which: (event: Reported) => boolean = () => true) =>
      events.find((event) => event.type === type && which(event))?.actor;
    const key = { type: "api_key", id: `key_${before.api_key_hash.slice(0, 16)}`, name: before.api_key_last4 };
    expect(of("partner.created")).toEqual(key);
    expect(of("payout.generated")).toEqual(key);
    expect(of("webhook.provider_b")).toEqual({ type: "provider", id: sales.provider_b, name: "provider_b" });
    expect(of("webhook.refused")).toEqual({ type: "provider", id: null, name: "provider_a" });
    expect(of("commission.created", ({ payload }) => payload["provider"] === "provider_a")).toEqual({
      type: "provider",
      id: sales.provider_a,
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
    const payouts_held_until = expect.any(Array) as unknown;
    expect(of("partner.updated")).toEqual(
      expect.arrayContaining([
        { first_name: [null, "Wanda"], payout_email: ["w****a@example.com", "w****r@example.com"], payouts_held_until },
        {
          payout_method: [null, "wallet"],
          payout_email: ["w****r@example.com", "z****@example.com"],
          payouts_held_until,
        },
      ]),
    );
    expect(of("program.updated").at(-1)).toEqual({
      min_payout_cents: [0, 7],
      provider_a_api_key: [null, "(secret)"],
    });
    expect(of("flow.updated")).toEqual([{ action_value: [1_000, 2_000] }]);
    expect(of("webhook_endpoint.updated")).toEqual([
      { description: [null, "new"] },
      { secret: ["(secret)", "(secret) (a different one)"] },
    ]);
    expect(of("payout.paid")).toEqual([{ status: ["pending", "paid"], reference: [null, "bank 1"] }]);
    expect(of("payout.updated")).toEqual([{ status: ["pending", "canceled"] }]);
    // The database reports bulk changes, the code reports single ones.
    expect(of("commission.updated")).toEqual(
      expect.arrayContaining([{ status: ["pending", "approved"] }, { status: ["approved", "paid"] }]),
    );
    expect(of("partner.deleted")[0]).toEqual({ status: ["active", "deactivated"] });
    const { api_key_last4 } = world.before;
    expect(of("api_key.regenerated")).toEqual([{ api_key_last4: [api_key_last4, expect.stringMatching(/^.{4}$/)] }]);
    const rows = await env.DB.prepare("select changes from events where program_id = ?").bind(world.program.id).raw();
    expect(JSON.stringify(rows)).not.toMatch(/walter@|wanda@|zoe@|rk_test_1/);
  });

  it("holds no secret and no customer's address, in what is sent neither: an erasure does not look there (JOB-1)", async () => {
    const { id } = world.program;
    const [written, sent] = await env.DB.batch([
      env.DB.prepare("select type, payload, actor, changes from events where program_id = ?").bind(id),
      env.DB.prepare("select event, body from messages where program_id = ?").bind(id),
    ]);
    const rows = [...(written?.results ?? []), ...(sent?.results ?? [])].map((row) => JSON.stringify(row));
    expect(rows.length).toBeGreaterThan(AUDIT_EVENT_TYPES.length);
    expect(rows.filter((row) => /customer@shop\.example|whsec_|rk_test_1|\bsk_/.test(row))).toEqual([]);
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

  it("says in words what an event of each type is, on the page too", async () => {
    for (const type of AUDIT_EVENT_TYPES) {
      await world.owner.get(`/dashboard/events?type=${type}`);
      const lines = [...world.owner.html.matchAll(/<summary><bdi>([^<]+)<\/bdi>/g)].map(([, line]) => line);
      expect([type, lines.length > 0, lines.includes(type)]).toEqual([type, true, false]);
    }
  });

  it("a click's row holds neither: it costs nothing more (EVT-2)", async () => {
    const rows = await env.DB.prepare("select actor, changes from events where program_id = ? and type = 'click'")
      .bind(world.program.id)
      .all();
    expect(rows.results).toEqual([{ actor: null, changes: null }]);
  });
});
