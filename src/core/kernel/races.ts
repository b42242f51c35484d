import type { SQL } from "drizzle-orm";
import type { Write } from "./commit.ts";
import { CommitConflict, refuseIf } from "./conflict.ts";
import type { BaseCtx } from "./context.ts";

/** Every lost race means that another one was won, so this many concurrent changes all succeed. */
export const MAX_RACES = 100;

/**
 * Repeats read → decide → commit as long as others change the same rows in between (architecture, invariant 1).
 * @throws {CommitConflict} of kind `unique` at once; of kind `lost_race` after `MAX_RACES` attempts.
 */
export async function untilWon<T>(attempt: () => Promise<T>): Promise<T> {
  for (let lost = 1; ; lost++) {
    try {
      return await attempt();
    } catch (error) {
      const raced = error instanceof CommitConflict && error.kind === "lost_race";
      if (!raced || lost >= MAX_RACES) throw error;
    }
  }
}

/** A guard on the result of the writes before it in the same commit: if `condition` holds, the commit is refused. */
export function refuseWhere(ctx: Pick<BaseCtx, "db">, condition: SQL): Write {
  return { statement: ctx.db.run(refuseIf(condition)) };
}
