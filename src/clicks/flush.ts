import { flushClicks } from "../core/clicks/clicks.ts";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import type { Arrival } from "../domain/click.ts";
import { inTime } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { SECOND } from "../lib/time.ts";
import type { Stretch } from "./store.ts";

/** A stretch of an object, on its way to the database. */
export interface OwnStretch extends Stretch {
  object: string;
  epoch: string;
}

/** What an object gives a Worker to flush. */
export interface Handed extends OwnStretch {
  /** How many clicks wait in the object, as far as it knows. */
  waiting: number;
  /** Whether the object wants to know that they have arrived: once for many clicks, for it writes that down. */
  reports: boolean;
}

/** What came of a stretch up to `to`: where the cursor in the database then was. */
export interface Flushed {
  to: number;
  cursor: number;
}

/** A click object, as who flushes its clicks sees it. */
export interface Flushable {
  waiting(): Promise<Handed | null>;
  flushed(done: Flushed): Promise<Handed | null>;
}

/** The platform ends a Worker 30 seconds after its reply. Half of these it may wait for clicks, then so long for an answer. */
const WORKER_TIMEOUT = 10 * SECOND;

/** Brings what waits in an object to the database after `ms`. Never throws: what fails stays, and is tried again later. */
export async function flushLater(open: () => Flushable, ms: number, bindings: DatabaseBindings): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  await flushWaiting(open(), bindings);
}

/** As `flushLater`, at once. */
export async function flushWaiting(object: Flushable, bindings: DatabaseBindings): Promise<void> {
  let stretch: Handed | null = null;
  try {
    stretch = await inTime(WORKER_TIMEOUT, "the object", object.waiting());
    while (stretch !== null) {
      const { to, reports } = stretch;
      const cursor = await bring(stretch, bindings, WORKER_TIMEOUT);
      if (cursor >= to && !reports) return;
      stretch = await inTime(WORKER_TIMEOUT, "the object", object.flushed({ to, cursor }));
    }
  } catch (error) {
    notFlushed(error, { object: stretch?.object, waiting: stretch?.waiting });
  }
}

/**
 * Brings a stretch to the database, and gives where the cursor then is. A call that takes longer than `ms` is given up: if it
 * still ends well, the cursor says so to the next one.
 */
export async function bring(
  { entries, ...stretch }: OwnStretch,
  bindings: DatabaseBindings,
  ms: number,
): Promise<number> {
  const arrivals = JSON.parse(`[${entries}]`) as Arrival[];
  return inTime(ms, "the database", flushClicks(bindings, { ...stretch, arrivals, now: Date.now() }));
}

/** Says in the log that a flush failed, and how much waits. */
export function notFlushed(error: unknown, of: { object?: string | undefined; waiting?: number | undefined }): void {
  logLine("error", { what: "clicks not flushed", ...of, reason: reasonOf(error) });
}
