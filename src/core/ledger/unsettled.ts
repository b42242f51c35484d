/** What a fact or a change concerns may be under way: read before it, and not settled yet. */
import { sql, type SQL } from "drizzle-orm";
import { iso } from "../../lib/time.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";

/**
 * Marks payments (`which`: a condition on them) as unsettled: the minute's job settles what nothing settles before. `also` is
 * set in the same statement.
 */
export function unsettle(
  { db, now }: Pick<ProgramCtx, "db" | "now">,
  which: SQL,
  also?: SQL,
): Write & { statement: Statement } {
  return {
    statement: db.run(
      sql`update payments set facts_revision = facts_revision + 1, updated_at = ${iso(now)}
        ${also ? sql`, ${also}` : sql``} where ${which}`,
    ),
  };
}

/** What is being settled at this moment was read before the change: it loses its race, and reads again. */
export function readAgain({ db, program }: ProgramCtx, when: SQL = sql`true`): Statement {
  return db.run(sql`update payments indexed by payments_unsettled set facts_revision = facts_revision + 1
    where settled_revision < facts_revision and program_id = ${program.id} and ${when}`);
}

/**
 * SQL for a condition on what a payment (`alias`) was settled as, which also holds for one that is not settled: a settling
 * under way may make anything of it, from what it read before the change.
 */
export function orUnsettled(alias: string, condition: SQL): SQL {
  const p = sql.raw(alias);
  return sql`(${p}.settled_revision < ${p}.facts_revision or (${condition}))`;
}
