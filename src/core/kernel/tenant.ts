import { sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { ProgramCtx } from "./context.ts";

/**
 * The tenant filter of rows found by another filter. The plus keeps the database from the program's indexes: the
 * planner would rather read the whole program than sort a few rows.
 */
export function alsoOfProgram(ctx: Pick<ProgramCtx, "programId">, column: SQLiteColumn | SQL): SQL {
  return sql`+${column} = ${ctx.programId}`;
}
