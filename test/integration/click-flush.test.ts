import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf, batchOf, droppedArrival } from "../../src/clicks/batch.ts";
import { MAX_SPARE } from "../../src/clicks/store.ts";
import { wakeClickObjects } from "../../src/clicks/wake.ts";
import { flushClicks, listClickObjects } from "../../src/core/clicks/clicks.ts";
import type { Arrival } from "../../src/domain/click.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { rowsOf, writtenBy } from "../support/click-rows.ts";
import {
  clickStub,
  clicksOf,
  connect,
  countsOf,
  faultyDatabase,
  flush,
  holdAlarms,
  type FaultyDatabase,
} from "../support/clicks.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";

let objects = 0;

/** An object that nobody else uses; the region is real, the shard is not. */
function newObject(): string {
  return `weur:test-${objects++}`;
}

let ids = 0;

async function store(object: string, program_id: string, count = 1, ref = "jane"): Promise<void> {
  const now = Date.now();
  const arrivals = Array.from({ length: count }, () =>
    arrivalOf({ program_id, ref, landing: "/", referrer: "", id: `id-${ids++}` }, now),
  );
  const reply = await clickStub(object).commit(batchOf(arrivals, `batch-${ids++}`));
  expect(reply).toEqual({ stored: true });
}

async function backlog(object: string): Promise<number> {
  return (await clickStub(object).ensureAlarm()).waiting;
}

/** Plays the clock ahead and wakes the object, as the cron does. */
async function later(object: string, ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  await clickStub(object).ensureAlarm();
}

let program: TestProgram;
let partner: { id: string };

beforeEach(async () => {
  holdAlarms();
  // What fails here is reported in the log; the tests ask for it.
  vi.spyOn(console, "error").mockReturnValue();
  program = await makeProgram();
  partner = await makePartner(program, { slug: "jane" });
});

afterEach(() => void vi.useRealTimers());

async function expectRecorded(rows: number, drops: Record<string, number> = {}): Promise<void> {
  const partners = rows === 0 ? {} : { [partner.id]: rows };
  expect(await countsOf(program.id)).toEqual({ rows, events: rows, partners, drops });
}

