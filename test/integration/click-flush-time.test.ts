/** When an object brings its clicks to the database: few share a flush, many do not wait for it, failures come less often. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { arrivalOf, batchOf } from "../../src/clicks/batch.ts";
import { DENSE } from "../../src/clicks/counter.ts";
import { flushDelay } from "../../src/clicks/flush-time.ts";
import type { Bindings } from "../../src/env.ts";
import { SECOND } from "../../src/lib/time.ts";
import { clickStub, connect, countsOf, equip, faultyDatabase, flush, holdAlarms } from "../support/clicks.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

let made = 0;
let object: string;
let program: TestProgram;

beforeEach(async () => {
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
  object = `weur:time-${made++}`;
  program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  await equip({ CLICK_FLUSH_SECONDS: "10" }, object);
});

afterEach(() => void vi.useRealTimers());

async function store(count: number): Promise<void> {
  const arrivals = Array.from({ length: count }, () =>
    arrivalOf({ program_id: program.id, ref: "jane", landing: "/", referrer: "", id: null }, Date.now()),
  );
  expect(await clickStub(object).commit(batchOf(arrivals, `time-${made++}`))).toEqual({ stored: true });
}

function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Milliseconds until the flush that is due; null where none is. */
function untilFlush(): Promise<number | null> {
  return runInDurableObject(clickStub(object), async (_, { storage }) => {
    const at = await storage.getAlarm();
    return at === null ? null : at - Date.now();
  });
}

async function waiting(): Promise<number> {
  return (await clickStub(object).ensureAlarm()).waiting;
}

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
    await store(1);
    expect(await untilFlush()).toBe(SECOND);
  });

  it("waits from the first click on, whatever comes meanwhile, and takes all of it", async () => {
    await store(1);
    expect(await untilFlush()).toBe(10 * SECOND);
    pass(4 * SECOND);
    await store(DENSE - 2);
    expect(await untilFlush()).toBe(6 * SECOND);
    pass(6 * SECOND);
    expect(await flush(object)).toBe(true);
    expect(await untilFlush()).toBeNull();
    expect((await countsOf(program.id)).rows).toBe(DENSE - 1);
  });

  it("comes after a second once many wait, and never later than it would have", async () => {
    await store(DENSE - 1);
    pass(3 * SECOND);
    await store(1);
    expect(await untilFlush()).toBe(SECOND);
    pass(SECOND / 2);
    await store(DENSE);
    expect(await untilFlush(), "not put off").toBe(SECOND / 2);
    await flush(object);

    await store(1);
    pass(9.5 * SECOND);
    await store(DENSE);
    expect(await untilFlush()).toBe(SECOND / 2);
  });

  it("leaves the few that come meanwhile to the next, and goes on with many", async () => {
    const database = faultyDatabase();
    await store(1);
    await flush(object);
    await connect(database.binding, object);
    await store(2);
    let come = 3;
    database.before = async () => {
      if (come > 0) await store(come);
      come = 0;
    };
    await flush(object);
    expect((await countsOf(program.id)).rows).toBe(3);
    expect(await waiting()).toBe(3);
    expect(await untilFlush()).toBe(10 * SECOND);
    come = DENSE;
    await flush(object);
    expect(await waiting()).toBe(0);
    expect((await countsOf(program.id)).rows).toBe(6 + DENSE);
  });

  it("that failed comes no sooner because clicks come, however many", async () => {
    const database = faultyDatabase();
    await store(1);
    await connect(database.binding, object);
    database.fault = "down";
    for (let i = 0; i < 7; i++) expect(await flush(object)).toBe(true);
    const until = await untilFlush();
    expect(until).toBeGreaterThan(40 * SECOND);
    await store(1);
    await store(2 * DENSE);
    expect(await untilFlush()).toBe(until);
    database.fault = null;
    await flush(object);
    expect(await waiting()).toBe(0);
    await store(1);
    expect(await untilFlush(), "as before the failures").toBe(10 * SECOND);
  });
});
