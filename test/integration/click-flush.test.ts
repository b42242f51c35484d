import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf, batchOf, droppedArrival } from "../../src/clicks/batch.ts";
import { REPORTED_AFTER } from "../../src/clicks/counter.ts";
import { flushClicks, registerClickObject } from "../../src/core/clicks/clicks.ts";
import type { Arrival } from "../../src/domain/click.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { cron, flushInTime as flush, newObject, store } from "../support/click-clock.ts";
import {
  clickStub,
  clicksOf,
  connect,
  countsOf,
  faultyDatabase,
  holdTime,
  recorded,
  unflushed,
  type FaultyDatabase,
} from "../support/clicks.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

let ids = 0;
let program: TestProgram;
let partner: { id: string };

beforeEach(async () => {
  holdTime();
  // The failures of these tests are logged on purpose.
  vi.spyOn(console, "error").mockReturnValue();
  program = await makeProgram();
  partner = await makePartner(program, { slug: "jane" });
});

afterEach(() => void vi.useRealTimers());

/** Fires the object's alarm, if it has one, at a time when it may flush again. */
async function ring(object: string): Promise<void> {
  vi.setSystemTime(Date.now() + 2 * MINUTE);
  await runDurableObjectAlarm(clickStub(object));
}

async function expectRecorded(rows: number, drops: Record<string, number> = {}): Promise<void> {
  const partners = rows === 0 ? {} : { [partner.id]: rows };
  expect(await countsOf(program.id)).toEqual({ rows, events: rows, partners, drops });
}