describe("a flush (TRACK-8)", () => {
  it("that fails before its commit keeps the clicks; they arrive once the database is back", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id, 3);
    await connect(database.binding, object);
    database.fault = "down";
    for (let i = 0; i < 8; i++) expect(await flush(object), "the alarm is set again each time").toBe(true);
    await expectRecorded(0);
    expect(await backlog(object)).toBe(3);
    database.fault = null;
    expect(await flush(object)).toBe(true);
    await expectRecorded(3);
    expect(await backlog(object)).toBe(0);
    expect(await flush(object), "nothing left to do").toBe(false);
  });

  it("whose reply is lost after its commit counts nothing twice, also when more clicks came meanwhile", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await connect(database.binding, object);
    await store(object, program.id, 2);
    await flush(object);
    database.fault = "lost";
    await store(object, program.id, 3);
    await flush(object);
    await expectRecorded(5);
    await store(object, program.id, 4);
    await flush(object);
    database.fault = null;
    await flush(object);
    await expectRecorded(9);
    expect(await backlog(object)).toBe(0);
  });

  it("whose reply is lost does not count drops twice, which leave no row to identify them by", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await connect(database.binding, object);
    await store(object, program.id, 1, "nobody");
    const bots = Array.from({ length: 2 }, () => droppedArrival(program.id, "bot", Date.now()));
    await clickStub(object).commit(batchOf(bots, "bots"));
    await flush(object);
    database.fault = "lost";
    await store(object, program.id, 2, "nobody");
    await flush(object);
    database.fault = null;
    await flush(object);
    await expectRecorded(0, { unknown_ref: 3, bot: 2 });
  });

  it("that comes late, after another took its clicks and more, changes nothing and learns how far it got", async () => {
    const arrivals = Array.from({ length: 7 }, () => {
      const { entry } = arrivalOf(
        { program_id: program.id, ref: "jane", landing: "/", referrer: "", id: null },
        Date.now(),
      );
      return JSON.parse(entry) as Arrival;
    });
    const flush = { object: newObject(), epoch: `epoch-${ids++}`, from: 0, now: Date.now() };
    const late = { ...flush, to: 5, arrivals: arrivals.slice(0, 5) };
    expect(await flushClicks(env, { ...flush, to: 7, arrivals }), "an unknown object is registered first").toBe(0);
    expect(await flushClicks(env, { ...flush, to: 7, arrivals })).toBe(7);
    expect(await flushClicks(env, late)).toBe(7);
    expect(await flushClicks(env, { ...late, from: 5, to: 7, arrivals: arrivals.slice(5) })).toBe(7);
    await expectRecorded(7);
  });

  it("counts by rows even where the cursor was lost", async () => {
    const object = newObject();
    await store(object, program.id, 3);
    await flush(object);
    await env.DB.prepare("delete from click_batches").run();
    await runInDurableObject(clickStub(object), (_, state) => {
      state.storage.sql.exec("update object set flushed = 0");
    });
    await evictDurableObject(clickStub(object));
    await clickStub(object).ensureAlarm();
    await flush(object);
    await flush(object);
    await expectRecorded(3);
    expect(await backlog(object)).toBe(0);
  });

  it("is carried on by an object that was evicted between any two steps", async () => {
    const object = newObject();
    await store(object, program.id, 2);
    await evictDurableObject(clickStub(object));
    await store(object, program.id, 1);
    await evictDurableObject(clickStub(object));
    await flush(object);
    await evictDurableObject(clickStub(object));
    await store(object, program.id, 1);
    await evictDurableObject(clickStub(object));
    expect(await flush(object)).toBe(true);
    await expectRecorded(4);
  });

  it.each([
    ["before it began to write", "down"],
    ["after it wrote, before the object heard of it", "lost"],
  ] as const)("whose object is restarted %s counts every click once", async (_, fault) => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id, 2);
    await flush(object);
    await connect(database.binding, object);
    database.fault = fault;
    await store(object, program.id, 3);
    await store(object, program.id, 1, "nobody");
    await flush(object);
    await evictDurableObject(clickStub(object));
    await store(object, program.id, 4);
    await clickStub(object).ensureAlarm();
    expect(await flush(object)).toBe(true);
    await expectRecorded(9, { unknown_ref: 1 });
    expect(await backlog(object)).toBe(0);
  });

  it("writes one row per click and seven more: the cursor and the six counts", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id);
    await flush(object);
    await connect(database.binding, object);
    for (let i = 0; i < 20; i++) await store(object, program.id, 20);
    await flush(object);
    await expectRecorded(401);
    expect(database.batches).toBe(1);
    expect(database.rowsWritten).toBe(407);
  });

  it("goes on in stretches until all is there, however much has gathered", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    const referrer = `https://a.example/${"x".repeat(900)}`;
    for (let i = 0; i < 6; i++) {
      const arrivals = Array.from({ length: 250 }, () =>
        arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer, id: null }, Date.now()),
      );
      await clickStub(object).commit(batchOf(arrivals, `long-${i}`));
    }
    await connect(database.binding, object);
    await flush(object);
    await expectRecorded(1_500);
    expect(database.batches).toBeGreaterThan(1);
  });
});

