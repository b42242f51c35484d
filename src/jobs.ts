import { archiveOldClicks, noteOldClicks } from "./clicks/archive.ts";
import { wakeClickObjects } from "./clicks/wake-objects.ts";
import { mailClosedDays } from "./core/clicks/budget.ts";
import { rollUpClicks } from "./core/clicks/roll-up.ts";
import { actingAs, type BaseCtx, type Ctx } from "./core/kernel/context.ts";
import { approveDueCommissions } from "./core/commissions/auto-approve.ts";
import { runJobs, type Job } from "./core/jobs/run-jobs.ts";
import type { Rhythm } from "./core/jobs/job-runs.ts";
import { markApplied } from "./core/ledger/apply-from.ts";
import { storeDigests } from "./core/ledger/digests.ts";
import { foldSearchTexts } from "./core/partners/search.ts";
import { generateMonthlyPayouts } from "./core/payouts/month.ts";
import { observeRates } from "./core/payouts/observe-rates.ts";
import { reconcileTransfers } from "./core/payouts/open-transfers.ts";
import { recountCodes } from "./core/operations/recount-codes.ts";
import { recountEarnings } from "./core/operations/recount-earnings.ts";
import { recountEvents } from "./core/operations/recount-events.ts";
import { recountLists } from "./core/operations/recount-lists.ts";
import { storeSummaries } from "./core/overview/week.ts";
import { reconcilePrograms } from "./core/reconcile/reconcile.ts";
import { forgetOld, forgetUnproved } from "./core/operations/retention.ts";
import { warnOfSize } from "./core/operations/size-warning.ts";
import { readEventLists } from "./core/inbound/read-list.ts";
import { finishVendorEvents, settleUnsettled } from "./core/inbound/settle-jobs.ts";
import { MAX_WAKE_UPS } from "./core/jobs/wake.ts";
import { disableFailingEndpoints } from "./core/webhooks/health.ts";
import { actors } from "./domain/actor.ts";
import type { Bindings } from "./env.ts";
import { connectOf, readsOf } from "./http/connect.ts";
import { warnOperator } from "./http/mails/database-fills.ts";
import { mailOf } from "./http/mails/mailer.ts";
import type { Fetch } from "./lib/deadline.ts";
import { logLine } from "./lib/log.ts";
import type { ConsumerDeps } from "./outbound/consumer.ts";
import { sendMails } from "./outbound/mails.ts";
import { endClaimsAtInactive, wakeDue } from "./outbound/sweep.ts";

/** The context of a run of jobs: one of the deployment's databases. */
export interface RunContext {
  env: Bindings;
  ctx: BaseCtx;
  outbound: Pick<ConsumerDeps, "db" | "now" | "wake">;
}

/** The context of one job, which acts under its own name. */
export interface JobContext extends RunContext {
  ctx: Ctx;
  /** Called for calls that are neither statements nor made through `fetch`, which count as well. */
  onCall: (calls: number) => void;
  /** The global one; each call counts. */
  fetch: Fetch;
}