describe("a flush (TRACK-8)", () => {
  it.each(["the next flush", "the cron"])(
    "that fails before its commit keeps the clicks; %s brings them",
    async (who) => {
      const [object, database] = [newObject(), faultyDatabase()];
      await store(object, program.id, 1);
      await flush(object);
      database.fault = "down";
      for (let i = 0; i < 3; i++) {
        await store(object, program.id, 1);
        expect(await flush(object, { DB: database.binding })).toBe(true);
      }
      await expectRecorded(1);
      expect(await unflushed(object)).toBe(3);
      expect(await flush(object), "all of it was handed out").toBe(false);
      if (who === "the cron") {
        await cron(object);
        await recorded(object);
        await expectRecorded(4);
      } else {
        await store(object, program.id, 1);
        expect(await flush(object)).toBe(true);
        await expectRecorded(5);
      }
      expect(await unflushed(object)).toBe(0);
    },
  );

  it("whose Worker ends at any moment leaves all of it to the next", async () => {
    const object = newObject();
    const stub = clickStub(object);
    await store(object, program.id, 2);
    // Clicks that were handed out and lost.
    expect(await stub.waiting()).toMatchObject({ from: 0, to: 2, object });
    await store(object, program.id, 1);
    await flush(object);
    await expectRecorded(3);
    // Clicks that are stored in the database, but the object is evicted before it receives the confirmation.
    await store(object, program.id, REPORTED_AFTER);
    const { entries, ...handed } = (await stub.waiting())!;
    expect(handed).toMatchObject({ from: 3, to: 3 + REPORTED_AFTER, reports: true });
    const arrivals = JSON.parse(`[${entries}]`) as Arrival[];
    expect(await flushClicks(env, { ...handed, arrivals, now: Date.now() })).toBe(3 + REPORTED_AFTER);
    await evictDurableObject(stub);
    await store(object, program.id, 1);
    await flush(object);
    await expectRecorded(4 + REPORTED_AFTER);
    // This report is out of date by now.
    await stub.flushed({ to: 3 + REPORTED_AFTER, cursor: 3 + REPORTED_AFTER });
    await store(object, program.id, 1);
    await flush(object);
    await expectRecorded(5 + REPORTED_AFTER);
    expect(await unflushed(object)).toBe(0);
  });

  it("that two bring at once counts each click once, and one that was handed out a part brings the rest", async () => {
    const object = newObject();
    const stub = clickStub(object);
    await store(object, program.id, 3);
    await clickStub(object).waiting();
    await store(object, program.id, 2);
    // A restart loses the object's record of the batch that it handed out.
    await evictDurableObject(stub);
    const both = await stub.waiting();
    expect(both).toMatchObject({ from: 0, to: 5 });
    const arrivals = JSON.parse(`[${both!.entries}]`) as Arrival[];
    const first = { ...both!, to: 3, arrivals: arrivals.slice(0, 3), now: Date.now() };
    await flushClicks(env, first);
    await Promise.all([
      flushClicks(env, { ...first, to: 5, arrivals }),
      flushClicks(env, { ...first, to: 5, arrivals }),
    ]);
    await expectRecorded(5);
    expect(await unflushed(object)).toBe(0);
  });

  it("whose reply is lost after its commit counts nothing twice, also when more clicks came meanwhile", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id, 2);
    await flush(object);
    database.fault = "lost";
    await store(object, program.id, 3);
    await flush(object, { DB: database.binding });
    await expectRecorded(5);
    await store(object, program.id, 4);
    await flush(object, { DB: database.binding });
    await expectRecorded(9);
    await store(object, program.id, 1);
    await flush(object);
    await expectRecorded(10);
    expect(await unflushed(object)).toBe(0);
  });

  it("whose reply is lost does not count drops twice, which leave no row to identify them by", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id, 1, "nobody");
    const bots = Array.from({ length: 2 }, () => droppedArrival(program.id, "bot", Date.now()));
    await clickStub(object).commit(batchOf(bots, "bots"));
    await flush(object);
    database.fault = "lost";
    await store(object, program.id, 2, "nobody");
    await flush(object, { DB: database.binding });
    await cron(object);
    await evictDurableObject(clickStub(object));
    await store(object, program.id, 1, "nobody");
    await recorded(object);
    await expectRecorded(0, { unknown_ref: 4, bot: 2 });
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

  it("brings what is not there yet of a stretch that is there in part, and nothing where its arrivals are not all of it", async () => {
    const click = { program_id: program.id, ref: "jane", landing: "/", referrer: "", id: null };
    const arrivals = Array.from({ length: 7 }, () => JSON.parse(arrivalOf(click, Date.now()).entry) as Arrival);
    const flush = { object: newObject(), epoch: `epoch-${ids++}`, from: 0, now: Date.now() };
    await registerClickObject(env, flush);
    expect(await flushClicks(env, { ...flush, to: 4, arrivals: arrivals.slice(0, 4) })).toBe(4);
    expect(await flushClicks(env, { ...flush, to: 6, arrivals: arrivals.slice(1, 6) }), "one is missing").toBe(4);
    expect(await flushClicks(env, { ...flush, from: 2, to: 7, arrivals: arrivals.slice(2) })).toBe(7);
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
    await flush(object);
    await expectRecorded(3);
    expect(await unflushed(object)).toBe(0);
  });

  it.each([
    ["before it began to write", "down"],
    ["after it wrote, before the object heard of it", "lost"],
  ] as const)("whose object is restarted %s counts every click once", async (_, fault) => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id, 2);
    await flush(object);
    database.fault = fault;
    await store(object, program.id, 3);
    await store(object, program.id, 1, "nobody");
    await flush(object, { DB: database.binding });
    await evictDurableObject(clickStub(object));
    await store(object, program.id, 4);
    expect(await flush(object)).toBe(true);
    await expectRecorded(9, { unknown_ref: 1 });
    expect(await unflushed(object)).toBe(0);
  });

  it("writes one row per click and seven more: the cursor and the six counts", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id);
    await flush(object);
    for (let i = 0; i < 9; i++) await store(object, program.id, 20);
    await flush(object, { DB: database.binding });
    await expectRecorded(181);
    expect(database.batches).toBe(1);
    expect(database.rowsWritten).toBe(187);
  });

  it("does not look up the partners of clicks for counts that are left to the roll-up", async () => {
    for (const slug of ["joe", "ann", "eve"]) await makePartner(program, { slug });
    const [object, database] = [newObject(), faultyDatabase()];
    const readFor = async (...refs: string[]) => {
      for (const ref of refs) await store(object, program.id, 1, ref);
      database.rowsRead = 0;
      await flush(object, { DB: database.binding });
      return database.rowsRead;
    };
    await readFor("jane");
    const [one, four] = [await readFor("jane"), await readFor("jane", "joe", "ann", "eve")];
    expect((await countsOf(program.id)).rows).toBe(6);
    expect((four - one) / 3).toBeLessThanOrEqual(20);
  });

  it("goes on in stretches until all is there, however much has gathered", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await connect(database.binding, object);
    const referrer = `https://a.example/${"x".repeat(900)}`;
    for (let i = 0; i < 6; i++) {
      const arrivals = Array.from({ length: 250 }, () =>
        arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer, id: null }, Date.now()),
      );
      await clickStub(object).commit(batchOf(arrivals, `long-${i}`));
    }
    await recorded(object);
    await expectRecorded(1_500);
    expect(database.batches).toBeGreaterThan(1);
  });

  it("goes on by the object where few clicks are more than a stretch", async () => {
    const object = newObject();
    const landing = `/${'"'.repeat(1_000)}`;
    const long = { program_id: program.id, ref: "jane", landing, referrer: `https://a.example/${landing}`, id: null };
    for (let i = 0; i < 2; i++) {
      const arrivals = Array.from({ length: 95 }, () => arrivalOf(long, Date.now()));
      await clickStub(object).commit(batchOf(arrivals, `longest-${i}`));
    }
    await flush(object);
    await recorded(object);
    await expectRecorded(190);
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
    expect((await Promise.all([stub.commit(batch), stub.commit(batch)])).map(({ stored }) => stored)).toEqual([
      true,
      true,
    ]);
    await flush(object);
    expect(await clickStub(object).commit(batch), "there is nothing to flush").toEqual({ stored: true });
    await evictDurableObject(clickStub(object));
    expect((await clickStub(object).commit(batch)).stored).toBe(true);
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
    const object = newObject();
    await runInDurableObject(clickStub(object), (instance) => {
      instance.backlogLimit = { clicks: REPORTED_AFTER + 1, length: 1_000_000 };
    });
    await store(object, program.id, REPORTED_AFTER);
    await store(object, program.id, 3);
    const refused = await clickStub(object).commit(
      batchOf(
        [arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id: "later" }, Date.now())],
        "refused",
      ),
    );
    expect(refused).toEqual({ stored: false, reason: "backlog" });
    await flush(object);
    await store(object, program.id);
    await flush(object);
    await expectRecorded(REPORTED_AFTER + 4);
  });
});

