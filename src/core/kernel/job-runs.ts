import { sql, type InferSelectModel } from "drizzle-orm";
import { runBatch, type Database } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import { jobRuns } from "../../db/schema.ts";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time.ts";

/** How far a job is in one database. */
export type JobRun = InferSelectModel<typeof jobRuns>;

/** How often a round of a job begins. */
export type Rhythm = "minute" | "day" | "month";

/** How a run of a job ended: nothing is left, it goes on, or only what failed is left. */
export type RunEnd = "finished" | "cut" | "failing";

/** All of them, by the name of the job. One statement. */
export async function readRuns(db: Database): Promise<Map<string, JobRun>> {
  const rows = await db.select().from(jobRuns);
  return new Map(rows.map((run) => [run.job, run]));
}

export async function saveRun(db: Database, { job, ...run }: JobRun): Promise<void> {
  await db
    .insert(jobRuns)
    .values({ job, ...run })
    .onConflictDoUpdate({ target: jobRuns.job, set: run });
}

/** Forgets jobs that there are no longer, which would stay behind. */
export async function forgetRuns(db: Database, jobs: readonly string[]): Promise<void> {
  await db.run(sql`delete from job_runs where job in (select value from json_each(${JSON.stringify(jobs)}))`);
}

/** What fails is tried again later the longer it fails, between these. */
const RETRY = { first: 10 * MINUTE, last: 6 * HOUR, share: 6 };

/** The daily trigger begins a round; this is for the day on which it did not come. */
const MISSED_DAY = DAY + HOUR;

/** When the job is to be looked at again; `now` is the end of a run. */
export function nextRun(every: Rhythm, end: RunEnd, began_at: string, now: number): string {
  if (end === "cut" || every === "minute") return iso(now);
  if (end === "failing") {
    const after = (now - Date.parse(began_at)) / RETRY.share;
    return iso(now + Math.min(Math.max(after, RETRY.first), RETRY.last));
  }
  if (every === "day") return iso(now + MISSED_DAY);
  const at = new Date(now);
  // On the first, what turns due during the day is still of the month before.
  if (at.getUTCDate() === 1) return iso(now + RETRY.first);
  return iso(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
}

/** No run takes longer. */
const RUN = MINUTE;

/**
 * Since when a job has been through everybody: what was due by then is done, or fails. Of a round that only what fails keeps
 * open the last try counts, which `nextRun` says.
 */
export function lastLap({ position, more, failed, began_at, finished_at, next_at }: JobRun): string {
  const isFailing = finished_at === null && position === "" && more === 0 && failed > 0;
  if (!isFailing) return began_at;
  const next = Date.parse(next_at);
  const wait = Math.min(Math.max((next - Date.parse(began_at)) / (RETRY.share + 1), RETRY.first), RETRY.last);
  return iso(next - wait - RUN);
}

/** A job that is behind: its round goes on for too long, or does not begin. */
export interface LateJob {
  job: string;
  since: string;
  /** At least so many have something left. */
  left: number;
  /** How many of these failed. */
  failed: number;
}

/** A round that is not over after so long, or has not begun so long after its time, is late. */
const LATE_AFTER = HOUR;

/** In place of a job where none has ever run: no cron came. */
const EVERY_JOB = "every job";

/** The jobs of one database that are behind. One round trip, of as many rows as there are jobs. */
export async function lateJobs(db: Database, now: number): Promise<LateJob[]> {
  const before = iso(now - LATE_AFTER);
  const [rows, [first]] = await runBatch(db, [
    db.select().from(jobRuns).orderBy(jobRuns.job),
    shaped(db, { created_at: text }, sql`select created_at from programs order by id limit 1`),
  ]);
  if (rows.length === 0) {
    return first && first.created_at < before ? [{ job: EVERY_JOB, since: first.created_at, left: 0, failed: 0 }] : [];
  }
  return rows.flatMap(({ job, began_at, finished_at, next_at, more, failed }) => {
    const since = finished_at === null ? began_at : next_at;
    if (since >= before) return [];
    return [{ job, since, left: finished_at === null ? Math.max(more + failed, 1) : 0, failed }];
  });
}
