import type { BaseCtx } from "../kernel/context.ts";
import { readPercentFull, WARNED_AT } from "../kernel/database-size.ts";
import { lateJobs, type LateJob } from "../jobs/job-runs.ts";
import { everyShard } from "../kernel/shards.ts";

export interface Health {
  /** The shards whose database does not answer. */
  away: number[];
  /** The periodic jobs that are behind. */
  behind: (LateJob & { shard: number })[];
  /** The shards whose database needs a warning, and the percentage that each has filled. */
  filling: { shard: number; percent: number }[];
}

/** Reads the progress of the jobs and the size of each database, with trivial statements. */
export async function readHealth(ctx: BaseCtx): Promise<Health> {
  const health: Health = { away: [], behind: [], filling: [] };
  await Promise.all(
    everyShard(ctx).map(async ({ db, shard, now }) => {
      try {
        const [late, percent] = await Promise.all([lateJobs(db, now), readPercentFull(db)]);
        if (percent >= WARNED_AT) health.filling.push({ shard, percent });
        health.behind.push(...late.map((job) => ({ ...job, shard })));
      } catch {
        health.away.push(shard);
      }
    }),
  );
  health.away.sort((a, b) => a - b);
  health.behind.sort((a, b) => a.shard - b.shard);
  health.filling.sort((a, b) => a.shard - b.shard);
  return health;
}
