/** The times at which click objects flush, and the senders that trigger it: few share a flush, and many do not wait for it. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi, type MockInstance } from "vitest";
import { accept } from "../../src/clicks/accept.ts";
import { arrivalOf, batchOf, type CommitReply } from "../../src/clicks/batch.ts";
import { DENSE, GRACE, REPORTED_AFTER } from "../../src/clicks/counter.ts";
import { flushDelay } from "../../src/clicks/flush-time.ts";
import type { Bindings } from "../../src/env.ts";
import { MINUTE, SECOND } from "../../src/lib/time.ts";
import {
  clickStub,
  connect,
  countsOf,
  equip,
  faultyDatabase,
  flush,
  holdTime,
  recorded,
  unflushed,
} from "../support/clicks.ts";
import { type TestProgram, programOfJane } from "../support/program.ts";
import { eventually } from "../support/time.ts";

const DELAY = 10 * SECOND;

let made = 0;
let object: string;
let program: TestProgram;
let log: MockInstance<typeof console.error>;

beforeEach(async () => {
  holdTime();
  log = vi.spyOn(console, "error").mockReturnValue();
  log.mockClear();
  object = `weur:time-${made++}`;
  program = await programOfJane();
  await equip({ CLICK_FLUSH_SECONDS: "10" }, object);
});

afterEach(() => void vi.useRealTimers());

function arrivals(count: number) {
  return Array.from({ length: count }, () =>
    arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id: null }, Date.now()),
  );
}

/** The delay in ms after which the sender of these clicks must flush; null if it need not. */
async function store(count: number): Promise<number | null> {
  const reply: CommitReply = await clickStub(object).commit(batchOf(arrivals(count), `time-${made++}`));
  expect(reply.stored).toBe(true);
  return (reply.stored && reply.flush_in) || null;
}

function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

const rows = async () => (await countsOf(program.id)).rows;

describe("a flush (TRACK-16)", () => {
  it.each([
    [undefined, 15],
    ["", 15],
    ["1", 1],
    [" 7 ", 7],
    [15, 15],
    ["15", 15],
    ["0", 15],
    ["16", 15],
    ["1.5", 15],
    ["-1", 15],
    ["a second", 15],
  ])("set to %j comes after %d s, where few clicks wait", (CLICK_FLUSH_SECONDS, seconds) => {
    const options = CLICK_FLUSH_SECONDS === undefined ? {} : { CLICK_FLUSH_SECONDS };
    expect(flushDelay(options)).toBe(seconds * SECOND);
  });

  it("comes after a second in the tests, as in the local service", async () => {
    const { CLICK_FLUSH_SECONDS } = env as Pick<Bindings, "CLICK_FLUSH_SECONDS">;
    await equip({ CLICK_FLUSH_SECONDS: CLICK_FLUSH_SECONDS! }, object);
    expect(await store(1)).toBe(SECOND);
  });

  it("is by the Worker that brought the first click, within seconds", async () => {
    vi.useRealTimers();
    await equip({ CLICK_FLUSH_SECONDS: "1" }, object);
    const work: Promise<unknown>[] = [];
    const host = { bindings: env, CLICKS: env.CLICKS, waitUntil: (one: Promise<unknown>) => void work.push(one) };
    const place = { name: object, first: object, hint: "weur" as const };
    const sent = await Promise.all(arrivals(3).map((one) => accept(one, place, host)));
    expect(sent).toEqual(["stored", "stored", "stored"]);
    await Promise.all(work);
    expect([await rows(), await unflushed(object)]).toEqual([3, 0]);
  });

  it("is asked for by the first click that waits, whatever comes meanwhile, and takes all of it", async () => {
    expect(await store(1)).toBe(DELAY);
    pass(4 * SECOND);
    expect(await store(2)).toBeNull();
    pass(6 * SECOND);
    expect(await store(3)).toBeNull();
    expect(await flush(object)).toBe(true);
    expect(await rows()).toBe(6);
    expect(await flush(object), "nothing is left").toBe(false);
    expect(await store(1), "the next one").toBe(DELAY);
  });

  it("leaves what comes while it is on its way to the next, which the first of that asks for", async () => {
    const database = faultyDatabase();
    await store(1);
    await flush(object);
    await store(2);
    pass(DELAY);
    let asked: number | null = null;
    database.before = async () => {
      asked ??= await store(3);
    };
    await flush(object, { DB: database.binding });
    expect([await rows(), await unflushed(object), asked]).toEqual([3, 3, DELAY]);
  });

  it("is asked of one of those whose clicks became one row", async () => {
    const replies = await runInDurableObject(clickStub(object), (counter) =>
      Promise.all(Array.from({ length: 5 }, () => counter.commit(batchOf(arrivals(1), `time-${made++}`)))),
    );
    expect(replies.filter((reply) => reply.stored && reply.flush_in !== undefined)).toHaveLength(1);
  });

  it("is asked for again by the first click after an eviction, and who was asked before takes its place only once", async () => {
    expect(await store(1)).toBe(DELAY);
    await evictDurableObject(clickStub(object));
    await equip({ CLICK_FLUSH_SECONDS: "10" }, object);
    pass(5 * SECOND);
    expect(await store(1)).toBe(DELAY);
    pass(5 * SECOND);
    expect(await flush(object), "the first one").toBe(true);
    expect(await rows()).toBe(2);
    expect(await store(1), "the second is still to come").toBeNull();
    pass(5 * SECOND);
    expect(await flush(object)).toBe(true);
    expect(await rows()).toBe(3);
    expect(await store(1)).toBe(DELAY);
  });
});

