/**
 * A key and the absence of webhook subscriptions are cached for some seconds, so that a change costs one round trip with few
 * statements. The change itself refuses outdated cached data (ACCESS-1, HOOK-6).
 */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import { newKey } from "../support/keys.ts";
import { makeProgram, type TestProgram } from "../support/program.ts";
import { limitOf, playLimiter, type PlayedLimiter } from "../support/rate-limits.ts";
import { holdClock } from "../support/time.ts";
import { callWith, SILENT_QUEUE, watchDatabase } from "../support/watched-database.ts";

let failures: PlayedLimiter;
/** Runs once, before the next transaction that stores a partner. */
let beforeStoring: (() => Promise<unknown>) | null;
let world: ReturnType<typeof watchDatabase>;
let made = 0;
beforeEach(() => {
  holdClock();
  failures = playLimiter(limitOf("RATE_LIMIT_FAILED_AUTH"));
  beforeStoring = null;
  world = watchDatabase(env.DB, {
    before: async (statements) => {
      if (!statements.some((text) => text.startsWith('insert into "partners"'))) return;
      const first = beforeStoring;
      beforeStoring = null;
      await first?.();
    },
  });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Registers a partner. Returns the reply with its round trips and statements. */
async function create(program: Pick<TestProgram, "api_key">, fields: object = {}) {
  const before = world.roundTrips.length;
  made += 1;
  const { status, body } = await callWith<{ id?: string; error?: { code: string } }>(
    { DB: world.binding, RATE_LIMIT_FAILED_AUTH: failures, DELIVERIES: SILENT_QUEUE },
    "/api/v1/partners",
    {
      method: "POST",
      headers: {
        "cf-connecting-ip": "192.0.2.8",
        authorization: `Bearer ${program.api_key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ email: `known${made}@partners.example`, slug: `known${made}`, ...fields }),
    },
  );
  const sent = world.roundTrips.slice(before);
  return { status, said: body.error?.code ?? "made", trips: sent.length, statements: sent.flat().length, id: body.id };
}

/** A program without webhook subscriptions whose key this isolate has just read. */
async function knownProgram(): Promise<TestProgram> {
  const program = await makeProgram({ api_key_last_used_at: iso(Date.now()) });
  expect(await create(program)).toMatchObject({ status: 201, trips: 2 });
  return program;
}

const count = async (table: string, program: TestProgram) =>
  env.DB.prepare(`select count(*) as n from ${table} where program_id = ?`).bind(program.id).first<number>("n");

describe("a change by a key that was just used", () => {
  it("is one round trip of six statements, with its event, its counts and its slug", async () => {
    const program = await knownProgram();
    const second = await create(program);
    expect(second).toMatchObject({ status: 201, trips: 1, statements: 6 });
    const events = "select count(*) as n from events where program_id = ? and type = 'partner.created'";
    expect(await env.DB.prepare(events).bind(program.id).first("n")).toBe(2);
    const hours = "select sum(count) as n from event_hours where program_id = ? and type = 'partner.created'";
    expect(await env.DB.prepare(hours).bind(program.id).first("n")).toBe(2);
    expect([await count("partners", program), await count("partner_slugs", program)]).toEqual([2, 2]);
  });

  it("is refused where the key is replaced meanwhile, whatever else is wrong with it, and counts as a wrong key", async () => {
    const program = await knownProgram();
    const before = await count("partners", program);
    beforeStoring = async () =>
      env.DB.prepare("update programs set api_key_hash = 'another ' || id where id = ?").bind(program.id).run();
    expect(await create(program)).toMatchObject({ status: 401, said: "unauthorized" });
    expect(await create(program, { slug: `known${made - 1}` })).toMatchObject({
      status: 401,
      trips: expect.any(Number),
    });
    expect(await count("partners", program)).toBe(before);
    expect([...failures.used.values()]).toEqual([2]);
  });

  it("is made with what the program is by then", async () => {
    const program = await knownProgram();
    beforeStoring = async () =>
      env.DB.prepare("update programs set name = 'Renamed', updated_at = ? where id = ?")
        .bind(iso(Date.now() + 5), program.id)
        .run();
    expect(await create(program)).toMatchObject({ status: 201, trips: 4 });
    expect(await create(program)).toMatchObject({ status: 201, trips: 1 });
    expect(await count("partners", program)).toBe(3);
  });

  it("says that a slug is taken only to who has the key", async () => {
    const program = await knownProgram();
    expect(await create(program, { slug: `known${made}` })).toMatchObject({ status: 409, said: "already_exists" });
    expect(await count("partners", program)).toBe(1);
  });

  it.each([
    ["active", 1, 0],
    ["switched off", 0, 1],
  ])("reaches an endpoint that was made a moment ago, %s", async (_, active, missed) => {
    const program = await knownProgram();
    const endpoint = newId("endpoint", Date.now());
    const subscribe = async (events: string) =>
      env.DB.prepare(
        `insert into webhook_endpoints (id, program_id, url, secret, events, active, created_at, updated_at)
        values (?, ?, 'https://receiver.example.com/hook', 'sealed', ?, ?, '', '')
        on conflict (id) do update set events = excluded.events`,
      )
        .bind(endpoint, program.id, events, active)
        .run();
    await subscribe('["payout.paid"]');
    expect(await create(program)).toMatchObject({ status: 201, trips: 1 });
    expect([await count("messages", program), await count("deliveries", program)]).toEqual([0, 0]);
    beforeStoring = async () => subscribe('["partner.created"]');
    const heard = await create(program);
    expect(heard).toMatchObject({ status: 201 });
    expect(heard.trips).toBeLessThanOrEqual(3);
    expect([await count("messages", program), await count("deliveries", program)]).toEqual([1, active]);
    const misses = "select count(*) as n from missed_deliveries where endpoint_id = ?";
    expect(await env.DB.prepare(misses).bind(endpoint).first("n")).toBe(missed);
  });
});

describe("a change by a further key that was just used (ACCESS-10)", () => {
  async function knownKey() {
    const program = await makeProgram();
    const made = await newKey(program, ["write"]);
    await env.DB.prepare("update api_keys set last_used_at = ? where id = ?").bind(iso(Date.now()), made.id).run();
    expect(await create(made)).toMatchObject({ status: 201, trips: 2 });
    return { program, key: made };
  }

  it("is one round trip of as many statements as one by the first key, and the key's own", async () => {
    const { program, key } = await knownKey();
    expect(await create(key)).toMatchObject({ status: 201, trips: 1, statements: 6 });
    const events = "select distinct actor ->> 'id' as id from events where program_id = ? and type = 'partner.created'";
    expect((await env.DB.prepare(events).bind(program.id).all()).results).toEqual([{ id: key.id }]);
  });

  it.each([
    ["deleted", "delete from api_keys where id = ?"],
    ["over", "update api_keys set expires_at = '2020-01-01T00:00:00.000Z' where id = ?"],
  ])("is refused where the key is %s meanwhile, and counts as a wrong key", async (_, change) => {
    const { program, key } = await knownKey();
    beforeStoring = async () => env.DB.prepare(change).bind(key.id).run();
    expect(await create(key)).toMatchObject({ status: 401, said: "unauthorized" });
    expect(await create(key, { slug: `known${made - 1}` })).toMatchObject({ status: 401 });
    // An ended key gets 401 before its scope is checked.
    expect(await create(key, { payout_email: "w@example.com" })).toMatchObject({ status: 401 });
    expect(await count("partners", program)).toBe(1);
    expect([...failures.used.values()]).toEqual([3]);
  });

  it("lacks what it lacked when it was read: payout details among the fields are 403", async () => {
    const { program, key } = await knownKey();
    expect(await create(key, { payout_email: "w@example.com" })).toMatchObject({ status: 403, said: "forbidden" });
    expect(await count("partners", program)).toBe(1);
  });
});
