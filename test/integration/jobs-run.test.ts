/** How periodic jobs run (`core/jobs/run-jobs.ts`), with jobs that only record their calls. */
import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runJobs, type Job } from "../../src/core/jobs/run-jobs.ts";
import { OWNER, type Owner, type Work } from "../../src/core/kernel/work.ts";
import { lateJobs, readRuns, type Rhythm } from "../../src/core/jobs/job-runs.ts";
import { everyShard } from "../../src/core/kernel/shards.ts";
import { selectRows } from "../../src/db/rows.ts";
import { JOBS } from "../../src/jobs.ts";
import { DAY, HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { makeProgram, testContext } from "../support/program.ts";

const START = Date.parse("2027-03-10T12:00:00.000Z");

let now = START;
let logged: Record<string, unknown>[];

beforeEach(async () => {
  now = START;
  logged = [];
  vi.spyOn(console, "error").mockImplementation(
    (line) => void logged.push(JSON.parse(String(line)) as Record<string, unknown>),
  );
  for (const { db } of databases()) await db.run("delete from job_runs");
});
afterEach(() => vi.restoreAllMocks());

const databases = (count = 32) => everyShard(testContext()).slice(0, count);
const key = (i: number) => `owner_${String(i).padStart(4, "0")}`;

interface Played {
  job: Job<number>;
  /** The remaining work of each owner of each database; finished rounds are removed. */
  left: Map<number, Map<string, number>>;
  /** The served owners, in order. */
  served: string[];
}

/** A job for some owners of each database, each with `amount` of work; a call does 1 of it and costs `cost`. */
function play(
  name: string,
  options: {
    every?: Rhythm;
    owners: number[];
    amount?: number;
    cost?: number;
    serve?: (key: string) => unknown;
    unnoted?: true;
  },
): Played {
  const { every = "minute", owners, amount = 1, cost = 10, ...given } = options;
  const unnoted = given.unnoted ? { unnoted: given.unnoted } : {};
  const left = new Map(
    owners.map((count, shard) => [shard, new Map(Array.from({ length: count }, (_, i) => [key(i), amount]))]),
  );
  const served: string[] = [];
  const workOn = (shard: number, onCall: (calls: number) => void): Work => ({
    cost,
    ...unnoted,
    async due(after) {
      onCall(1);
      const names = [...(left.get(shard) ?? new Map<string, number>()).keys()];
      return names
        .filter((one) => one > after)
        .slice(0, 7)
        .map((one): Owner => ({ key: one }));
    },
    async serve(owner) {
      onCall(cost);
      served.push(`${shard}:${owner.key}`);
      await options.serve?.(owner.key);
      const rest = left.get(shard)!.get(owner.key)! - 1;
      if (rest > 0) left.get(shard)!.set(owner.key, rest);
      else left.get(shard)!.delete(owner.key);
      return rest > 0;
    },
  });
  const calls = new Map<number, (calls: number) => void>();
  const job: Job<number> = { name, every, work: (shard) => workOn(shard, (n) => calls.get(shard)?.(n)) };
  return { job: Object.assign(job, { calls }), left, served };
}

async function run(jobs: Played[], on = 1, begins: Rhythm = "minute"): Promise<number> {
  let sum = 0;
  const bound = databases(on).map((ctx) => ({
    ctx,
    bind(name: string, _: unknown, onCall: (calls: number) => void) {
      const played = jobs.find(({ job }) => job.name === name)!.job as Job<number> & {
        calls: Map<number, (calls: number) => void>;
      };
      played.calls.set(ctx.shard, (calls) => {
        sum += calls;
        onCall(calls);
      });
      return ctx.shard;
    },
  }));
  await runJobs(
    jobs.map(({ job }) => job),
    bound,
    { begins, now: () => now },
  );
  now += MINUTE;
  return sum;
}

const runOf = async (name: string, shard = 0) => (await readRuns(databases()[shard]!.db)).get(name);

describe("a run of a job (JOB-2)", () => {
  it("goes on where the last one ended, within its limit of statements", async () => {
    const played = play("a", { owners: [200], cost: 10 });
    const calls = [await run([played]), await run([played])];
    expect(played.served).toEqual(Array.from({ length: played.served.length }, (_, i) => `0:${key(i)}`));
    for (const sum of calls) expect(sum).toBeGreaterThan(800);
    for (const sum of calls) expect(sum).toBeLessThanOrEqual(1_000);
    expect(await runOf("a")).toMatchObject({ position: played.served.at(-1)!.slice(2), finished_at: null });
    await run([played]);
    expect(played.served).toHaveLength(200);
    expect(await runOf("a")).toMatchObject({ position: "", more: 0, failed: 0, finished_at: iso(now - MINUTE) });
  });

  it("goes on behind a place of any characters, by the order of the database", async () => {
    const keys = ["50%off", "50％off", "50🎉off"];
    const [{ db }] = databases() as [ReturnType<typeof databases>[0]];
    const served: string[] = [];
    const work = (): Work => ({
      cost: 1,
      due: async (after) =>
        selectRows(
          db,
          OWNER,
          sql`select value as key from json_each(${JSON.stringify(keys)}) where value > ${after} order by value limit 1`,
        ),
      async serve(owner) {
        served.push(owner.key);
        return false;
      },
    });
    const played = play("a", { owners: [] });
    await run([{ ...played, job: Object.assign(played.job, { work }) }]);
    expect(served).toEqual(keys);
    expect(logged).toEqual([]);
  });

  it("serves everybody once before anybody again, however much one has", async () => {
    const played = play("a", { owners: [300], cost: 10 });
    played.left.get(0)!.set(key(3), 10_000);
    for (let i = 0; i < 4; i++) await run([played]);
    expect(new Set(played.served).size).toBe(300);
    // The remaining budget goes to the owner with more work.
    expect(played.served.filter((one) => one === `0:${key(3)}`).length).toBeGreaterThan(20);
  });

  it("gives no more of its time to one that is slow than to others that have more left", async () => {
    const slow = key(0);
    const played = play("a", {
      owners: [3],
      amount: 30,
      cost: 10,
      serve: (one) => (now += one === slow ? 12_000 : 50),
    });
    await run([played]);
    const timesOf = (one: string) => played.served.filter((each) => each === `0:${one}`).length;
    expect([timesOf(key(1)), timesOf(key(2))]).toEqual([30, 30]);
    // It uses the remaining budget alone.
    expect(timesOf(slow)).toBeGreaterThan(1);
  });

  it("passes over who fails, says so, and tries again later and later", async () => {
    const played = play("a", {
      every: "day",
      owners: [20],
      serve: (one) => {
        if (one === key(2)) throw new Error("always");
      },
    });
    await run([played], 1, "day");
    expect([...played.left.get(0)!.keys()]).toEqual([key(2)]);
    expect(logged).toEqual([
      expect.objectContaining({ what: "job failed", job: "a", shard: 0, owner: key(2), reason: "always" }),
    ]);
    expect(await runOf("a")).toMatchObject({ failed: 1, finished_at: null });
    let tries = 0;
    for (; now < START + DAY; now += 9 * MINUTE) {
      const before = played.served.length;
      await run([played]);
      tries += played.served.length - before;
    }
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(40);
    expect(await lateJobs(databases()[0]!.db, now)).toEqual([{ job: "a", since: iso(START), left: 1, failed: 1 }]);
  });

  it("does not begin again with the one it died of", async () => {
    const played = play("a", { owners: [30], serve: (one) => (one === key(4) ? new Promise(() => {}) : undefined) });
    // Each process is gone; the next one only has the stored progress.
    for (const served of [5, 6, 32]) {
      void run([played]);
      await expect.poll(() => played.served.length).toBe(served);
    }
    expect(played.served).toContain(`0:${key(29)}`);
  });

  it("writes down where it is with each run, or where its budget cuts it off and now and then, of a job that dies of nobody", async () => {
    const noted = play("a", { owners: [3] });
    const unnoted = play("b", { owners: [3], unnoted: true });
    const began = { a: new Set<string>(), b: new Set<string>() };
    for (let minutes = 0; minutes < 60; minutes++) {
      for (const { left } of [noted, unnoted]) for (let i = 0; i < 3; i++) left.get(0)!.set(key(i), 1);
      await run([noted, unnoted]);
      for (const name of ["a", "b"] as const) began[name].add((await runOf(name))!.began_at);
    }
    expect(noted.served).toHaveLength(180);
    expect(unnoted.served).toHaveLength(180);
    expect([began.a.size, began.b.size]).toEqual([60, 2]);
    expect(await lateJobs(databases()[0]!.db, now)).toEqual([]);
    for (let i = 0; i < 200; i++) unnoted.left.get(0)!.set(key(i), 1);
    await run([unnoted]);
    expect(await runOf("b")).toMatchObject({ position: unnoted.served.at(-1)!.slice(2), finished_at: null });
  });

  it("ends where the storage is away, and where a job finds no end", async () => {
    const played = play("a", { owners: [3] });
    const broken: Played = {
      ...played,
      job: {
        ...played.job,
        name: "b",
        work: () => ({ cost: 1, due: async () => [{ key: "same" }], serve: async () => false }),
      },
    };
    await run([played, broken]);
    expect(played.served).toHaveLength(3);
    expect(logged).toMatchObject([
      { what: "job failed", job: "b", reason: expect.stringContaining("behind its place") },
    ]);
  });

  it("forgets jobs that there are no longer", async () => {
    await run([play("old", { owners: [1] })]);
    await run([play("new", { owners: [1] })]);
    expect([await runOf("old"), await runOf("new")]).toEqual([undefined, expect.objectContaining({ job: "new" })]);
  });
});

describe("the budget of an invocation", () => {
  it("goes to where the work is, of one job as of many, on one database as on 32", async () => {
    const idle = Array.from({ length: 32 }, (_, shard) => (shard === 17 ? 70 : 0));
    const alone = play("a", { owners: idle });
    expect(await run([alone], 32)).toBeLessThanOrEqual(1_000);
    expect(alone.served.length).toBeGreaterThanOrEqual(65);
    const jobs = ["b", "c", "d"].map((name) => play(name, { owners: name === "c" ? [70] : [] }));
    await run(jobs);
    expect(jobs[1]!.served).toHaveLength(70);
  });

  it("is shared where all are busy, and everybody is served in turns", async () => {
    const jobs = ["a", "b", "c", "d"].map((name) =>
      play(name, { owners: Array.from({ length: 32 }, () => 2), amount: 50, cost: 40 }),
    );
    for (let i = 0; i < 10; i++) expect(await run(jobs, 32)).toBeLessThanOrEqual(1_000);
    for (const { served } of jobs) expect(new Set(served.map((one) => one.split(":")[0])).size).toBe(32);
    for (let i = 0; i < 10; i++) await run(jobs, 32);
    for (const { served } of jobs) expect(new Set(served).size).toBe(64);
  });

  it("is not held up by a database that does not answer", async () => {
    const hung = Promise.withResolvers<void>();
    const job = play("a", { owners: [40, 40] });
    const { work } = job.job;
    job.job.work = (shard) =>
      shard === 1 ? { cost: 10, due: async () => hung.promise.then(() => []), serve: async () => false } : work(shard);
    const running = run([job], 2);
    await expect.poll(() => job.served.length).toBe(40);
    hung.resolve();
    await running;
  });
});

describe("a round (JOB-4)", () => {
  it("of a daily job begins with its trigger, and every minute goes on until nothing is left", async () => {
    const played = play("a", { every: "day", owners: [300], cost: 10 });
    await run([played], 1, "day");
    expect(played.served.length).toBeLessThan(100);
    for (let i = 0; i < 4; i++) await run([played]);
    expect(played.served).toHaveLength(300);
    played.left.get(0)!.set(key(1), 1);
    for (let i = 0; i < 20; i++) await run([played]);
    expect(played.served, "the next day").toHaveLength(300);
    await run([played], 1, "day");
    expect(played.served).toHaveLength(301);
  });

  it("that its trigger did not begin is begun by the minute, after a day and an hour", async () => {
    const played = play("a", { every: "day", owners: [1] });
    await run([played], 1, "day");
    played.left.get(0)!.set(key(1), 1);
    now = START + DAY + HOUR - MINUTE;
    await run([played]);
    expect(played.served).toHaveLength(1);
    now = START + DAY + HOUR + MINUTE;
    await run([played]);
    expect(played.served).toHaveLength(2);
  });

  it("of a monthly job begins on the first, and goes on on that day", async () => {
    const played = play("a", { every: "month", owners: [1] });
    now = Date.parse("2027-03-20T12:00:00.000Z");
    await run([played], 1, "minute");
    expect(await runOf("a")).toMatchObject({ next_at: "2027-04-01T00:00:00.000Z" });
    now = Date.parse("2027-04-01T00:00:00.000Z");
    await run([played]);
    expect(await runOf("a")).toMatchObject({ next_at: "2027-04-01T00:10:00.000Z" });
  });

  it("waits until the round of the job that goes first is over, whichever trigger begins it (OUT-3)", async () => {
    const first = play("first", { every: "day", owners: [100] });
    const second = play("second", { every: "month", owners: [1] });
    second.job.after = "first";
    now = Date.parse("2027-04-01T00:23:00.000Z");
    await run([second, first], 1, "month");
    await run([second, first]);
    expect(first.served.length).toBeGreaterThan(0);
    expect([first.left.get(0)!.size > 0, second.served]).toEqual([true, []]);
    while (first.left.get(0)!.size > 0) await run([second, first]);
    expect(second.served).toEqual([]);
    await run([second, first]);
    expect(second.served).toHaveLength(1);
  });

  it("begins after a round of the job that goes first which began no earlier (OUT-3)", async () => {
    const first = play("first", { every: "day", owners: [1] });
    const second = play("second", { every: "month", owners: [0] });
    second.job.after = "first";
    now = Date.parse("2027-03-31T03:17:00.000Z");
    await run([second, first], 1, "day");
    await run([second, first]);
    await run([second, first]);
    expect(await runOf("second")).toMatchObject({ next_at: "2027-04-01T00:00:00.000Z" });
    const served = first.served.length;
    for (const played of [first, second]) played.left.get(0)!.set(key(1), 1);
    now = Date.parse("2027-04-01T00:00:00.000Z");
    await run([second, first], 1, "month");
    expect([first.served.length - served, second.served.length]).toEqual([0, 0]);
    await run([second, first]);
    expect([first.served.length - served, second.served.length]).toEqual([1, 0]);
    await run([second, first], 1, "month");
    expect([first.served.length - served, second.served.length]).toEqual([1, 1]);
  });

  it("is not held up by the one that the job that goes first has failed at for days (JOB-2, OUT-3)", async () => {
    const isBroken = (one: string) => {
      if (one === key(0)) throw new Error("always");
    };
    const first = play("first", { every: "day", owners: [1], serve: isBroken });
    const second = play("second", { every: "month", owners: [0] });
    second.job.after = "first";
    for (const day of ["29", "30", "31"]) {
      now = Date.parse(`2027-03-${day}T03:17:00.000Z`);
      await run([second, first], 1, "day");
      for (let minute = 0; minute < 30; minute++) await run([second, first]);
    }
    now = Date.parse("2027-04-01T00:00:00.000Z");
    for (const played of [first, second]) played.left.get(0)!.set(key(1), 1);
    const order: string[] = [];
    for (let minute = 0; minute < 5; minute++) {
      const before = [first, second].map(({ served }) => served.length);
      await run([second, first]);
      for (const [i, { job, served }] of [first, second].entries()) {
        order.push(...served.slice(before[i]).map((one) => `${job.name} ${one}`));
      }
    }
    expect(order.filter((one) => !one.endsWith(key(0)))).toEqual([`first 0:${key(1)}`, `second 0:${key(1)}`]);
    // An owner that fails is still retried, with growing delays.
    expect(order.length).toBeLessThan(6);
  });

  it("that is over an hour old is reported by /healthz, and so is one that does not begin (HTTP-18)", async () => {
    const played = play("a", { every: "day", owners: [1_000], cost: 100 });
    const [{ db }] = databases() as [ReturnType<typeof databases>[0]];
    await run([played], 1, "day");
    expect(await lateJobs(db, START + HOUR)).toEqual([]);
    expect(await lateJobs(db, START + HOUR + 1)).toEqual([{ job: "a", since: iso(START), left: 1, failed: 0 }]);
    const idle = play("a", { owners: [] });
    await run([idle]);
    now = START + 2 * HOUR;
    await run([idle]);
    expect(await lateJobs(db, START + 3 * HOUR)).toEqual([]);
    expect(await lateJobs(db, START + 3 * HOUR + 1)).toMatchObject([{ job: "a", since: iso(START + 2 * HOUR) }]);
  });
});

it("that no cron ever came for its jobs is reported once there have been programs for an hour (HTTP-18)", async () => {
  const [ctx] = databases();
  const program = await makeProgram();
  const { results } = await env.DB.prepare("select created_at as since from programs order by id limit 1").all();
  expect(await lateJobs(ctx!.db, Date.parse(String(results[0]!["since"])) + HOUR)).toEqual([]);
  const never = [{ job: "every job", since: results[0]!["since"], left: 0, failed: 0 }];
  expect(await lateJobs(ctx!.db, Date.parse(program.program.created_at) + HOUR + 1)).toEqual(never);
  const played = play("a", { owners: [0] });
  now = Date.parse(program.program.created_at) + HOUR;
  await run([played]);
  expect(await lateJobs(ctx!.db, now)).toEqual([]);
});

it("has 32 databases", () => {
  expect(databases()).toHaveLength(32);
  expect(Object.keys(env).filter((name) => name.startsWith("DB"))).toHaveLength(32);
});

it("a job that waits for another waits for one that is there", () => {
  const names = JOBS.map(({ name }) => name);
  const awaited = JOBS.flatMap((job) => ("after" in job ? [job.after] : []));
  expect(awaited.length).toBeGreaterThan(0);
  expect(awaited.filter((name) => !names.includes(name))).toEqual([]);
});
