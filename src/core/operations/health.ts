import type { BaseCtx } from "../kernel/context.ts";
import { lateJobs, type LateJob } from "../kernel/job-runs.ts";
import { everyShard } from "../kernel/shards.ts";

export interface Health {
  /** The shards whose database does not answer. */
  away: number[];
  /** The periodic jobs that are behind. */
  behind: (LateJob & { shard: number })[];
}

/** One trivial read of each database: where its jobs are. */
export async function readHealth(ctx: BaseCtx): Promise<Health> {
  const health: Health = { away: [], behind: [] };
  await Promise.all(
    everyShard(ctx).map(async ({ db, shard, now }) => {
      try {
        const late = await lateJobs(db, now);
        health.behind.push(...late.map((job) => ({ ...job, shard })));
      } catch {
        health.away.push(shard);
      }
    }),
  );
  health.away.sort((a, b) => a - b);
  health.behind.sort((a, b) => a.shard - b.shard);
  return health;
}
