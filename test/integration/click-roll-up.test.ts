/** Clicks that flushes do not count: every total is exact before, during and after the roll-up that counts them. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf } from "../../src/clicks/batch.ts";
import { archiveNotedDays, noteArchivableDays } from "../../src/core/clicks/archive.ts";
import { flushClicks, registerClickObject } from "../../src/core/clicks/clicks.ts";
import { MAX_GAP, rollUpClicks } from "../../src/core/clicks/roll-up.ts";
import { summarizeClicks } from "../../src/core/clicks/summary.ts";
import { listEvents } from "../../src/core/events/events.ts";
import { recountEvents } from "../../src/core/operations/recount-events.ts";
import { readOverview, readPartnerOverview } from "../../src/core/overview/overview.ts";
import { lastDays } from "../../src/core/partners/code-stats.ts";
import { getPartner } from "../../src/core/partners/partners.ts";
import { sql } from "drizzle-orm";
import { openDatabase } from "../../src/db/client.ts";
import type { Arrival } from "../../src/domain/click.ts";
import { newId } from "../../src/lib/id.ts";
import { DAY, HOUR, iso, MINUTE, SECOND } from "../../src/lib/time.ts";
import { faultyDatabase, type Fault } from "../support/clicks.ts";
import { serveAll } from "../support/jobs.ts";
import { makePartner, makeProgram, programContext, testContext, type TestProgram } from "../support/program.ts";
import { all } from "../support/rows.ts";

const START = Date.parse("2026-03-01T23:30:00.000Z");

let program: TestProgram;
let jane: { id: string };
let joe: { id: string };
let cursors: Map<string, number>;

beforeEach(async () => {
  vi.spyOn(console, "error").mockReturnValue();
  await begin();
});

async function begin(): Promise<void> {
  program = await makeProgram();
  jane = await makePartner(program, { slug: "jane" });
  joe = await makePartner(program, { slug: "joe" });
  cursors = new Map();
  // Makes jane one of the best partners of the overview on each day.
  await testContext().db
    .run(sql`insert into earning_days (program_id, day, partner_id, currency, commissions, amount_cents)
    select ${program.id}, date('2026-02-28', '+' || value || ' days'), ${jane.id}, 'EUR', 1, 100
    from json_each('[0,1,2,3,4,5,6,7]')`);
}

function arrivals(ref: string, times: readonly number[], country: string | null = null): Arrival[] {
  return times.map((ms) => {
    const click = { program_id: program.id, ref, landing: "/", referrer: "", id: null };
    return JSON.parse(arrivalOf(click, ms, country).entry) as Arrival;
  });
}

/** Flushes the clicks at `now`, repeatedly until the flush is confirmed. */
async function flush(taken: Arrival[], now: number, { object = "weur:roll-up", fault = null as Fault } = {}) {
  const epoch = `${object}-${program.id}`;
  const from = cursors.get(epoch) ?? 0;
  const made = { object, epoch, from, to: from + taken.length, arrivals: taken, now };
  if (from === 0) await registerClickObject(env, made);
  const database = faultyDatabase();
  database.fault = fault;
  await flushClicks({ ...env, DB: database.binding }, made).catch(() => {});
  cursors.set(epoch, made.to);
  expect(await flushClicks(env, made)).toBe(made.to);
  return database.rowsWritten;
}

async function rollUp(now: number, database = env.DB): Promise<void> {
  await serveAll(rollUpClicks({ db: openDatabase(database), now }));
}

/** The program's entry among the programs that are due. */
async function dueNow({ due }: ReturnType<typeof rollUpClicks>) {
  const found = (await due("")).find(({ key }) => key === program.id);
  if (!found) throw new Error("the program is not due");
  return found;
}

/** The figures that the program's readers return at `now`, by day, partner and range. */
async function shown(now: number) {
  const ctx = programContext(program, now);
  const ranges = rangesOf();
  const [overview, own, partner, summary, ofJane, ...lists] = await Promise.all([
    readOverview(ctx, lastDays(now, 5)),
    readPartnerOverview(ctx, jane.id, 5),
    getPartner(ctx, jane.id),
    summarizeClicks(ctx, { from: START - DAY, to: START + 3 * DAY }),
    summarizeClicks(ctx, { from: START - DAY, to: START + 3 * DAY, partner_id: jane.id }),
    ...ranges.map(async (range) => listEvents(ctx, { ...range, type: "click", page: 1, per_page: 1 })),
    listEvents(ctx, { type: "click", page: 1, per_page: 1 }),
    listEvents(ctx, { page: 1, per_page: 1 }),
  ]);
  return {
    overview: named(overview.clicks.map(({ day, value }) => [day, value])),
    own: named(own.clicks.map(({ day, value }) => [day, value])),
    countries: named(overview.sources.country.top.map(({ value, clicks }) => [value, clicks])),
    best: overview.top.map(({ partner_id, clicks }) => [partner_id, clicks]),
    jane: partner.clicks,
    summary: named(summary.data.map(({ day, recorded }) => [day, recorded])),
    ofJane: named(ofJane.data.map(({ day, recorded }) => [day, recorded])),
    totals: lists.map(({ total }) => total),
    seen: overview.seen.clicks,
  };
}

