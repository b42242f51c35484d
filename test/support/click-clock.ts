/** Clicks in an object of a test's own, on a clock that the test advances. */
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { arrivalOf, batchOf } from "../../src/clicks/batch.ts";
import { GRACE } from "../../src/clicks/counter.ts";
import { flushDelay } from "../../src/clicks/flush-time.ts";
import { wakeClickObjects } from "../../src/clicks/wake-objects.ts";
import type { Bindings } from "../../src/env.ts";
import { clickStub, flush } from "./clicks.ts";
import { serveAll } from "./jobs.ts";
import { testContext } from "./program.ts";

let objects = 0;

/** An object that no other test uses; the region is real, the shard is not. */
export function newObject(): string {
  return `weur:test-${objects++}`;
}

let made = 0;

export async function store(object: string, program_id: string, count = 1, ref = "jane"): Promise<void> {
  const now = Date.now();
  const arrivals = Array.from({ length: count }, () =>
    arrivalOf({ program_id, ref, landing: "/", referrer: "", id: `id-${made++}` }, now),
  );
  const reply = await clickStub(object).commit(batchOf(arrivals, `batch-${made++}`));
  expect(reply.stored).toBe(true);
}

/** Moves the clock ahead and checks the object, as the cron does. */
export async function later(object: string, ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  await clickStub(object).look();
}

/** Until then only the requested flush handles a click. */
export const ON_ITS_WAY = flushDelay(env as Bindings) + GRACE;

/** The cron for one object, once the requested flush of the newest clicks is overdue, or `ms` later. */
export async function cron(object: string, ms = ON_ITS_WAY): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  const others = { look: async () => null };
  const getByName = (name: string) => (name === object ? clickStub(name) : others);
  await serveAll(wakeClickObjects(testContext(), { CLICKS: { getByName } } as unknown as Bindings));
}

/** Runs the requested flush, in time. */
export async function flushInTime(object: string, databases?: Partial<Bindings>): Promise<boolean> {
  vi.setSystemTime(Date.now() + flushDelay(env as Bindings));
  return flush(object, databases);
}