/** All periodic jobs (JOB-4). `core/jobs/run-jobs.ts` runs them. */
export const JOBS = [
  { name: "wake due deliveries", every: "minute", work: ({ outbound }) => wakeDue(outbound) },
  { name: "end claims at inactive endpoints", every: "minute", work: ({ outbound }) => endClaimsAtInactive(outbound) },
  { name: "wake click objects", every: "minute", work: ({ env, ctx, onCall }) => wakeClickObjects(ctx, env, onCall) },
  { name: "roll up clicks", every: "minute", work: ({ ctx }) => rollUpClicks(ctx) },
  { name: "finish vendor events", every: "minute", work: ({ ctx }) => finishVendorEvents(ctx) },
  { name: "mark payments of applied rules", every: "minute", work: ({ ctx }) => markApplied(ctx) },
  { name: "settle payments", every: "minute", work: ({ ctx }) => settleUnsettled(ctx) },
  {
    name: "reconcile open transfers",
    every: "minute",
    work: ({ ctx, env, fetch }) => reconcileTransfers(ctx, connectOf(env, fetch)),
  },
  {
    name: "read the providers' events",
    every: "minute",
    work: ({ ctx, env, fetch }) => readEventLists(ctx, readsOf(env, fetch)),
  },
  { name: "fold what partners are searched by", every: "minute", work: ({ ctx }) => foldSearchTexts(ctx) },
  { name: "store weekly summaries", every: "minute", work: ({ ctx }) => storeSummaries(ctx) },
  { name: "store e-mails of commissions", every: "minute", work: ({ ctx }) => storeDigests(ctx) },
  { name: "send e-mails", every: "minute", work: ({ ctx, env, onCall }) => sendMails(ctx, mailOf(env), onCall) },
  { name: "forget what is not proved", every: "minute", work: ({ ctx }) => forgetUnproved(ctx) },
  { name: "mail about closed days of clicks", every: "minute", work: ({ ctx }) => mailClosedDays(ctx) },
  { name: "archive clicks", every: "minute", work: ({ ctx, env, onCall }) => archiveOldClicks(ctx, env, onCall) },
  { name: "disable failing endpoints", every: "day", work: ({ ctx }) => disableFailingEndpoints(ctx) },
  { name: "forget what is past its time", every: "day", work: ({ ctx }) => forgetOld(ctx) },
  { name: "note clicks beyond their retention", every: "day", work: ({ ctx, env }) => noteOldClicks(ctx, env) },
  { name: "warn of full databases", every: "day", work: ({ ctx, env }) => warnOfSize(ctx, warnOperator(env)) },
  { name: "approve due commissions", every: "day", work: ({ ctx }) => approveDueCommissions(ctx) },
  { name: "recount events", every: "day", work: ({ ctx }) => recountEvents(ctx) },
  { name: "recount lists", every: "day", work: ({ ctx }) => recountLists(ctx) },
  { name: "recount earnings", every: "day", work: ({ ctx }) => recountEarnings(ctx) },
  { name: "recount codes", every: "day", work: ({ ctx }) => recountCodes(ctx) },
  {
    name: "read the provider's exchange rates",
    every: "day",
    work: ({ ctx, env, fetch }) => observeRates(ctx, readsOf(env, fetch)),
  },
  {
    name: "reconcile the ledger",
    every: "day",
    work: ({ ctx, env, fetch }) => reconcilePrograms(ctx, connectOf(env, fetch)),
  },
  {
    name: "generate the past month's payouts",
    every: "month",
    // Commissions due in both are approved first, as if neither were late.
    after: "approve due commissions",
    work: ({ ctx }) => generateMonthlyPayouts(ctx),
  },
] as const satisfies Job<JobContext>[];
export type JobName = (typeof JOBS)[number]["name"];

/**
 * The rhythms of a cron expression, by its shape: a deployment may choose the hours. Null unless it has five fields.
 */
export function triggerOf(cron: string): Rhythm | null {
  const [minute, hour, day, , ...rest] = cron.trim().split(/\s+/);
  if (minute === undefined || hour === undefined || day === undefined || rest.length !== 1) return null;
  if (minute.startsWith("*") && hour === "*") return "minute";
  return day === "*" ? "day" : "month";
}

/** Runs a cron's `jobs` for the databases of a deployment. An unknown cron runs no job, and is logged. */
export async function runCron(
  cron: string,
  databases: readonly RunContext[],
  jobs: readonly Job<JobContext>[] = JOBS,
): Promise<void> {
  const begins = triggerOf(cron);
  const [first] = databases;
  if (begins === null || !first) {
    logLine("error", { what: "unknown cron", cron });
    return;
  }
  const bound = databases.map((context) => ({
    ctx: context.ctx,
    bind: (job: string, db: Ctx["db"], onCall: (calls: number) => void): JobContext => {
      const { env, ctx, outbound } = context;
      const wake: ConsumerDeps["wake"] = (wakeUps) => {
        onCall(Math.ceil(wakeUps.length / MAX_WAKE_UPS));
        return outbound.wake(wakeUps);
      };
      const counted: Fetch = (url, init) => {
        onCall(1);
        return fetch(url, init);
      };
      const acting = { ...actingAs(ctx, actors.cron(job)), db };
      return { env, ctx: acting, outbound: { ...outbound, db, wake }, onCall, fetch: counted };
    },
  }));
  await runJobs(jobs, bound, { begins, now: first.outbound.now });
}
