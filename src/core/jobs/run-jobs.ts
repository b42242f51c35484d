import { countStatements, type Database } from "../../db/client.ts";
import { openBudget, type Share } from "../../lib/budget.ts";
import { isUnavailable } from "../../lib/errors.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { partsOf } from "../../lib/slices.ts";
import { compareUtf8 } from "../../lib/utf8-order.ts";
import { iso, MINUTE, SECOND } from "../../lib/time.ts";
import type { BaseCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { forgetRuns, lastLap, nextRun, readRuns, saveRun, type JobRun, type Rhythm, type RunEnd } from "./job-runs.ts";

/** Periodic work: idempotent, and harmless if it runs twice at once (JOB-2). */
export interface Job<Context> {
  name: string;
  every: Rhythm;
  /**
   * A job that goes first: while a round of it is due, this one waits for a later run. A round is due until it has
   * served every owner since this job's round was to begin.
   */
  after?: string;
  /** Null if the deployment does not do this. */
  work(context: Context): Work | null;
}

export interface JobDatabase<Context> {
  ctx: BaseCtx;
  /** The context of a job, by its name, over `db`; it reports its calls that are not statements. */
  bind(job: string, db: Database, onCall: (calls: number) => void): Context;
}

export interface Trigger {
  /** Rounds of this rhythm begin; of the others, unfinished and overdue rounds continue. */
  begins: Rhythm;
  /** ms */
  now: () => number;
}

/** A part of the platform's 1,000 statements an invocation: repetitions after lost races fit in as well. */
const STATEMENTS = 900;
/** How long a run begins new work; the next run continues. */
const BUDGET_MS = 25 * SECOND;
/** The position of a run, written before its first work and at its end. */
const SAVES = 2;
/** One look at the due owners. */
const LOOK = 1;
/** Statements in each database: reading the positions of its jobs, and deleting those of jobs that no longer exist. */
const LOOK_UPS = 2;
/** The run ends after this many consecutive steps without storage. */
const GIVEN_UP_AFTER = 3;
/** A run without work stores that only this often: well before the job counts as late. */
const IDLE_NOTE = 30 * MINUTE;

/**
 * Runs the due jobs of all databases concurrently, within one budget of statements and time that goes to the work. In
 * each database a job continues from the end of its last run, from one owner to the next: each is served a bounded
 * part, then again in turn while there is budget. A failing owner is skipped; so is one during which the run dies,
 * because its position is stored before. No job and no database can take the budget that another needs for its next
 * step: each is promised that much, in turns if there is not enough for all.
 */
export async function runJobs<Context>(
  jobs: readonly Job<Context>[],
  databases: readonly JobDatabase<Context>[],
  trigger: Trigger,
): Promise<void> {
  const began = trigger.now();
  const names = new Set(jobs.map(({ name }) => name));
  const known = new Map(databases.map((database) => [database, readKnown(database.ctx, names)]));
  const chosen = trigger.begins === "minute" ? jobs : jobs.filter(({ every }) => every === trigger.begins);
  const limit = STATEMENTS - LOOK_UPS * databases.length;
  const budget = openBudget(limit);
  const lanes = chosen.flatMap((job) => databases.map((database) => laneOf(job, database)));
  const running = inTurns(lanes, limit, began).map(async (lane) => {
    const share = budget.open(lane.part);
    try {
      const runs = await known.get(lane.database);
      if (!runs) return;
      const run = runs.get(lane.job.name);
      const now = iso(trigger.now());
      const isDue = (job: string) => (runs.get(job)?.next_at ?? "") <= now || isAwaited(job, jobs, runs, now);
      if (lane.job.after !== undefined && names.has(lane.job.after) && isDue(lane.job.after)) return;
      if (trigger.begins !== "minute" || isDue(lane.job.name)) {
        await runLane(lane, run, { ...trigger, share, until: began + BUDGET_MS });
      }
    } finally {
      share.leave();
    }
  });
  await Promise.all(running);
}

/**
 * Whether a round is to begin of a job that waits for this one, which has not served every owner since that time: work
 * that became due by then is done first, at any time of this job's own. Failures do not delay the other job.
 */
function isAwaited(
  first: string,
  jobs: readonly Pick<Job<never>, "name" | "after">[],
  runs: Map<string, JobRun>,
  now: string,
): boolean {
  const before = runs.get(first);
  const since = before ? lastLap(before) : "";
  return jobs.some(({ name, after }) => {
    const run = after === first ? runs.get(name) : undefined;
    return run !== undefined && run.finished_at !== null && run.next_at <= now && since < run.next_at;
  });
}

/** A job in a database. */
interface Lane<Context> {
  job: Job<Context>;
  database: JobDatabase<Context>;
  work: Work | null;
  /** The budget of its next step. */
  part: number;
  /** Statements sent but not counted yet. */
  sent: number;
}

function laneOf<Context>(job: Job<Context>, database: JobDatabase<Context>): Lane<Context> {
  const lane: Lane<Context> = { job, database, work: null, part: LOOK + SAVES, sent: 0 };
  const count = (calls: number) => (lane.sent += calls);
  lane.work = job.work(database.bind(job.name, countStatements(database.ctx.db, count), count));
  if (lane.work) lane.part += lane.work.cost * (lane.work.atOnce ?? 1);
  return lane;
}

/** From minute to minute others come first: as many as the limit covers. */
function inTurns<T extends { part: number }>(lanes: readonly T[], limit: number, now: number): T[] {
  const whole = lanes.reduce((sum, { part }) => sum + part, 0);
  if (whole <= limit) return [...lanes];
  const served = Math.max(1, Math.floor((limit / whole) * lanes.length));
  const first = (Math.floor(now / MINUTE) * served) % lanes.length;
  return [...lanes.slice(first), ...lanes.slice(0, first)];
}

/** Null if the database does not answer. */
async function readKnown(ctx: BaseCtx, names: ReadonlySet<string>): Promise<Map<string, JobRun> | null> {
  try {
    const runs = await readRuns(ctx.db);
    const gone = [...runs.keys()].filter((name) => !names.has(name));
    if (gone.length > 0) await forgetRuns(ctx.db, gone);
    return runs;
  } catch (error) {
    logLine("error", { what: "job failed", shard: ctx.shard, reason: reasonOf(error) });
    return null;
  }
}

interface Means extends Trigger {
  share: Share;
  until: number;
}

async function runLane<Context>(lane: Lane<Context>, before: JobRun | undefined, means: Means): Promise<void> {
  const { job, database, work } = lane;
  const { db, shard } = database.ctx;
  const run = startOf(job.name, before, means);
  let end: RunEnd = "finished";
  let isBusy = false;
  if (work) {
    const steps = openSteps(lane, work, run, means);
    try {
      end = await walk(work, run, steps);
    } catch (error) {
      end = "cut";
      logLine("error", { what: "job failed", job: job.name, shard, reason: reasonOf(error) });
    }
    isBusy = steps.isBusy;
  }
  const now = means.now();
  run.next_at = nextRun(job.every, end, run.began_at, now);
  if (end === "finished") run.finished_at = iso(now);
  const isNews = (isBusy && !work?.unnoted) || end !== "finished" || job.every !== "minute" || !before?.finished_at;
  if (isNews || Date.parse(before.next_at) <= now - IDLE_NOTE) await note(db, run, shard);
}

/** The start of a run: an unfinished round continues, else a new one begins. */
function startOf(job: string, before: JobRun | undefined, { begins, now }: Means): JobRun {
  const at = iso(now());
  const fresh = { job, position: "", more: 0, failed: 0, began_at: at, finished_at: null, next_at: at };
  if (!before || before.finished_at !== null) return fresh;
  if (before.position === "") return { ...fresh, began_at: before.began_at };
  // A round that begins before the last is over: one more lap for owners behind the position.
  return { ...before, more: before.more + (begins === "minute" ? 0 : 1) };
}

async function note(db: Database, run: JobRun, shard: number): Promise<void> {
  try {
    await saveRun(db, run);
  } catch (error) {
    // The next run begins at this run's start, without loss.
    logLine("error", { what: "a job's place is not kept", job: run.job, shard, reason: reasonOf(error) });
  }
}

/** The steps of a walk, within the budget. */
interface Steps {
  /** Null if the budget is spent. */
  due(after: string): Promise<Owner[] | null>;
  /** Returns the owners with more work left; null if the budget is spent and no owner was served. */
  serve(owners: readonly Owner[]): Promise<Owner[] | null>;
  /** How long an owner was served so far, ms. */
  spent(owner: Owner): number;
  /** Whether the run had an owner to serve. */
  readonly isBusy: boolean;
}

/** Walks one lap after the other from the position of `run`, and keeps it up to date. */
async function walk({ atOnce = 1, everybody }: Work, run: JobRun, steps: Steps): Promise<RunEnd> {
  for (;;) {
    const again: Owner[] = [];
    const cut = (): RunEnd => {
      run.more += again.length;
      return "cut";
    };
    for (;;) {
      const owners = await steps.due(run.position);
      if (!owners) return cut();
      if (owners.length === 0) break;
      for (const group of partsOf(owners, atOnce)) {
        const more = await steps.serve(group);
        if (!more) return cut();
        again.push(...more);
        run.position = group.at(-1)!.key;
      }
    }
    run.position = "";
    const isOver = run.more === 0 && again.length === 0;
    while (again.length > 0) {
      // A slow owner waits for those who had less of the run's time.
      again.sort((a, b) => steps.spent(a) - steps.spent(b));
      const more = await steps.serve(again.slice(0, atOnce));
      if (!more) return cut();
      again.splice(0, atOnce);
      again.push(...more);
    }
    if (isOver) return run.failed > 0 && !everybody ? "failing" : "finished";
    // Another lap: for owners that an earlier run left unfinished, and for work that became due behind this one.
    run.more = 0;
    run.failed = 0;
  }
}

/** How long each owner was served. */
function openTimes(now: () => number) {
  const times = new Map<string, number>();
  const spent = ({ key }: Owner) => times.get(key) ?? 0;
  return {
    spent,
    async measure<T>(owner: Owner, serve: () => Promise<T>): Promise<T> {
      const began = now();
      try {
        return await serve();
      } finally {
        times.set(owner.key, spent(owner) + now() - began);
      }
    },
  };
}

function openSteps<Context>(lane: Lane<Context>, work: Work, run: JobRun, means: Means): Steps {
  const { job, database } = lane;
  const { db, shard } = database.ctx;
  const { share, now, until } = means;
  let isBusy = false;
  let unavailable = 0;

  async function spend<T>(amount: number, ask: () => Promise<T>): Promise<T | null> {
    if (unavailable >= GIVEN_UP_AFTER || now() >= until || !(await share.take(amount))) return null;
    lane.sent = 0;
    try {
      // It may have had to wait for its share.
      return now() >= until ? null : await ask();
    } finally {
      share.correct(lane.sent - amount);
    }
  }

  /** Owners that failed in this run: they are not tried again in it. */
  const failed = new Set<string>();
  const times = openTimes(now);

  async function serveOne(owner: Owner): Promise<Owner[]> {
    try {
      const hasMore = await times.measure(owner, () => work.serve(owner));
      unavailable = 0;
      return hasMore ? [owner] : [];
    } catch (error) {
      run.failed += 1;
      failed.add(owner.key);
      unavailable = isUnavailable(error) ? unavailable + 1 : 0;
      logLine("error", { what: "job failed", job: job.name, shard, owner: owner.key, reason: reasonOf(error) });
      return [];
    }
  }

  return {
    spent: times.spent,
    due: (after) =>
      spend(LOOK, async () => {
        const owners = await work.due(after);
        // Otherwise the lap would never end.
        if (owners.some(({ key }) => compareUtf8(key, after) <= 0))
          throw new Error("a job found somebody behind its place");
        return owners;
      }),
    async serve(group) {
      const owners = group.filter(({ key }) => !failed.has(key));
      run.failed += group.length - owners.length;
      if (owners.length === 0) return [];
      if (!isBusy && !(await share.take(SAVES))) return null;
      return spend(work.cost * owners.length, async () => {
        const isFirst = !isBusy;
        isBusy = true;
        if (isFirst && !work.unnoted) {
          // If the run dies during these, the next one continues behind them and returns later.
          await note(db, { ...run, position: owners.at(-1)!.key, more: run.more + 1 }, shard);
        }
        return (await Promise.all(owners.map(serveOne))).flat();
      });
    },
    get isBusy() {
      return isBusy;
    },
  };
}
