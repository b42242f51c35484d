/**
 * Every periodic job with 500 programs, of which one always fails and one has the most rows, on 1 database and on 32:
 * everybody is served within a bounded number of runs, who fails is passed over and reported, and what is behind shows.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keyMark } from "../../src/core/payouts/attempt.ts";
import { lateJobs } from "../../src/core/kernel/job-runs.ts";
import { JOBS } from "../../src/jobs.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { databases, FAILING, numberOf, programId, START, TRIALS, wipe, type Trial } from "../support/job-trials.ts";
import { runJob } from "../support/jobs.ts";
import { API_KEY_A, playOutside } from "../support/payouts.ts";
import { testContext } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";

const PROGRAMS = 500;
/** What fails is tried again after six hours at most; a round that was cut has first to come to its end. */
const ROUNDS = 3;
/** On many databases it is the number of programs in each that counts; one database has had the most rows. */
const MOST_OF_MANY = 10_000;

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

/** Programs `first`, `first + step`, …, each with a row that is due, the second one of the first database with the most. */
async function makePrograms(database: D1Database, first: number, step: number, most: number): Promise<void> {
  const at = iso(START);
  const id = `'${programId(0, first).slice(0, 6)}' || printf('%025d', g)`;
  const numbers = `with recursive n(g) as (select ${first} union all select g + ${step} from n where g + ${step} < ${PROGRAMS})`;
  await database.batch(
    [
      `${numbers} insert into programs (id, name, owner_email, api_key_hash, api_key_last4, api_key_created_at, created_at,
          updated_at)
        select ${id}, 'x', 'owner@example.com', 'hash ' || g, '', '${at}', '${at}', '${at}' from n`,
      "create table trial (program_id text, g integer, i integer)",
      `${numbers} insert into trial select ${id}, g, 1 from n`,
      `with recursive n(i) as (select 2 union all select i + 1 from n where i < ${most})
        insert into trial select '${programId(step)}', ${step}, i from n where ${first} = ${FAILING} and i <= ${most}`,
    ].map((sql) => database.prepare(sql)),
  );
}

async function giveKeys(database: D1Database): Promise<void> {
  const { sealer } = testContext();
  const { results } = await database.prepare("select id from programs").all<{ id: string }>();
  const sealed = results.map(async ({ id }) => [
    id,
    await sealer.seal(API_KEY_A, { table: "provider_connections", column: "api_key", row: `${id} provider_a` }),
  ]);
  await database
    .prepare(
      "insert into provider_connections (program_id, provider, api_key) select j.key, 'provider_a', j.value from json_each(?) j",
    )
    .bind(JSON.stringify(Object.fromEntries(await Promise.all(sealed))))
    .run();
}

async function openTrial(trial: Trial, shards: D1Database[]): Promise<void> {
  const key_mark = await keyMark(API_KEY_A);
  await Promise.all(
    shards.map(async (database, shard) => {
      await wipe(database);
      await makePrograms(
        database,
        shard,
        shards.length,
        shards.length > 1 ? Math.min(trial.most, MOST_OF_MANY) : trial.most,
      );
      for (const seed of trial.seed) await database.prepare(seed.replaceAll("$key_mark", `'${key_mark}'`)).run();
      if (trial.hasKeys) await giveKeys(database);
    }),
  );
  const vendor = openVendor({ keys: [API_KEY_A], accounts: { acct_trial: "active" } });
  vendor.now = START;
  playOutside(vendor);
  if ("at" in trial.fails && trial.fails.at !== "") {
    const { at, row } = trial.fails;
    await shards[0]!
      .prepare(
        `create trigger trial_fails ${at} when ${row}.program_id = '${programId(FAILING)}'
          begin select raise(abort, 'always fails'); end`,
      )
      .run();
  }
}

/** Who has something left, by number. */
async function leftIn(trial: Trial, shards: D1Database[], served: Set<number>): Promise<number[]> {
  if (trial.left === "") return Array.from({ length: PROGRAMS }, (_, g) => g).filter((g) => !served.has(g));
  const results = await Promise.all(
    shards.map((database) => database.prepare(trial.left).all<{ program_id: string }>()),
  );
  return results.flatMap(({ results: rows }) => rows.map(({ program_id }) => numberOf(program_id)));
}

describe.each([1, 32] as const)("on %i", (count) => {
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
    expect(runs).toBeLessThanOrEqual(trial.runs[count]);
    if (fails.length === 0) return;
    expect(logged.join("\n")).toContain(programId(FAILING).slice(5));
    if (trial.isOver) return;
    // What it says of itself to /healthz, until it is mended.
    now = START + HOUR + MINUTE;
    await run();
    const { db } = testContext();
    expect(await lateJobs(db, now)).toMatchObject([{ job: name, since: iso(START), failed: 1 }]);
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
