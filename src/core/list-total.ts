import { sql } from "drizzle-orm";
import type { listCounts } from "../db/schema.ts";
import type { ProgramCtx } from "./context.ts";

/**
 * How many rows a list has, of one state or of all, from the kept counts: as many rows are read as there are states,
 * whatever the length of the list.
 */
export function countedTotal(ctx: ProgramCtx, list: typeof listCounts.$inferSelect.list, state: string | undefined) {
  return ctx.db.all<{ total: number }>(sql`select coalesce(sum(count), 0) as total from list_counts
    where program_id = ${ctx.programId} and list = ${list} ${state === undefined ? sql`` : sql`and state = ${state}`}`);
}

export function isTimed({ from, to }: { from?: number | undefined; to?: number | undefined }): boolean {
  return from !== undefined || to !== undefined;
}
