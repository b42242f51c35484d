/**
 * An invocation may make 1,000 calls of any kind, so a job with calls outside its database does not start more than that
 * (JOB-2). The test counts the calls itself and does not rely on the job's own report.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { JOBS, type RunContext } from "../../src/jobs.ts";
import { databases, START, TRIALS, wipe } from "../support/job-trials.ts";
import { runJob } from "../support/jobs.ts";
import { openTrial } from "../support/open-trial.ts";
import { watchDatabase } from "../support/watched-database.ts";

const [database] = databases;
const LIMIT = 1_000;
/** Together with one row of each other program, more rows than one run handles. */
const MOST = 100;

let calls = 0;

beforeEach(() => {
  for (const method of ["error", "info"] as const) vi.spyOn(console, method).mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => wipe(database!));

/** The same object; each method call counts. */
function counting<T extends object>(object: T): T {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        calls += 1;
        return Reflect.apply(member, target, args);
      };
    },
  });
}

/** The same context with counting bindings. */
function watched(context: RunContext): RunContext {
  const { binding } = watchDatabase(database!, { before: (statements) => void (calls += statements.length) });
  const db = openDatabase(binding);
  const { CLICKS } = context.env;
  const objects = { getByName: (name: string) => counting(CLICKS.getByName(name)) } as typeof CLICKS;
  return {
    ...context,
    env: { ...context.env, CLICKS: objects },
    ctx: { ...context.ctx, db, archive: context.ctx.archive && counting(context.ctx.archive) },
    outbound: { ...context.outbound, db },
  };
}

describe("a run calls no more than it may", () => {
  const calling = JOBS.map(({ name }) => name).filter((name) => TRIALS[name].calls);
  it.each(calling)("%s", async (name) => {
    const trial = TRIALS[name];
    await openTrial({ ...trial, most: Math.min(trial.most, MOST) }, [database!]);
    // The vendor fails at once, which makes a job send the most requests.
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      calls += 1;
      return new Response("", { status: 500 });
    });
    calls = 0;
    await runJob(name, START, 1, (context) => watched(trial.change?.(context, () => {}) ?? context));
    expect(calls).toBeGreaterThan(LIMIT / 2);
    expect(calls).toBeLessThanOrEqual(LIMIT);
  });
});
