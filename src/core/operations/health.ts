import type { BaseCtx } from "../kernel/context.ts";
import { readPercentFull, WARNED_AT } from "../kernel/database-size.ts";
import { lateJobs, type LateJob } from "../kernel/job-runs.ts";
import { everyShard } from "../kernel/shards.ts";

export interface Health {
  /** The shards whose database does not answer. */
  away: number[];
  /** The periodic jobs that are behind. */
  behind: (LateJob & { shard: number })[];
  /** The shards whose database is to be warned of, and how full each is. */
  filling: { shard: number; percent: number }[];
}

/** Trivial reads of each database: where its jobs are, and how full it is. */
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
