import type { SQL } from "drizzle-orm";
import type { Write } from "./commit.ts";
import { CommitConflict, refuseIf } from "./conflict.ts";
import type { BaseCtx } from "./context.ts";

/** Every lost race means that another one was won, so this many at once still all come through. */
export const MAX_RACES = 100;

/**
 * Runs read → decide → commit again for as long as others change the same thing in between (architecture, invariant 1).
 * @throws {CommitConflict} of kind `unique` at once; of kind `lost_race` when it never came through.
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

/** A guard on what the writes before it in the same commit have made: where `condition` holds, nothing is written. */
export function refuseWhere(ctx: Pick<BaseCtx, "db">, condition: SQL): Write {
  return { statement: ctx.db.run(refuseIf(condition)) };
}
