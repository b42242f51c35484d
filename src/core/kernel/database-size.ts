/** The fullness of the databases: D1 limits the size of each, and refuses every write beyond it. */
import { sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";

/** The size (bytes) at which D1 refuses writes, in the paid plan. */
export const MOST_BYTES = 10_000_000_000;
/** Percent of it at which the operator is warned, and from which on clicks are only counted. */
export const WARNED_AT = 70;
export const NEARLY_FULL_AT = 90;

/** The percentage of its largest size that a database has. One trivial read. */
export async function readPercentFull(db: Database): Promise<number> {
  const { meta } = await db.run(sql`select 1`);
  return percentOf(meta.size_after);
}

/** As of the last write of this isolate; unknown for a database that it has not written yet. */
const sizes = new WeakMap<D1Database, number>();

export function noteSize({ $client }: Database, bytes: number): void {
  sizes.set($client, bytes);
}

/** Whether unverified input has to leave the rest of a database to payments (TRACK-27). */
export function isNearlyFull({ $client }: Database): boolean {
  return percentOf(sizes.get($client) ?? 0) >= NEARLY_FULL_AT;
}

function percentOf(bytes: number): number {
  return Math.floor((bytes / MOST_BYTES) * 100);
}
