/** A deployment of two databases, and a look into each. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import type { BaseCtx } from "../../src/core/kernel/context.ts";
import type { FurtherDatabases } from "../../src/core/kernel/database.ts";
import { selectPrograms } from "../../src/core/kernel/program-rows.ts";
import { onShard } from "../../src/core/kernel/shards.ts";
import { programs } from "../../src/db/schema.ts";
import { callApi, TEST_SECRETS, testContext, webhookSecrets, type TestProgram } from "./program.ts";
import { callWith, watchDatabase } from "./watched-database.ts";

export const ADMIN = { authorization: "Bearer test-admin-token", "content-type": "application/json" };

/** The database of a shard; the project "shards" has two. */
export function databaseOn(shard: 0 | 1): D1Database {
  const { DB, DB_1 } = env as FurtherDatabases & { DB: D1Database };
  const database = shard === 0 ? DB : DB_1;
  if (!database) throw new Error("this project has one database");
  return database;
}

/** A context outside any request over a shard's database. */
export function contextOn(shard: 0 | 1): BaseCtx {
  const ctx = onShard(testContext(), shard);
  if (!ctx) throw new Error("this project has one database");
  return ctx;
}

/** A database that is away. */
export function away(shard: 0 | 1): D1Database {
  return watchDatabase(databaseOn(shard), {
    before: () => {
      throw new Error("the database is away");
    },
  }).binding;
}

let made = 0;

/** A program made by the operator while `NEW_PROGRAM_SHARD` is `shard`, with every provider's secret set. */
export async function makeProgramOn(shard: 0 | 1, fields: Record<string, unknown> = {}): Promise<TestProgram> {
  const owner_email = `owner-${shard}-${Date.now().toString(36)}-${made++}@example.com`;
  const created = await callWith<{ program: { id: string }; api_key: string }>(
    { NEW_PROGRAM_SHARD: String(shard) },
    "/admin/programs",
    {
      method: "POST",
      headers: ADMIN,
      body: JSON.stringify({ name: "Sharded", owner_email, domain: "shop.example", ...fields }),
    },
  );
  if (created.status !== 201) throw new Error(`program not created: ${JSON.stringify(created.body)}`);
  const { api_key, program } = created.body;
  const api: TestProgram["api"] = (...args) => callApi(api_key, ...args);
  const patched = await api("PATCH", "/api/v1/programs/me", webhookSecrets(TEST_SECRETS));
  if (patched.status !== 200) throw new Error(`program not set up: ${JSON.stringify(patched.body)}`);
  const [row] = await selectPrograms(contextOn(shard).db).where(eq(programs.id, program.id));
  if (!row) throw new Error("the program is not where it should be");
  return { program: row, id: row.id, api_key, api };
}

/** Every row of every table, as text. */
export async function dump(shard: 0 | 1): Promise<Record<string, string[]>> {
  const database = databaseOn(shard);
  const { results } = await database
    .prepare(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%'",
    )
    .all<{ name: string }>();
  const tables = await database.batch(results.map(({ name }) => database.prepare(`select * from "${name}"`)));
  return Object.fromEntries(
    results.map(({ name }, i) => [name, (tables[i]?.results ?? []).map((row) => JSON.stringify(row)).toSorted()]),
  );
}

/** The tables that hold a text. */
export async function tablesWith(shard: 0 | 1, text: string): Promise<string[]> {
  const tables = Object.entries(await dump(shard));
  return tables.filter(([, rows]) => rows.some((row) => row.includes(text))).map(([name]) => name);
}