describe("a click object", () => {
  it("stores a batch once that is sent again, at once, later, and after a restart", async () => {
    const object = newObject();
    const batch = batchOf(
      [arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id: null }, Date.now())],
      "one",
    );
    const stub = clickStub(object);
    expect(await Promise.all([stub.commit(batch), stub.commit(batch)])).toEqual([{ stored: true }, { stored: true }]);
    await flush(object);
    expect(await clickStub(object).commit(batch)).toEqual({ stored: true });
    await evictDurableObject(clickStub(object));
    expect(await clickStub(object).commit(batch)).toEqual({ stored: true });
    await flush(object);
    await expectRecorded(1);
  });

  it("knows the ids of clicks again after a restart, flushed or not", async () => {
    const object = newObject();
    const batch = (id: string) =>
      batchOf(
        [arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id: "again" }, Date.now())],
        id,
      );
    await clickStub(object).commit(batch("b1"));
    await evictDurableObject(clickStub(object));
    await clickStub(object).commit(batch("b2"));
    await flush(object);
    await evictDurableObject(clickStub(object));
    await clickStub(object).commit(batch("b3"));
    await flush(object);
    await expectRecorded(1, { duplicate: 2 });
  });

  it("counts the window from the click that was taken, not from its repetition, after a restart too (TRACK-12)", async () => {
    const object = newObject();
    for (const [i, minutes] of [0, 20, 11, 20, 9].entries()) {
      vi.setSystemTime(Date.now() + minutes * MINUTE);
      const visit = { program_id: program.id, ref: "jane", landing: "/", referrer: "", id: "again" };
      await clickStub(object).commit(batchOf([arrivalOf(visit, Date.now())], `b${i}`));
      await evictDurableObject(clickStub(object));
    }
    await flush(object);
    await expectRecorded(2, { duplicate: 3 });
  });

  it("writes what arrives during a commit as one row", async () => {
    const object = newObject();
    await Promise.all(Array.from({ length: 30 }, () => store(object, program.id, 2)));
    const rows = await runInDurableObject(
      clickStub(object),
      (_, state) => state.storage.sql.exec("select 1 from batches").toArray().length,
    );
    expect(rows).toBeLessThan(30);
    await flush(object);
    await expectRecorded(60);
  });

  it("refuses beyond its backlog and takes clicks again when that is flushed (TRACK-16)", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await runInDurableObject(clickStub(object), (instance) => {
      instance.backlogLimit = { clicks: 4, length: 1_000_000 };
    });
    await connect(database.binding, object);
    database.fault = "down";
    await store(object, program.id, 3);
    await store(object, program.id, 3);
    const refused = await clickStub(object).commit(
      batchOf(
        [arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id: "later" }, Date.now())],
        "refused",
      ),
    );
    expect(refused).toEqual({ stored: false, reason: "backlog" });
    database.fault = null;
    await flush(object);
    await store(object, program.id);
    await flush(object);
    await expectRecorded(7);
  });

  it("makes itself known to the cron, which wakes it when its alarm was lost", async () => {
    const object = newObject();
    await store(object, program.id, 2);
    await runInDurableObject(clickStub(object), async (_, state) => state.storage.deleteAlarm());
    await evictDurableObject(clickStub(object));
    expect(await flush(object), "forgotten").toBe(false);
    await expect.poll(async () => listClickObjects(testContext().db, "", 100)).toContain(object);
    await serveAll(wakeClickObjects(testContext(), env));
    expect(await flush(object)).toBe(true);
    await expectRecorded(2);
    expect(await clickStub(object).ensureAlarm()).toEqual({ waiting: 0 });
    expect(await flush(object)).toBe(false);
  });

  it("leaves an alarm alone that is on its way", async () => {
    const object = newObject();
    await store(object, program.id);
    const alarm = () => runInDurableObject(clickStub(object), async (_, state) => state.storage.getAlarm());
    const armed = await alarm();
    expect(armed).not.toBeNull();
    await clickStub(object).ensureAlarm();
    expect(await alarm()).toBe(armed);
  });

  it("flushes within seconds (TRACK-16)", async () => {
    vi.useRealTimers();
    const object = newObject();
    await store(object, program.id, 2);
    await expect.poll(async () => (await countsOf(program.id)).rows).toBe(2);
  });

  it("writes over what it flushed half an hour ago, and only that", async () => {
    const object = newObject();
    await store(object, program.id, 2);
    await flush(object);
    await store(object, program.id, 1);
    await later(object, 31 * MINUTE);
    await store(object, program.id, 4);
    expect(await rowsOf(object)).toEqual([3, 7]);
    await store(object, program.id, 1);
    expect(await rowsOf(object), "these wait for the flush").toEqual([3, 7, 8]);
    await flush(object);
    await expectRecorded(8);
  });

  it("keeps so many rows to write over, and its last one", async () => {
    const object = newObject();
    for (let i = 0; i < MAX_SPARE + 20; i++) await store(object, program.id);
    await flush(object);
    await later(object, 31 * MINUTE);
    const kept = await rowsOf(object);
    expect(kept).toHaveLength(MAX_SPARE);
    expect(kept.at(-1)).toBe(MAX_SPARE + 20);
    await evictDurableObject(clickStub(object));
    await store(object, program.id);
    await flush(object);
    await expectRecorded(MAX_SPARE + 21);
  });

  it("writes a row for each commit, and two for a flush: its alarm and how far it got", async () => {
    const object = newObject();
    for (let i = 0; i < 10; i++) await store(object, program.id);
    await flush(object);
    await later(object, 31 * MINUTE);
    const written = await writtenBy(object, async () => {
      for (let i = 0; i < 10; i++) await store(object, program.id);
      await flush(object);
      await later(object, 31 * MINUTE);
    });
    expect(written).toBe(12);
  });

  it("sends again what a database that was restored has not, and does not write over it before", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await connect(database.binding, object);
    await store(object, program.id, 2);
    await flush(object);
    const epoch = await runInDurableObject(clickStub(object), (_, state) => {
      const { epoch } = state.storage.sql.exec<{ epoch: string }>("select epoch from object").one();
      return epoch;
    });
    await store(object, program.id, 3);
    await flush(object);
    await env.DB.batch([
      env.DB.prepare("update click_batches set id = ? where id = ?").bind(`${epoch}:2`, `${epoch}:5`),
      env.DB.prepare("delete from events where program_id = ? and type = 'click'").bind(program.id),
    ]);
    await later(object, 31 * MINUTE);
    await store(object, program.id, 1);
    expect(await rowsOf(object)).toEqual([5, 6]);
    database.before = async () => {
      if (database.refused > 0) database.fault = "down";
    };
    await flush(object);
    await store(object, program.id, 1);
    expect(await rowsOf(object), "what is to be sent again is not written over").toEqual([5, 6, 7]);
    Object.assign(database, { fault: null, before: null });
    await flush(object);
    expect((await clicksOf(program.id)).length).toBe(5);
  });
});