describe("a click object flushes itself (TRACK-16)", () => {
  it("a second after many wait, all of them", async () => {
    expect(await store(DENSE - 1)).toBe(DELAY);
    expect(await store(1)).toBeNull();
    expect(await store(5)).toBeNull();
    await eventually(async () => expect(await unflushed(object)).toBe(0));
    expect(await rows()).toBe(DENSE + 5);
    pass(DELAY);
    expect(await flush(object), "who was asked before finds nothing").toBe(false);
  });

  it("and leaves the few that come meanwhile to who was asked for them, and goes on with many", async () => {
    const database = faultyDatabase();
    await store(1);
    pass(DELAY);
    await flush(object);
    await connect(database.binding, object);
    await store(DENSE);
    let come = DENSE;
    database.before = async () => {
      if (come > 0) await store(come);
      come = come === DENSE ? 3 : 0;
    };
    await eventually(async () => expect(await rows()).toBe(1 + 2 * DENSE));
    expect(await unflushed(object)).toBe(3);
    pass(DELAY);
    await flush(object);
    expect(await rows()).toBe(1 + 2 * DENSE + 3);
  });

  it("where whoever was asked comes meanwhile: then it leaves nothing", async () => {
    const database = faultyDatabase();
    await connect(database.binding, object);
    expect(await store(1)).toBe(DELAY);
    await store(DENSE);
    pass(DELAY);
    let isFirst = true;
    database.before = async () => {
      if (!isFirst) return;
      isFirst = false;
      await store(2);
      expect(await flush(object), "the object is at it").toBe(false);
    };
    await eventually(async () => expect(await unflushed(object)).toBe(0));
    expect(await rows()).toBe(DENSE + 3);
  });

  it("where nobody came in time who was asked, with the next click", async () => {
    await store(1);
    pass(DELAY + GRACE - 1);
    expect(await store(1)).toBeNull();
    expect(await rows()).toBe(0);
    pass(1);
    expect(await store(1), "and asks again").toBe(DELAY);
    await eventually(async () => expect(await unflushed(object)).toBe(0));
    expect(await rows()).toBe(3);
  });

  it("alone where many wait and the database fails: who comes is given nothing", async () => {
    const database = faultyDatabase();
    await connect(database.binding, object);
    database.fault = "down";
    await store(DENSE);
    for (let tries = 1; tries <= 3; tries++) {
      await eventually(() => expect(log).toHaveBeenCalledTimes(tries));
      expect(await flush(object), "while it waits").toBe(false);
      if (tries === 3) database.fault = null;
      pass(MINUTE);
      expect(await flush(object), "while it tries").toBe(false);
    }
    await eventually(async () => expect(await unflushed(object)).toBe(0));
    expect(await rows()).toBe(DENSE);
  });

  it("but not for a while after that failed, however many come; the wait doubles up to a minute", async () => {
    const database = faultyDatabase();
    await connect(database.binding, object);
    database.fault = "down";
    await store(DENSE);
    const failures = () => log.mock.calls.filter(([line]) => String(line).includes("not flushed"));
    for (let tries = 1; tries <= 7; tries++) {
      await eventually(() => expect(failures()).toHaveLength(tries));
      pass(Math.min(SECOND * 2 ** tries, MINUTE) * 0.7);
      await clickStub(object).catchUp(null);
      await store(1);
      expect(failures()).toHaveLength(tries);
      pass(Math.min(SECOND * 2 ** tries, MINUTE) * 0.6);
      await store(1);
    }
    database.fault = null;
    await eventually(async () => expect(await unflushed(object)).toBe(0));
    expect(JSON.parse(String(failures()[6]))).toMatchObject({ object, waiting: DENSE + 12 });
  });
});

describe("what a click object writes of its flushes", () => {
  const flushedTo = () =>
    runInDurableObject(
      clickStub(object),
      (_, { storage: { sql } }) => sql.exec<{ flushed: number }>("select flushed from object").one().flushed,
    );

  it("is a row for fifty clicks, whether it is evicted meanwhile or not", async () => {
    for (let i = 1; i < REPORTED_AFTER; i++) {
      await store(1);
      if (i % 3 === 0) await evictDurableObject(clickStub(object));
      await flush(object);
      if (i % 4 === 0) await evictDurableObject(clickStub(object));
    }
    expect([await rows(), await flushedTo()]).toEqual([REPORTED_AFTER - 1, 0]);
    await store(1);
    await flush(object);
    expect([await rows(), await flushedTo()]).toEqual([REPORTED_AFTER, REPORTED_AFTER]);
    await recorded(object);
  });
});