describe("exactly once (TRACK-8)", () => {
  it("holds for any order of clicks, repetitions, failures, evictions, alarms and cron runs", async () => {
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
      { weight: 1, arbitrary: fc.record({ do: fc.constant("alarm" as const) }) },
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
            expect((await clickStub(object).commit(last)).stored).toBe(true);
            stored += action.count;
          } else if (action.do === "repeat" && last) {
            await clickStub(object).commit(last);
            // The same clicks in another batch, as when a visitor's browser repeats them.
            await clickStub(object).commit({ ...last, id: `batch-${ids++}` });
            repeated += last.count;
          } else if (action.do === "flush") {
            database.fault = action.fault;
            await flush(object, { DB: database.binding });
            database.fault = null;
          } else if (action.do === "evict") {
            await evictDurableObject(clickStub(object));
            await connect(database.binding, object);
          } else if (action.do === "cron") {
            await cron(object);
          } else if (action.do === "alarm") {
            await ring(object);
          }
          const { rows, events } = await countsOf(program_id);
          expect(events, "counts equal rows always").toBe(rows);
        }
        // The cron does not list an object without a successful flush; the object's alarm flushes it.
        await ring(object);
        await cron(object);
        await recorded(object);
        await expectRecorded(stored, repeated > 0 ? { duplicate: repeated } : {});
        expect(new Set((await clicksOf(program_id)).map(({ id }) => id)).size).toBe(stored);
      }),
      { numRuns: 15 },
    );
  });
});
