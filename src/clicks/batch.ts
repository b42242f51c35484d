import type { Arrival, Click, ClickDropReason } from "../domain/click.ts";
import { newId } from "../lib/id.ts";
import { iso } from "../lib/time.ts";

/** An arrival in the isolate, waiting to be made durable. */
export interface PendingArrival {
  /** JSON text of an `Arrival`: written once here, stored unchanged, parsed at the flush. */
  entry: string;
  /** Identifies a repetition; empty if the sender gave no id. */
  key: string;
}

/** Arrivals that are made durable together, by one call to the object. */
export interface ClickBatch {
  /** Made by the isolate, unchanged on a repeated call. */
  id: string;
  count: number;
  /** The entries, joined by commas: a JSON array without its brackets. */
  entries: string;
  /** The keys, joined by commas, one per entry; empty if no entry has a key. */
  keys: string;
}

/**
 * `stored` is durable; a refused batch is not stored. `moved`: it belongs to the object of its data center. `flush_in`
 * asks the caller to flush the waiting clicks after so many ms (`flushLater`).
 */
export type CommitReply =
  | { stored: true; flush_in?: number }
  | { stored: false; reason: "backlog" | "storage" | "moved" };

/** A click accepted at `now` (ms) from a country, null if unknown; makes the id of its audit event. */
export function arrivalOf(click: Click, now: number, country: string | null = null): PendingArrival {
  const entry: Arrival = {
    id: newId("event", now),
    created_at: iso(now),
    program_id: click.program_id,
    ref: click.ref,
    landing: click.landing,
    referrer: click.referrer,
    sub: click.sub,
    country: country ?? undefined,
  };
  return { entry: JSON.stringify(entry), key: click.id === null ? "" : `${click.program_id}:${click.id}` };
}

/** An arrival at `now` (ms) that is counted but not recorded. */
export function droppedArrival(program_id: string, dropped: ClickDropReason, now: number): PendingArrival {
  const entry: Arrival = { created_at: iso(now), program_id, dropped };
  return { entry: JSON.stringify(entry), key: "" };
}

/** A batch's key among the keys of clicks, which begin with a program id. */
export function batchKey(id: string): string {
  return `batch:${id}`;
}

/** The ids by which an object recognizes a repeated batch, or a repeated click in it. */
export function idsOf({ id, keys }: ClickBatch): string[] {
  return [batchKey(id), ...keys.split(",").filter((key) => key !== "")];
}

export function batchOf(arrivals: readonly PendingArrival[], id: string): ClickBatch {
  let entries = "";
  let keys = "";
  let keyed = false;
  for (const { entry, key } of arrivals) {
    entries += entries === "" ? entry : `,${entry}`;
    keys += `${key},`;
    keyed ||= key !== "";
  }
  return { id, count: arrivals.length, entries, keys: keyed ? keys.slice(0, -1) : "" };
}
