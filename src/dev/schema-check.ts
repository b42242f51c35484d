/**
 * Fails if src/db/schema.ts has changed without a migration (it must match the newest snapshot), or if an older snapshot
 * exists: drizzle-kit reads the newest only. `--prune`, which `npm run db:generate` uses, deletes the older ones.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { generateSQLiteDrizzleJson } from "drizzle-kit/api";
import * as schema from "../db/schema.ts";
import { ROOT } from "./root.ts";

interface Journal {
  entries: { idx: number }[];
}

const META = join(ROOT, "migrations", "meta");
const journal = await readJson<Journal>("_journal.json");
const newest = Math.max(...journal.entries.map(({ idx }) => idx));
type Snapshot = Awaited<ReturnType<typeof generateSQLiteDrizzleJson>>;
const newestSnapshot = `${String(newest).padStart(4, "0")}_snapshot.json`;
const migrated = await readJson<Snapshot>(newestSnapshot);
const older = (await readdir(META)).filter((name) => name.endsWith("_snapshot.json") && name !== newestSnapshot);
if (process.argv.includes("--prune")) {
  await Promise.all(older.map((name) => rm(join(META, name))));
} else if (older.length > 0) {
  console.error(`Delete ${older.join(", ")} from migrations/meta: only the newest snapshot is needed.`);
  process.exitCode = 1;
}
const current = JSON.parse(JSON.stringify(await generateSQLiteDrizzleJson(schema))) as Snapshot;

const names = new Set([...Object.keys(migrated.tables), ...Object.keys(current.tables)]);
const changed = [...names].filter((name) => !isDeepStrictEqual(migrated.tables[name], current.tables[name]));
if (changed.length > 0) {
  console.error(`No migration follows src/db/schema.ts in: ${changed.join(", ")}. Run npm run db:generate.`);
  process.exitCode = 1;
} else {
  console.log("The migrations follow src/db/schema.ts.");
}

async function readJson<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(join(META, name), "utf8")) as T;
}
