import { createHash, createHmac } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ROOT } from "./root.ts";

/** The binding of the first database; further ones are `DB_1`, `DB_2`, … */
const FIRST = "DB";
const NAMESPACE = "miniflare-D1DatabaseObject";
/** How long a statement waits for another process that writes, in milliseconds. */
const BUSY_MS = 10_000;

interface BoundDatabase {
  binding: string;
  /** The file that the local runtime keeps it in. */
  file: string;
}

interface Configured {
  binding: string;
  database_id?: string;
  preview_database_id?: string;
}

/** Returns the databases that `wrangler.toml` binds, with their files in a state folder. The first is `DB`. */
export async function boundDatabases(persistTo: string): Promise<BoundDatabase[]> {
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const { d1_databases }: { d1_databases: Configured[] } = readConfig({ config: join(ROOT, "wrangler.toml") });
  const bound = d1_databases.map(({ binding, database_id, preview_database_id }) => ({
    binding,
    file: join(persistTo, "v3", "d1", NAMESPACE, `${objectId(preview_database_id ?? database_id ?? binding)}.sqlite`),
  }));
  return bound.toSorted((a, b) => Number(b.binding === FIRST) - Number(a.binding === FIRST));
}

/** Opens a database file, also while the service runs. The caller closes it. */
export function openFile(file: string): DatabaseSync {
  return new DatabaseSync(file, { timeout: BUSY_MS });
}

/**
 * Applies the migrations that a state folder lacks to every bound database. The bookkeeping is that of `wrangler d1
 * migrations apply`, which takes 5 seconds for each database.
 */
export async function migrate(persistTo: string): Promise<void> {
  const folder = join(ROOT, "migrations");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  const migrations = await Promise.all(
    names.map(async (name) => ({ name, sql: await readFile(join(folder, name), "utf8") })),
  );
  for (const { file } of await boundDatabases(persistTo)) {
    await mkdir(join(file, ".."), { recursive: true });
    const database = openFile(file);
    try {
      applyMissing(database, migrations);
    } finally {
      database.close();
    }
  }
}

/** Each migration and its record are one transaction. @throws with the migration's name; earlier ones stay applied */
function applyMissing(database: DatabaseSync, migrations: readonly { name: string; sql: string }[]): void {
  database.exec(`pragma journal_mode = wal; pragma synchronous = normal;
    create table if not exists "d1_migrations" (
      id integer primary key autoincrement, name text unique, applied_at timestamp default current_timestamp not null
    )`);
  const rows = database.prepare("select name from d1_migrations").all();
  const applied = new Set(rows.map(({ name }) => name));
  const record = database.prepare("insert into d1_migrations (name) values (?)");
  for (const { name, sql } of migrations.filter((migration) => !applied.has(migration.name))) {
    try {
      database.exec(`begin immediate;\n${sql}`);
      record.run(name);
      database.exec("commit");
    } catch (error) {
      if (database.isTransaction) database.exec("rollback");
      throw new Error(`The migration ${name} could not be applied: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** The id that the local runtime gives a database by its name. */
function objectId(name: string): string {
  const key = createHash("sha256").update(NAMESPACE).digest();
  const hmac = (data: string | Buffer) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const own = hmac(name);
  return Buffer.concat([own, hmac(own)]).toString("hex");
}
