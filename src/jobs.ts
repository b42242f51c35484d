import type { Ctx } from "./core/context.ts";
import { finishUnfinished } from "./core/unfinished.ts";
import type { Bindings } from "./env.ts";
import { SECOND } from "./lib/time.ts";
import type { ConsumerDeps } from "./outbound/consumer.ts";
import { disableFailingEndpoints } from "./outbound/health.ts";
import { wakeDue } from "./outbound/sweep.ts";

export interface JobContext {
  env: Bindings;
  ctx: Ctx;
  outbound: Pick<ConsumerDeps, "db" | "now" | "wake">;
}

/** Work of a cron: idempotent, bounded, and harmless when it runs twice at once (contract §13). */
export interface Job {
  name: string;
  run: (job: JobContext) => Promise<unknown>;
}

/** So long a run of the every-minute job begins new work: the next minute's run finds the rest. */
const UNFINISHED_BUDGET = 25 * SECOND;

/** What each cron of `wrangler.toml` runs. */
export const JOBS: Readonly<Record<string, readonly Job[]>> = {
  "* * * * *": [
    { name: "wake due deliveries", run: ({ outbound }) => wakeDue(outbound) },
    {
      name: "finish vendor events and payments",
      run: ({ ctx, outbound: { now } }) => finishUnfinished(ctx, () => now() < ctx.now + UNFINISHED_BUDGET),
    },
  ],
  "17 3 * * *": [{ name: "disable failing endpoints", run: ({ ctx, env }) => disableFailingEndpoints(ctx, env) }],
  "23 0 1 * *": [],
};

/** Runs a cron's jobs side by side; one that fails stops no other. An unknown cron runs nothing. Both are logged. */
export async function runJobs(cron: string, context: JobContext): Promise<void> {
  const jobs = JOBS[cron];
  if (!jobs) {
    console.error(JSON.stringify({ level: "error", what: "unknown cron", cron }));
    return;
  }
  const results = await Promise.allSettled(jobs.map(async (job) => job.run(context)));
  for (const [i, result] of results.entries()) {
    if (result.status === "fulfilled") continue;
    console.error(
      JSON.stringify({ level: "error", what: "job failed", job: jobs[i]?.name, message: String(result.reason) }),
    );
  }
}