/** The same figures from counting rows. */
async function counted(now: number): Promise<Awaited<ReturnType<typeof shown>>> {
  const rows = await all<{ type: string; at: string; partner: string; country: string | null }>(
    `select type, created_at as at, payload ->> 'partner_id' as partner, payload ->> 'country' as country
      from events where program_id = ?`,
    program.id,
  );
  const clicks = rows
    .filter(({ type }) => type === "click")
    .map(({ at, partner, country }) => ({ ms: Date.parse(at), partner, country }));
  const ofJane = clicks.filter(({ partner }) => partner === jane.id);
  const days = (of: typeof clicks, from: number) =>
    named(
      Object.entries(
        Object.groupBy(
          of.filter(({ ms }) => ms >= from),
          ({ ms }) => iso(ms).slice(0, 10),
        ),
      ).map(([day, its]) => [day, its!.length]),
    );
  const first = Math.floor(now / DAY) * DAY - 4 * DAY;
  return {
    overview: days(clicks, first),
    own: days(ofJane, first),
    countries: named(
      [...Map.groupBy(clicks, ({ country }) => country)].flatMap(([country, its]) =>
        country === null ? [] : [[country, its.filter(({ ms }) => ms >= first).length] as const],
      ),
    ),
    best: [[jane.id, ofJane.filter(({ ms }) => ms >= first).length]],
    jane: ofJane.length,
    summary: days(clicks, 0),
    ofJane: days(ofJane, 0),
    totals: [
      ...rangesOf().map(({ from, to }) => clicks.filter(({ ms }) => ms >= from && ms < to).length),
      clicks.length,
      rows.length,
    ],
    seen: clicks.length > 0,
  };
}

function named(days: (readonly [string, number])[]): Record<string, number> {
  return Object.fromEntries(days.filter(([, n]) => n > 0));
}

/** Whole days, and ranges that cut a minute, an hour and a day. */
function rangesOf(): { from: number; to: number }[] {
  return [
    { from: START - HOUR, to: START + 2 * DAY },
    { from: START + 10 * SECOND, to: START + 29 * MINUTE + 50 * SECOND },
    { from: START + 35 * SECOND, to: START + 90 * MINUTE + 20 * SECOND },
    { from: START + 30 * MINUTE, to: START + DAY },
  ];
}

async function expectExact(now: number, what?: string): Promise<void> {
  expect(await shown(now), what).toEqual(await counted(now));
}

const waiting = async () =>
  all<{ until: string; next_at: string | null }>(
    "select until, next_at from click_rollups where program_id = ?",
    program.id,
  );
const keptClicks = async () =>
  (
    await all<{ n: number }>("select coalesce(sum(count), 0) as n from click_counts where program_id = ?", program.id)
  )[0]!.n;

describe("a click costs one row written in D1 (TRACK-8)", () => {
  it("and its share of the cursor, while its program has few", async () => {
    await flush(arrivals("jane", [START]), START);
    expect(await flush(arrivals("jane", [START + 1]), START)).toBe(2);
    expect(await flush([...arrivals("jane", [START + 2]), ...arrivals("joe", [START + MINUTE])], START)).toBe(3);
    await expectExact(START + HOUR);
  });

  it("and a share of the counts where the flush has many of them", async () => {
    const times = Array.from({ length: 60 }, (_, i) => START + i);
    expect(await flush(arrivals("jane", times), START)).toBe(67);
    expect(await waiting(), "nothing is left to count").toEqual([]);
    expect(await keptClicks()).toBe(60);
    await expectExact(START + HOUR);
  });

  it("and no row more where its country is known, until it is counted", async () => {
    await flush(arrivals("jane", [START], "DE"), START);
    expect(await flush(arrivals("jane", [START + 1], "FR"), START)).toBe(2);
    await expectExact(START + HOUR);
    const times = Array.from({ length: 70 }, (_, i) => START + 2 + i);
    expect(await flush(arrivals("jane", times, "DE"), START)).toBe(78);
    expect(await keptClicks()).toBe(70);
    await expectExact(START + HOUR);
  });

  it("and a row for each partner, page and hour when an hour of them is rolled up", async () => {
    for (let i = 0; i < 30; i++) {
      await flush(arrivals(i % 2 ? "jane" : "joe", [START + i * SECOND]), START + i * SECOND);
    }
    const database = faultyDatabase();
    const work = rollUpClicks({ db: openDatabase(database.binding), now: START + HOUR });
    expect(await work.serve(await dueNow(work))).toBe(false);
    // The next start, two partners with a page each, the program's page and referrer, an hour and its day.
    expect(database.rowsWritten).toBe(9);
    expect(await keptClicks()).toBe(30);
    expect(await waiting()).toMatchObject([{ next_at: null }]);
    await expectExact(START + HOUR);
  });

  it("and of the program one for each country of that hour", async () => {
    for (const [i, country] of ["DE", "FR", "DE", null].entries()) {
      await flush(arrivals("jane", [START + i * SECOND], country), START + i * SECOND);
    }
    const database = faultyDatabase();
    const work = rollUpClicks({ db: openDatabase(database.binding), now: START + HOUR });
    expect(await work.serve(await dueNow(work))).toBe(false);
    // The same, for one partner and two countries.
    expect(database.rowsWritten).toBe(9);
    await expectExact(START + HOUR);
  });
});

