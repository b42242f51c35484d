import { sql, type InferSelectModel } from "drizzle-orm";
import { runBatch, type Database } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { jobRuns } from "../../db/schema.ts";
import { DAY, HOUR, iso, MINUTE } from "../../lib/time.ts";

/** The progress of a job in one database. */
export type JobRun = InferSelectModel<typeof jobRuns>;

/** How often a round of a job begins. */
export type Rhythm = "minute" | "day" | "month";

/** The end of a run: no work is left, it continues, or only failures are left. */
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

/** Deletes the rows of jobs that no longer exist. */
export async function forgetRuns(db: Database, jobs: readonly string[]): Promise<void> {
  await db.run(sql`delete from job_runs where job in (select value from json_each(${JSON.stringify(jobs)}))`);
}

/** Failures are retried less often the longer they last, between these limits. */
const RETRY = { first: 10 * MINUTE, last: 6 * HOUR, share: 6 };

/** The daily trigger begins a round; this applies if a day had no trigger. */
const MISSED_DAY = DAY + HOUR;

/** The time of the job's next run; `now` is the end of a run. */
export function nextRun(every: Rhythm, end: RunEnd, began_at: string, now: number): string {
  if (end === "cut" || every === "minute") return iso(now);
  if (end === "failing") {
    const after = (now - Date.parse(began_at)) / RETRY.share;
    return iso(now + Math.min(Math.max(after, RETRY.first), RETRY.last));
  }
  if (every === "day") return iso(now + MISSED_DAY);
  const at = new Date(now);
  // On the first, work that becomes due during the day still belongs to the month before.
  if (at.getUTCDate() === 1) return iso(now + RETRY.first);
  return iso(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
}

/** The longest run. */
const RUN = MINUTE;

/**
 * Since when a job has served every owner: work due by then is done, or fails. If only failures keep a round open, the
 * last try counts, as in `nextRun`.
 */
export function lastLap({ position, more, failed, began_at, finished_at, next_at }: JobRun): string {
  const isFailing = finished_at === null && position === "" && more === 0 && failed > 0;
  if (!isFailing) return began_at;
  const next = Date.parse(next_at);
  const wait = Math.min(Math.max((next - Date.parse(began_at)) / (RETRY.share + 1), RETRY.first), RETRY.last);
  return iso(next - wait - RUN);
}

/** A job that is behind: its round takes too long, or does not begin. */
export interface LateJob {
  job: string;
  since: string;
  /** At least this many owners have work left. */
  left: number;
  failed: number;
}

/** A round that is not over after this time, or has not begun this long after its time, is late. */
const LATE_AFTER = HOUR;

/** Replaces the job's name if no job has ever run, because no cron ran. */
const EVERY_JOB = "every job";

/** The jobs of one database that are behind. One round trip, of as many rows as there are jobs. */
export async function lateJobs(db: Database, now: number): Promise<LateJob[]> {
  const before = iso(now - LATE_AFTER);
  const [rows, [first]] = await runBatch(db, [
    db.select().from(jobRuns).orderBy(jobRuns.job),
    selectRows(db, { created_at: text }, sql`select created_at from programs order by id limit 1`),
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
