import { archiveOldClicks, noteOldClicks } from "./clicks/archive.ts";
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

/** What a job works with: one database, of which there may be several. */
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

/** What the three cron triggers run (contract §13). */
export const JOBS = {
  minutely: [
    { name: "wake due deliveries", run: ({ outbound }) => wakeDue(outbound) },
    { name: "wake click objects", run: ({ env, ctx }) => wakeClickObjects(env, ctx.shard) },
    {
      name: "finish vendor events and payments",
      run: ({ ctx, outbound: { now } }) => finishUnfinished(ctx, () => now() < ctx.now + UNFINISHED_BUDGET),
    },
    {
      name: "reconcile open transfers",
      run: ({ ctx, env, outbound: { now } }) =>
        reconcileTransfers(ctx, connectOf(env), () => now() < ctx.now + UNFINISHED_BUDGET),
    },
    {
      name: "archive clicks",
      run: ({ ctx, env, outbound: { now } }) => archiveOldClicks(ctx, env, () => now() < ctx.now + UNFINISHED_BUDGET),
    },
    // What the run of the first left over, was cut off from, or missed.
    MONTHLY_PAYOUTS,
  ],
  daily: [
    { name: "disable failing endpoints", run: ({ ctx, env }) => disableFailingEndpoints(ctx, env) },
    { name: "forget what is past its time", run: ({ ctx }) => forgetOld(ctx) },
    { name: "note clicks beyond their retention", run: ({ ctx, env }) => noteOldClicks(ctx, env) },
    { name: "approve due commissions", run: ({ ctx }) => approveDueCommissions(ctx) },
  ],
  monthly: [MONTHLY_PAYOUTS],
} satisfies Record<string, readonly Job[]>;

/**
 * Which trigger a cron expression is, by its shape: a deployment may move its daily and monthly jobs to other hours
 * without touching the code. Null for what is no cron expression of five fields.
 */
export function triggerOf(cron: string): keyof typeof JOBS | null {
  const [minute, hour, day, , ...rest] = cron.trim().split(/\s+/);
  if (minute === undefined || hour === undefined || day === undefined || rest.length !== 1) return null;
  if (minute.startsWith("*") && hour === "*") return "minutely";
  return day === "*" ? "daily" : "monthly";
}

/**
 * Runs a cron's jobs for one database side by side; one that fails stops no other. An unknown cron runs nothing. Both
 * are logged.
 */
export async function runJobs(cron: string, context: JobContext): Promise<void> {
  const trigger = triggerOf(cron);
  if (trigger === null) {
    logLine("error", { what: "unknown cron", cron });
    return;
  }
  const jobs: readonly Job[] = JOBS[trigger];
  const results = await Promise.allSettled(jobs.map(async (job) => job.run(context)));
  for (const [i, result] of results.entries()) {
    if (result.status === "fulfilled") continue;
    logLine("error", {
      what: "job failed",
      job: jobs[i]?.name,
      shard: context.ctx.shard,
      reason: reasonOf(result.reason),
    });
  }
}
