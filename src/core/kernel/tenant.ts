import { sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { ProgramCtx } from "./context.ts";

/**
 * The tenant filter of rows that another filter already finds: of one partner, payment or payout. The plus keeps the
 * database from the program's own indexes: the planner does not know sizes, and would rather read the whole program in
 * the requested order than sort a few rows.
 */
export function alsoOfProgram(ctx: Pick<ProgramCtx, "programId">, column: SQLiteColumn | SQL): SQL {
  return sql`+${column} = ${ctx.programId}`;
}
