/** The storage and the writes of a click object, and the cron's access to them. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_SPARE } from "../../src/clicks/store.ts";
import { REPORTED_AFTER } from "../../src/clicks/counter.ts";
import { wakeClickObjects } from "../../src/clicks/wake-objects.ts";
import { listClickObjects } from "../../src/core/clicks/clicks.ts";
import type { Bindings } from "../../src/env.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { cron, flushInTime as flush, later, newObject, ON_ITS_WAY, store } from "../support/click-clock.ts";
import { serveAll } from "../support/jobs.ts";
import { rowsOf, writtenBy } from "../support/click-rows.ts";
import {
  clickStub,
  clicksOf,
  connect,
  countsOf,
  faultyDatabase,
  holdTime,
  recorded,
  unflushed,
} from "../support/clicks.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { eventually } from "../support/time.ts";

let program: TestProgram;
let partner: { id: string };

beforeEach(async () => {
  holdTime();
  vi.spyOn(console, "error").mockReturnValue();
  program = await makeProgram();
  partner = await makePartner(program, { slug: "jane" });
});

afterEach(() => void vi.useRealTimers());

async function expectRecorded(rows: number, drops: Record<string, number> = {}): Promise<void> {
  const partners = rows === 0 ? {} : { [partner.id]: rows };
  expect(await countsOf(program.id)).toEqual({ rows, events: rows, partners, drops });
}

describe("a click object", () => {
  const isKnown = async (object: string) => (await listClickObjects(testContext().db, "", 100)).includes(object);

  it("is known to the cron from its first flush on, which then has it flush what nobody came for", async () => {
    const object = newObject();
    await store(object, program.id, 1);
    expect(await isKnown(object)).toBe(false);
    await flush(object);
    expect(await isKnown(object)).toBe(true);
    await store(object, program.id, 2);
    await evictDurableObject(clickStub(object));
    await cron(object);
    await eventually(async () => expect(await unflushed(object)).toBe(0));
    await expectRecorded(3);
    expect(await flush(object)).toBe(false);
  });

  it("is found by the cron where nobody comes for its clicks, also while more of them come", async () => {
    const object = newObject();
    await store(object, program.id);
    await flush(object);
    for (let i = 0; i < 3; i++) {
      await store(object, program.id);
      // The eviction removes the object's record that the sender should flush.
      await evictDurableObject(clickStub(object));
      await cron(object, ON_ITS_WAY - 1);
    }
    await eventually(async () => expect(await unflushed(object)).toBeLessThanOrEqual(1));
  });

  it("is left alone by the cron where it is further by the time that this looks into the database", async () => {
    const object = newObject();
    await store(object, program.id);
    await flush(object);
    const look = async () => {
      const found = await clickStub(object).look();
      await store(object, program.id);
      await flush(object);
      return found;
    };
    const catchUp = vi.fn<() => Promise<void>>();
    const getByName = (name: string) => (name === object ? { look, catchUp } : { look: async () => null });
    vi.setSystemTime(Date.now() + ON_ITS_WAY);
    await serveAll(wakeClickObjects(testContext(), { CLICKS: { getByName } } as unknown as Bindings));
    expect([catchUp.mock.calls, await unflushed(object)]).toEqual([[], 0]);
  });

  it("rings an alarm after its first click, until that is flushed: before, the cron does not know it", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await connect(database.binding, object);
    database.fault = "down";
    await store(object, program.id, 2);
    await evictDurableObject(clickStub(object));
    await connect(database.binding, object);
    for (let i = 0; i < 3; i++) {
      vi.setSystemTime(Date.now() + 2 * MINUTE);
      expect(await runDurableObjectAlarm(clickStub(object))).toBe(true);
      expect([await isKnown(object), await unflushed(object)]).toEqual([false, 2]);
    }
    database.fault = null;
    vi.setSystemTime(Date.now() + 2 * MINUTE);
    expect(await runDurableObjectAlarm(clickStub(object))).toBe(true);
    await expectRecorded(2);
    expect(await isKnown(object)).toBe(true);
    expect(await runDurableObjectAlarm(clickStub(object)), "none more").toBe(false);
  });

  it("is left alone by the cron while somebody is to come for its clicks", async () => {
    const object = newObject();
    await store(object, program.id);
    await later(object, ON_ITS_WAY - 1);
    expect(await clickStub(object).look()).toBeNull();
    await evictDurableObject(clickStub(object));
    expect(await clickStub(object).look(), "evicted or not").toBeNull();
    await later(object, 1);
    expect(await clickStub(object).look()).toMatchObject({ last: 1 });
  });

  it("writes nothing and sends nothing where the cron finds all of its clicks in the database, whatever it knows", async () => {
    const [object, database] = [newObject(), faultyDatabase()];
    await store(object, program.id, 2);
    await flush(object);
    await evictDurableObject(clickStub(object));
    await connect(database.binding, object);
    const written = await writtenBy(object, () => cron(object));
    expect([written, database.batches, await unflushed(object)]).toEqual([0, 0, 0]);
  });

  it("writes over what it knows to be flushed and half an hour old, and only that", async () => {
    const object = newObject();
    await store(object, program.id, REPORTED_AFTER);
    await flush(object);
    await store(object, program.id, 1);
    await later(object, 31 * MINUTE);
    await store(object, program.id, 4);
    expect(await rowsOf(object)).toEqual([REPORTED_AFTER + 1, REPORTED_AFTER + 5]);
    await store(object, program.id, 1);
    expect(await rowsOf(object), "these wait for the flush").toEqual([1, 5, 6].map((n) => REPORTED_AFTER + n));
    await recorded(object);
    await expectRecorded(REPORTED_AFTER + 6);
  });

  it("writes over rows after an eviction too", async () => {
    const object = newObject();
    for (const count of [1, REPORTED_AFTER, 1]) await store(object, program.id, count);
    await flush(object);
    vi.setSystemTime(Date.now() + 31 * MINUTE);
    for (let i = 0; i < 2; i++) {
      await evictDurableObject(clickStub(object));
      await store(object, program.id, 1);
    }
    expect(await rowsOf(object)).toHaveLength(3);
    await flush(object);
    await expectRecorded(REPORTED_AFTER + 4);
  });

  it("keeps so many rows to write over, and its last one", async () => {
    const object = newObject();
    for (let i = 0; i < MAX_SPARE + 20; i++) await store(object, program.id);
    await recorded(object);
    await clickStub(object).catchUp(MAX_SPARE + 20);
    await later(object, 31 * MINUTE);
    await store(object, program.id);
    const kept = await rowsOf(object);
    expect(kept).toHaveLength(MAX_SPARE);
    expect(kept.at(-1)).toBe(MAX_SPARE + 21);
    await evictDurableObject(clickStub(object));
    await store(object, program.id);
    await flush(object);
    await expectRecorded(MAX_SPARE + 22);
  });

  it("writes a row for each commit and none for a flush, but one for fifty clicks", async () => {
    const object = newObject();
    for (let i = 0; i < REPORTED_AFTER; i++) await store(object, program.id);
    await flush(object);
    await later(object, 31 * MINUTE);
    const written = await writtenBy(object, async () => {
      for (let i = 0; i < REPORTED_AFTER; i++) {
        await store(object, program.id);
        await flush(object);
      }
      await later(object, 31 * MINUTE);
    });
    expect(written).toBe(REPORTED_AFTER + 1);
  });

  describe("of a database that was restored", () => {
    let object: string;
    let epoch: string;

    /** Half an hour after the object received two flush confirmations; the database has lost the second flush. */
    beforeEach(async () => {
      object = newObject();
      for (let i = 0; i < 2; i++) {
        await store(object, program.id, REPORTED_AFTER);
        await flush(object);
      }
      ({ epoch } = await runInDurableObject(clickStub(object), (_, { storage: { sql } }) =>
        sql.exec<{ epoch: string }>("select epoch from object").one(),
      ));
      const cursor = (at: number) => `${epoch}:${at}`;
      const lost = (await clicksOf(program.id)).slice(REPORTED_AFTER).map(({ id }) => id);
      expect(lost).toHaveLength(REPORTED_AFTER);
      await env.DB.batch([
        env.DB.prepare("update click_batches set id = ? where id = ?").bind(
          cursor(REPORTED_AFTER),
          cursor(2 * REPORTED_AFTER),
        ),
        env.DB.prepare("delete from events where id in (select value from json_each(?))").bind(JSON.stringify(lost)),
      ]);
      await later(object, 31 * MINUTE);
    });

    const rows = async () => (await clicksOf(program.id)).length;

    it("sends again with the next flush what that has not, and does not write over it before", async () => {
      const database = faultyDatabase();
      await store(object, program.id, 1);
      expect(await rowsOf(object)).toEqual([2 * REPORTED_AFTER, 2 * REPORTED_AFTER + 1]);
      database.before = async () => {
        if (database.refused > 0) database.fault = "down";
      };
      await flush(object, { DB: database.binding });
      await store(object, program.id, 1);
      expect(await rowsOf(object), "what is to be sent again is not written over").toHaveLength(3);
      await flush(object);
      expect([await rows(), await unflushed(object)]).toEqual([2 * REPORTED_AFTER + 2, 0]);
    });

    it("sends it again with the cron, where no further click comes", async () => {
      await evictDurableObject(clickStub(object));
      await cron(object);
      await eventually(async () => expect(await unflushed(object)).toBe(0));
      expect(await rows()).toBe(2 * REPORTED_AFTER);
    });

    it("sends all that it still has where that does not know it at all, each click once", async () => {
      const forget = [
        env.DB.prepare("delete from click_batches where id like ? || ':%'").bind(epoch),
        env.DB.prepare("delete from click_objects where name = ?").bind(object),
      ];
      const [cursors, names] = await env.DB.batch(forget);
      expect([cursors!.meta.changes, names!.meta.changes]).toEqual([1, 1]);
      await store(object, program.id, 1);
      const kept = await rowsOf(object);
      expect(kept).toEqual([2 * REPORTED_AFTER, 2 * REPORTED_AFTER + 1]);
      await evictDurableObject(clickStub(object));
      await flush(object);
      expect([await rows(), await unflushed(object)]).toEqual([2 * REPORTED_AFTER + 1, 0]);
      expect(await isKnown(object)).toBe(true);
      await store(object, program.id, 1);
      await flush(object);
      expect([await rows(), await unflushed(object)]).toEqual([2 * REPORTED_AFTER + 2, 0]);
    });
  });
});
