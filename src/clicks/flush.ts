import { flushClicks } from "../core/clicks/clicks.ts";
import type { DatabaseBindings } from "../core/kernel/database.ts";
import type { Arrival } from "../domain/click.ts";
import { withTimeout } from "../lib/deadline.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { SECOND } from "../lib/time.ts";
import type { Stretch } from "./store.ts";

/** A stretch of an object, on its way to the database. */
export interface OwnStretch extends Stretch {
  object: string;
  epoch: string;
}

/** The clicks that an object hands to a Worker for a flush. */
export interface Handed extends OwnStretch {
  /** How many clicks wait in the object, as far as it knows. */
  waiting: number;
  /** Whether the object requests a report of their arrival, which costs it a write, so only once for many clicks. */
  reports: boolean;
}

/** The result of flushing a stretch up to `to`: the database's cursor afterwards. */
export interface Flushed {
  to: number;
  cursor: number;
}

/** The part of a click object that its flusher calls. */
export interface Flushable {
  waiting(): Promise<Handed | null>;
  flushed(done: Flushed): Promise<Handed | null>;
}

/** The platform ends a Worker 30 s after its reply: half of them wait for clicks, then this long for an answer. */
const WORKER_TIMEOUT = 10 * SECOND;

/** Flushes waiting clicks after `ms`. Never throws: clicks of a failed flush stay in the object for a later one. */
export async function flushLater(open: () => Flushable, ms: number, bindings: DatabaseBindings): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  await flushWaiting(open(), bindings);
}

/** Like `flushLater`, at once. */
export async function flushWaiting(object: Flushable, bindings: DatabaseBindings): Promise<void> {
  let stretch: Handed | null = null;
  try {
    stretch = await withTimeout(WORKER_TIMEOUT, "the object", object.waiting());
    while (stretch !== null) {
      const { to, reports } = stretch;
      const cursor = await flushStretch(stretch, bindings, WORKER_TIMEOUT);
      if (cursor >= to && !reports) return;
      stretch = await withTimeout(WORKER_TIMEOUT, "the object", object.flushed({ to, cursor }));
    }
  } catch (error) {
    logFailedFlush(error, { object: stretch?.object, waiting: stretch?.waiting });
  }
}

/** Writes a stretch and returns the cursor. Stops waiting after `ms`: the next call sees the result in the cursor. */
export async function flushStretch(
  { entries, ...stretch }: OwnStretch,
  bindings: DatabaseBindings,
  ms: number,
): Promise<number> {
  const arrivals = JSON.parse(`[${entries}]`) as Arrival[];
  return withTimeout(ms, "the database", flushClicks(bindings, { ...stretch, arrivals, now: Date.now() }));
}

/** Logs a failed flush with the number of waiting clicks. */
export function logFailedFlush(
  error: unknown,
  of: { object?: string | undefined; waiting?: number | undefined },
): void {
  logLine("error", { what: "clicks not flushed", ...of, reason: reasonOf(error) });
}