describe("the roll-up (TRACK-17)", () => {
  it.each([
    ["before it wrote", "down"],
    ["after it wrote", "lost"],
  ] as const)("that is killed %s counts each click once when it comes again", async (_, fault) => {
    await flush(arrivals("jane", [START, START + MINUTE]), START + MINUTE);
    const database = faultyDatabase();
    database.fault = fault;
    const killed = rollUpClicks({ db: openDatabase(database.binding), now: START + HOUR });
    const found = await dueNow(rollUpClicks({ db: openDatabase(env.DB), now: START + HOUR }));
    await expect(killed.serve(found)).rejects.toThrow();
    await expectExact(START + HOUR, "after the kill");
    await rollUp(START + HOUR);
    expect(await keptClicks()).toBe(2);
    await expectExact(START + HOUR);
  });

  it("that runs twice at once counts each click once", async () => {
    await flush(arrivals("jane", [START, START + MINUTE]), START + MINUTE);
    await Promise.all([rollUp(START + HOUR), rollUp(START + HOUR), rollUp(START + HOUR + MINUTE)]);
    expect(await keptClicks()).toBe(2);
    await expectExact(START + HOUR);
  });

  it("leaves what is still on its way, and counts what comes too late with its flush", async () => {
    await flush(arrivals("jane", [START]), START);
    await flush(arrivals("jane", [START + 20 * MINUTE]), START + 20 * MINUTE);
    await rollUp(START + 20 * MINUTE + 30 * SECOND);
    expect(await keptClicks(), "the last minute waits").toBe(1);
    await expectExact(START + HOUR);
    await flush(arrivals("joe", [START + MINUTE]), START + 21 * MINUTE);
    expect(await keptClicks()).toBe(2);
    await expectExact(START + HOUR);
    await rollUp(START + 4 * HOUR);
    expect(await keptClicks()).toBe(3);
    await expectExact(START + 4 * HOUR);
  });

  it("goes in bounded steps, each exact, whatever has gathered", async () => {
    await flush(arrivals("jane", [START]), START);
    const { db } = testContext();
    const ids = JSON.stringify(
      Array.from({ length: 21_000 }, (_, i) => ({ ms: START + i * 50 })).map(({ ms }) => ({
        id: newId("event", ms),
        at: iso(ms),
      })),
    );
    await db.run(sql`insert into events (program_id, id, type, payload, created_at, uncounted)
      select ${program.id}, value ->> 'id', 'click', json_object('partner_id', ${joe.id}), value ->> 'at', 1
      from json_each(${ids})`);
    const work = rollUpClicks({ db, now: START + HOUR });
    const found = await dueNow(work);
    expect(await work.serve(found)).toBe(true);
    const first = await keptClicks();
    expect(first).toBeGreaterThan(10_000);
    expect(first).toBeLessThan(21_001);
    await expectExact(START + HOUR);
    expect(await work.serve(found)).toBe(false);
    expect(await keptClicks()).toBe(21_001);
    await expectExact(START + HOUR);
  });

  it("comes sooner where clicks are many, and not at all where there are none", async () => {
    await flush(arrivals("jane", [START]), START);
    expect((await waiting())[0]?.next_at).toBe(iso(START + 10 * MINUTE));
    await flush(arrivals("jane", [START + 11 * MINUTE]), START + 11 * MINUTE);
    await rollUp(START + 11 * MINUTE);
    expect((await waiting())[0]?.next_at).toBe(iso(START + 11 * MINUTE + MAX_GAP));
    await rollUp(START + MAX_GAP);
    expect((await waiting())[0]?.next_at, "not before its time").not.toBeNull();
    await rollUp(START + 11 * MINUTE + MAX_GAP);
    expect((await waiting())[0]?.next_at).toBeNull();
    await flush(arrivals("jane", [START + 4 * HOUR]), START + 4 * HOUR);
    expect((await waiting())[0]?.next_at).toBe(iso(START + 4 * HOUR + 10 * MINUTE));
    await expectExact(START + 5 * HOUR);
  });

  it("is waited for by the archive, which keeps the counts and not the rows", async () => {
    await flush(arrivals("jane", [START, START + 1]), START);
    const counted = Array.from({ length: 60 }, (_, i) => START + 2 + i);
    await flush(arrivals("joe", counted), START);
    const ctx = testContext(START + 40 * DAY);
    const archive = async () => {
      await serveAll(noteArchivableDays(ctx, 30));
      await serveAll(archiveNotedDays(ctx, env.ARCHIVE));
    };
    await archive();
    const left = async () =>
      (await all("select id from events where program_id = ? and type = 'click'", program.id)).length;
    expect(await left()).toBe(2);
    await rollUp(START + 40 * DAY);
    await archive();
    expect(await left()).toBe(0);
    expect(await keptClicks()).toBe(62);
  });
});

