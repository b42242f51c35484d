/** The service's database from outside, in the folder of its state. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Opens the file, also while the service runs; the caller closes it. */
export async function openDatabaseFile(state: string): Promise<DatabaseSync> {
  const folder = join(state, "d1", "miniflare-D1DatabaseObject");
  const file = (await readdir(folder)).find((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
  if (file === undefined) throw new Error(`no database in ${folder}`);
  return new DatabaseSync(join(folder, file), { timeout: 10_000 });
}

/** Takes the write lock of the database file: every write of the Worker fails until its release. */
export async function lockDatabase(state: string): Promise<() => void> {
  const database = await openDatabaseFile(state);
  database.exec("begin immediate");
  return () => {
    database.exec("rollback");
    database.close();
  };
}
