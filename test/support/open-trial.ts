/** The programs that a periodic job is tried with (`job-trials.ts`), in as many databases as there are to be. */
import { keyMark } from "../../src/core/payouts/attempt.ts";
import { iso } from "../../src/lib/time.ts";
import { FAILING, programId, START, wipe } from "./job-trials.ts";
import { playOutside } from "./payouts.ts";
import { testContext } from "./program.ts";
import { openVendor } from "./provider-a-api.ts";
import type { Trial } from "./trial.ts";

export const PROGRAMS = 500;
/** A live-mode key, the only mode that programs accept. */
const API_KEY = "rk_live_of_trials";
/** Many databases share the programs; the test of one database has the most rows. */
const MOST_OF_MANY = 10_000;

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
    await sealer.seal(API_KEY, { table: "provider_connections", column: "api_key", row: `${id} provider_a` }),
  ]);
  await database
    .prepare(
      "insert into provider_connections (program_id, provider, api_key) select j.key, 'provider_a', j.value from json_each(?) j",
    )
    .bind(JSON.stringify(Object.fromEntries(await Promise.all(sealed))))
    .run();
}

async function giveTexts(database: D1Database): Promise<void> {
  const { sealer } = testContext();
  const { results } = await database.prepare("select id from mails").all<{ id: string }>();
  const content = JSON.stringify({ subject: "x", text: "x", html: "<p>x</p>" });
  const sealed = results.map(async ({ id }) => [
    id,
    await sealer.seal(content, { table: "mails", column: "content", row: id }),
  ]);
  await database
    .prepare("update mails set content = j.value from json_each(?) j where j.key = mails.id")
    .bind(JSON.stringify(Object.fromEntries(await Promise.all(sealed))))
    .run();
}

/** The data of a job's trial, in the first databases, which are emptied first; the vendor answers with empty lists. */
export async function openTrial(trial: Trial, shards: D1Database[]): Promise<void> {
  const key_mark = await keyMark(API_KEY);
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
      if (trial.hasTexts) await giveTexts(database);
    }),
  );
  const vendor = openVendor({ keys: [API_KEY], accounts: { acct_trial: "active" } });
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
