import type { Arrival, Click, ClickDropReason } from "../domain/click.ts";
import { newId } from "../lib/id.ts";
import { iso } from "../lib/time.ts";

/** An arrival in the isolate, waiting to be made durable. */
export interface PendingArrival {
  /** JSON text of an `Arrival`: written once here, stored as it is, parsed when it is flushed. */
  entry: string;
  /** Under which a repetition is recognized; empty when the sender gave no id. */
  key: string;
}

/** Arrivals that are made durable together, as one call to the object. */
export interface ClickBatch {
  /** Minted by the isolate, the same on a repeated call. */
  id: string;
  count: number;
  /** The entries, joined by commas: a JSON array without its brackets. */
  entries: string;
  /** The keys, joined by commas, one per entry; empty when none of them has a key. */
  keys: string;
}

/**
 * `stored` means durable; a refusal has stored nothing. `moved`: the batch is for the object of its data center. With
 * `flush_in` the caller is to flush what waits in the object, after so many ms (`flushLater`).
 */
export type CommitReply =
  | { stored: true; flush_in?: number }
  | { stored: false; reason: "backlog" | "storage" | "moved" };

/**
 * A click accepted at `now` (ms) from a country, null where that is unknown: the id of its audit event is minted here
 * (architecture, "Clicks near the visitor").
 */
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

/** An arrival at `now` (ms) that is counted and not recorded. */
export function droppedArrival(program_id: string, dropped: ClickDropReason, now: number): PendingArrival {
  const entry: Arrival = { created_at: iso(now), program_id, dropped };
  return { entry: JSON.stringify(entry), key: "" };
}

/** A batch's id among the keys of clicks, which begin with a program id. */
export function batchKey(id: string): string {
  return `batch:${id}`;
}

/** All under which an object recognizes a repetition of a batch, or of a click in it. */
export function idsOf({ id, keys }: ClickBatch): string[] {
  return [batchKey(id), ...keys.split(",").filter((key) => key !== "")];
}

/** Puts arrivals into one batch. */
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
