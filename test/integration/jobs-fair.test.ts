/**
 * Every periodic job with 500 programs, on one database, and in the nightly run on 32; one program always fails and one
 * has the most rows. All programs are served within a bounded number of runs, failures are skipped and reported, and a
 * backlog is visible.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lateJobs } from "../../src/core/jobs/job-runs.ts";
import { JOBS } from "../../src/jobs.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { databases, FAILING, numberOf, programId, START, TRIALS, wipe } from "../support/job-trials.ts";
import { runJob } from "../support/jobs.ts";
import { openTrial, PROGRAMS } from "../support/open-trial.ts";
import type { Trial } from "../support/trial.ts";
import { testContext } from "../support/program.ts";

/** A failed program is retried after at most six hours; an interrupted round is finished first. */
const ROUNDS = 3;

let logged: string[];
beforeEach(() => {
  logged = [];
  vi.spyOn(console, "error").mockImplementation((line) => void logged.push(String(line)));
  vi.spyOn(console, "info").mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await Promise.all(databases.map(wipe));
});

/** The numbers of the programs with remaining work. */
async function leftIn(trial: Trial, shards: D1Database[], served: Set<number>): Promise<number[]> {
  if (trial.left === "") return Array.from({ length: PROGRAMS }, (_, g) => g).filter((g) => !served.has(g));
  const results = await Promise.all(
    shards.map((database) => database.prepare(trial.left).all<{ program_id: string }>()),
  );
  return results.flatMap(({ results: rows }) => rows.map(({ program_id }) => numberOf(program_id)));
}

describe.each(databases.length > 1 ? ([1, 32] as const) : ([1] as const))("on %i", (count) => {
  it.each(JOBS.map(({ name }) => name))("%s", async (name) => {
    const trial = TRIALS[name];
    const shards = databases.slice(0, count);
    await openTrial(trial, shards);
    const served = new Set<number>();
    const change: Parameters<typeof runJob>[3] = (context) =>
      trial.change?.(context, (g) => void served.add(g)) ?? context;
    let now = START;
    const run = async () => {
      await runJob(name, now, count, change);
      now += MINUTE;
      return leftIn(trial, shards, served);
    };
    const fails = "at" in trial.fails ? [FAILING] : [];
    let left = await run();
    let runs = 1;
    for (; left.length > fails.length && runs < 2 * trial.runs[count]; runs++) left = await run();
    expect(left).toEqual(fails);
    if (!trial.calls) expect(globalThis.fetch).not.toHaveBeenCalled();
    expect(runs).toBeLessThanOrEqual(trial.runs[count]);
    if (fails.length === 0) return;
    expect(logged.join("\n")).toContain(programId(FAILING).slice(5));
    if (trial.isOver) return;
    // The job's state in /healthz while the failure lasts.
    now = START + HOUR + MINUTE;
    const { db } = testContext();
    let late: Awaited<ReturnType<typeof lateJobs>> = [];
    // A run may end before the failing program's turn.
    for (runs = 0; runs < trial.runs[count] && late[0]?.failed !== 1; runs++) {
      await run();
      late = await lateJobs(db, now);
    }
    expect(late).toMatchObject([{ job: name, since: iso(START), failed: 1 }]);
    await shards[0]!.prepare("drop trigger trial_fails").run();
    for (let round = 0; round < ROUNDS && (round === 0 || left.length > 0); round++) {
      now += 6 * HOUR;
      left = await run();
      for (runs = 1; left.length > 0 && runs < trial.runs[count]; runs++) left = await run();
    }
    expect(left).toEqual([]);
  });
});

it("has a trial of every job (JOB-2)", () => {
  expect(Object.keys(TRIALS).toSorted()).toEqual(JOBS.map(({ name }) => name).toSorted());
});
