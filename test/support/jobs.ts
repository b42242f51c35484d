/** The crons of the tests' one database, and single jobs of theirs. */
import { env } from "cloudflare:workers";
import type { Owner, Work } from "../../src/core/kernel/work.ts";
import { everyShard } from "../../src/core/kernel/shards.ts";
import { JOBS, runCron, type RunContext } from "../../src/jobs.ts";
import { testContext } from "./program.ts";

/** Runs a cron as the platform would at an instant; wake-ups are dropped. */
export async function fireCron(cron: string, now: number = Date.now()): Promise<void> {
  await runCron(cron, [runContext(testContext(now))]);
}

/** The context of a run at the instant of `ctx`; wake-ups are dropped. */
function runContext(ctx: ReturnType<typeof testContext>): RunContext {
  return { env, ctx, outbound: { db: ctx.db, now: () => ctx.now, wake: async () => {} } };
}

/** The job of this name. */
export function jobNamed(name: string): (typeof JOBS)[number] {
  const job = JOBS.find((one) => one.name === name);
  if (!job) throw new Error(`no job ${name}`);
  return job;
}

/**
 * The minute's cron at an instant, for one job only, on the first databases up to the given number. `change` replaces
 * its context.
 */
export async function runJob(
  name: string,
  now: number,
  databases = 1,
  change: (context: RunContext) => RunContext = (context) => context,
): Promise<void> {
  const contexts = everyShard(testContext(now)).slice(0, databases);
  await runCron(
    "* * * * *",
    contexts.map((ctx) => change(runContext(ctx))),
    [jobNamed(name)],
  );
}

/**
 * The work of a job without the budget, the place and the log of the crons. Serves every owner with work until no work
 * remains, as long as `goOn` allows. Gives the number of calls.
 * @throws the first failure.
 */
export async function serveAll<One extends Owner>(work: Work<One> | null, goOn = () => true): Promise<number> {
  let served = 0;
  if (!work) return served;
  for (let after = ""; ;) {
    const owners = await work.due(after);
    for (const owner of owners) {
      for (let more = true; more; served++) {
        if (!goOn()) return served;
        more = await work.serve(owner);
      }
      after = owner.key;
    }
    if (owners.length === 0) return served;
  }
}
