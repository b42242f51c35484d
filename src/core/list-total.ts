import { sql, type SQL } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { listCounts } from "../db/schema.ts";
import type { ProgramCtx } from "./context.ts";

/** The statement that counts a list: where a filter narrows it beyond its state, by the rows themselves. */
export function totalOfList(
  ctx: ProgramCtx,
  list: { name: typeof listCounts.$inferSelect.list; table: SQLiteTable; state: string | undefined },
  conditions: SQL | undefined,
  narrowed: boolean,
) {
  if (!narrowed) return countedTotal(ctx, list.name, list.state);
  return ctx.db
    .select({ total: sql<number>`count(*)` })
    .from(list.table)
    .where(conditions);
}

export function isTimed({ from, to }: { from?: number | undefined; to?: number | undefined }): boolean {
  return from !== undefined || to !== undefined;
}

/**
 * How many rows a list has, of one state or of all, from the kept counts: as many rows are read as there are states,
 * whatever the length of the list.
 */
function countedTotal(ctx: ProgramCtx, list: typeof listCounts.$inferSelect.list, state: string | undefined) {
  return ctx.db.all<{ total: number }>(sql`select coalesce(sum(count), 0) as total from list_counts
    where program_id = ${ctx.programId} and list = ${list} ${state === undefined ? sql`` : sql`and state = ${state}`}`);
}
