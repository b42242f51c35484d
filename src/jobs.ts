import { wakeClickObjects } from "./clicks/wake.ts";
import type { Ctx } from "./core/context.ts";
import { approveDueCommissions } from "./core/auto-approve.ts";
import { generateMonthlyPayouts } from "./core/payout-month.ts";
import { reconcileTransfers } from "./core/payout-reconcile.ts";
import { forgetOld } from "./core/retention.ts";
import { finishUnfinished } from "./core/unfinished.ts";
import type { Bindings } from "./env.ts";
import { connectOf } from "./http/connect.ts";
import { logLine, reasonOf } from "./lib/log.ts";
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

/** "Cron generates the past calendar month on the first of each month" (contract §7); on other days it does nothing. */
const MONTHLY_PAYOUTS: Job = {
  name: "generate the past month's payouts",
  run: ({ ctx }) => generateMonthlyPayouts(ctx),
};

/** What each cron of `wrangler.toml` runs. */
export const JOBS: Readonly<Record<string, readonly Job[]>> = {
  "* * * * *": [
    { name: "wake due deliveries", run: ({ outbound }) => wakeDue(outbound) },
    { name: "wake click objects", run: ({ env }) => wakeClickObjects(env) },
    {
      name: "finish vendor events and payments",
      run: ({ ctx, outbound: { now } }) => finishUnfinished(ctx, () => now() < ctx.now + UNFINISHED_BUDGET),
    },
    {
      name: "reconcile open transfers",
      run: ({ ctx, env, outbound: { now } }) =>
        reconcileTransfers(ctx, connectOf(env), () => now() < ctx.now + UNFINISHED_BUDGET),
    },
    // What the run of the first left over, was cut off from, or missed.
    MONTHLY_PAYOUTS,
  ],
  "17 3 * * *": [
    { name: "disable failing endpoints", run: ({ ctx, env }) => disableFailingEndpoints(ctx, env) },
    { name: "forget what is past its time", run: ({ ctx }) => forgetOld(ctx) },
    { name: "approve due commissions", run: ({ ctx }) => approveDueCommissions(ctx) },
  ],
  "23 0 1 * *": [MONTHLY_PAYOUTS],
};

/** Runs a cron's jobs side by side; one that fails stops no other. An unknown cron runs nothing. Both are logged. */
export async function runJobs(cron: string, context: JobContext): Promise<void> {
  const jobs = JOBS[cron];
  if (!jobs) {
    logLine("error", { what: "unknown cron", cron });
    return;
  }
  const results = await Promise.allSettled(jobs.map(async (job) => job.run(context)));
  for (const [i, result] of results.entries()) {
    if (result.status === "fulfilled") continue;
    logLine("error", { what: "job failed", job: jobs[i]?.name, reason: reasonOf(result.reason) });
  }
}
