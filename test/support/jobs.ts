/** The crons of the tests' one database, and single jobs of theirs. */
import { env } from "cloudflare:workers";
import type { Owner, Work } from "../../src/core/job.ts";
import { runCron } from "../../src/jobs.ts";
import { testContext } from "./program.ts";

/** Runs a cron as the platform would at an instant; wake-ups go nowhere. */
export async function fireCron(cron: string, now: number = Date.now()): Promise<void> {
  const ctx = testContext(now);
  const outbound = { db: ctx.db, now: () => now, wake: async () => {} };
  await runCron(cron, [{ env, ctx, outbound }]);
}

/**
 * The work of a job without the budget, the place and the log of the crons: for what it does to whom. Serves everybody for whom there is something, until nothing is left, for as long as it may `goOn`. Gives how often it
 * served. @throws what the first one failed with.
 */
export async function serveAll<One extends Owner>(work: Work<One> | null, goOn = () => true): Promise<number> {
  let served = 0;
  if (!work) return served;
  for (let after = ""; ;) {
    const owners = await work.due(after);
    for (const owner of owners) {
      for (let more = true; more; served++) {
        if (!goOn()) return served;
        more = await work.serve(owner);
      }
      after = owner.key;
    }
    if (owners.length === 0) return served;
  }
}