describe("exactly once (TRACK-8)", () => {
  it("holds for any order of clicks, repetitions, failures, evictions and cron runs", async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("store" as const), count: fc.integer({ min: 1, max: 5 }) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("repeat" as const) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant("flush" as const),
          fault: fc.constantFrom("down" as const, "lost" as const, null),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("evict" as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("cron" as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const { id: program_id } = (program = await makeProgram());
        partner = await makePartner(program, { slug: "jane" });
        const object = newObject();
        const database: FaultyDatabase = faultyDatabase();
        await connect(database.binding, object);
        let stored = 0;
        let repeated = 0;
        let last: ReturnType<typeof batchOf> | null = null;
        for (const action of steps) {
          if (action.do === "store") {
            const arrivals = Array.from({ length: action.count }, () =>
              arrivalOf({ program_id, ref: "jane", landing: "/", referrer: "", id: `id-${ids++}` }, Date.now()),
            );
            last = batchOf(arrivals, `batch-${ids++}`);
            expect(await clickStub(object).commit(last)).toEqual({ stored: true });
            stored += action.count;
          } else if (action.do === "repeat" && last) {
            await clickStub(object).commit(last);
            // The same clicks under another batch, as a visitor's browser repeats them.
            await clickStub(object).commit({ ...last, id: `batch-${ids++}` });
            repeated += last.count;
          } else if (action.do === "flush") {
            database.fault = action.fault;
            await flush(object);
            database.fault = null;
          } else if (action.do === "evict") {
            await evictDurableObject(clickStub(object));
            await connect(database.binding, object);
          } else if (action.do === "cron") {
            await clickStub(object).ensureAlarm();
          }
          const { rows, events } = await countsOf(program_id);
          expect(events, "counts equal rows always").toBe(rows);
        }
        await clickStub(object).ensureAlarm();
        await flush(object);
        await flush(object);
        await expectRecorded(stored, repeated > 0 ? { duplicate: repeated } : {});
        expect(new Set((await clicksOf(program_id)).map(({ id }) => id)).size).toBe(stored);
      }),
      { numRuns: 15 },
    );
  });
});