describe("a page far down the list (EVT-6)", () => {
  it("is found where none, a part or all of the clicks are rolled up", async () => {
    const times = Array.from({ length: 1_400 }, (_, i) => START + i * 4 * SECOND);
    for (let i = 0; i < times.length; i += 20) {
      await flush(
        [...arrivals("jane", times.slice(i, i + 10)), ...arrivals("joe", times.slice(i + 10, i + 20))],
        times[i + 19]!,
      );
    }
    expect(await keptClicks()).toBe(0);
    const ids = (
      await all<{ id: string }>(
        "select id from events where program_id = ? and type = 'click' order by id desc",
        program.id,
      )
    ).map(({ id }) => id);
    for (const now of [0, times[500]! + 2 * MINUTE, START + DAY]) {
      if (now > 0) await rollUp(now);
      const ctx = programContext(program, START + DAY);
      for (const [page, per_page] of [
        [11, 100],
        [13, 100],
        [1_201, 1],
      ] as const) {
        const found = await listEvents(ctx, { type: "click", page, per_page });
        expect(found.data.map(({ id }) => id)).toEqual(ids.slice((page - 1) * per_page, page * per_page));
        expect(found.total).toBe(1_400);
      }
    }
    expect(await keptClicks()).toBe(1_400);
  });
});

describe("totals are exact at every moment (HTTP-8)", () => {
  const minute = fc.integer({ min: 0, max: 450 });
  const fault = fc.constantFrom<Fault[]>(null, null, "lost", "down");
  const times = fc.array(fc.tuple(minute, fc.integer({ min: 0, max: MINUTE - 1 })), { minLength: 1, maxLength: 5 });
  const country = fc.constantFrom(null, "DE", "FR");
  const ref = fc.constantFrom("jane", "joe");
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("flush" as const), times, fault, ref, country }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("many" as const), at: minute, ref }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("rollUp" as const), at: minute, fault }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("recount" as const) }) },
  );

  it("under flushes, roll-ups, recounts and kills in any order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        await begin();
        for (const action of steps) {
          const at = (given: readonly (readonly [number, number])[]) =>
            given.map(([minutes, ms]) => START + minutes * MINUTE + ms);
          if (action.do === "flush") {
            const ms = at(action.times);
            await flush(arrivals(action.ref, ms, action.country), Math.max(...ms), { fault: action.fault });
          } else if (action.do === "many") {
            const ms = START + action.at * MINUTE;
            await flush(
              arrivals(
                action.ref,
                Array.from({ length: 70 }, (_, i) => ms + i),
                "DE",
              ),
              ms,
            );
          } else if (action.do === "rollUp") {
            const database = faultyDatabase();
            database.fault = action.fault;
            await rollUp(START + action.at * MINUTE, database.binding).catch(() => {});
          } else {
            await serveAll(recountEvents(testContext()));
          }
          await expectExact(START + 8 * HOUR, JSON.stringify(action));
        }
        await rollUp(START + DAY);
        await serveAll(recountEvents(testContext()));
        await expectExact(START + DAY);
        expect(await keptClicks()).toBe((await counted(START + DAY)).totals.at(-2));
      }),
      { numRuns: 12 },
    );
  });
});
