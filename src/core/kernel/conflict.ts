/** Changes that the database refuses: the guards of a batch, and what a failed batch says. */
import { sql, type SQL } from "drizzle-orm";

/** Nothing was written: a guard found another state than the one read, or a unique index found a duplicate. */
export class CommitConflict extends Error {
  readonly kind: "lost_race" | "unique";
  /** For `unique`: the index or columns that SQLite named. */
  readonly constraint: string;

  constructor(kind: "lost_race" | "unique", constraint: string) {
    super(`${kind}: ${constraint}`);
    this.name = "CommitConflict";
    this.kind = kind;
    this.constraint = constraint;
  }
}

/** Fails the batch where the condition holds, as a lost race; writes no row itself. */
export function refuseIf(condition: SQL): SQL {
  return sql`insert into commit_guards (lost_race) select 1 where ${condition}`;
}

/** Fails the batch where the statement before it did not change exactly `expect` rows. */
export function refuseUnlessChanged(expect: number): SQL {
  return refuseIf(sql`changes() <> ${expect}`);
}

/** D1 names the constraint that failed only in the text of the error, possibly wrapped by drizzle. */
export function conflictIn(error: unknown): CommitConflict | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const unique = /UNIQUE constraint failed: ([^:]+?)(?:: SQLITE|$)/.exec(at.message);
    if (unique) return new CommitConflict("unique", unique[1]!.trim());
    if (/CHECK constraint failed: lost_race/.test(at.message)) return new CommitConflict("lost_race", "guard");
  }
  return null;
}
