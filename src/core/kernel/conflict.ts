/** Changes that the database refuses: the guards of a batch, and the errors of a failed batch. */
import { sql, type SQL } from "drizzle-orm";
import { AppError } from "../../lib/errors.ts";

/** No row was written: a guard found another state than the one read, or a unique index found a duplicate. */
export class CommitConflict extends Error {
  readonly kind: "lost_race" | "unique";
  /** The index or columns that SQLite named, for `unique`. */
  readonly constraint: string;

  constructor(kind: "lost_race" | "unique", constraint: string) {
    super(`${kind}: ${constraint}`);
    this.name = "CommitConflict";
    this.kind = kind;
    this.constraint = constraint;
  }
}

/** No row was written: a balance would exceed 2^51 - 1, up to which the sum of a partner's four is exact (PAY-22). */
export class BalanceTooLarge extends AppError {
  constructor(cause: unknown) {
    super("validation_failed", "This would exceed the limit of a balance, 2^51 - 1 smallest units.", {
      cause,
    });
  }
}

/** Fails the batch as a lost race if the condition holds; writes no row itself. */
export function refuseIf(condition: SQL): SQL {
  return sql`insert into commit_guards (lost_race) select 1 where ${condition}`;
}

/** Fails the batch if the statement before it did not change exactly `expect` rows. */
export function refuseUnlessChanged(expect: number): SQL {
  return refuseIf(sql`changes() <> ${expect}`);
}

/** The error of a trigger of `balances`. */
export function tooLargeIn(error: unknown): BalanceTooLarge | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at.message.includes("balance too large")) return new BalanceTooLarge(error);
  }
  return null;
}

/** D1 names the failed constraint only in the text of the error, possibly wrapped by drizzle. */
export function conflictIn(error: unknown): CommitConflict | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const unique = /UNIQUE constraint failed: ([^:]+?)(?:: SQLITE|$)/.exec(at.message);
    if (unique) return new CommitConflict("unique", unique[1]!.trim());
    if (/CHECK constraint failed: lost_race/.test(at.message)) return new CommitConflict("lost_race", "guard");
    // Triggers: a group was deleted, or got a partner, meanwhile.
    if (/group is (?:gone|in use)/.test(at.message)) return new CommitConflict("lost_race", "groups");
  }
  return null;
}
