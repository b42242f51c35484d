/** Fails where src/db/schema.ts has changed and no migration follows it: the newest snapshot must say the same. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { generateSQLiteDrizzleJson } from "drizzle-kit/api";
import * as schema from "../db/schema.ts";
import { ROOT } from "./root.ts";

interface Journal {
  entries: { idx: number }[];
}

const journal = await readJson<Journal>("_journal.json");
const newest = Math.max(...journal.entries.map(({ idx }) => idx));
type Snapshot = Awaited<ReturnType<typeof generateSQLiteDrizzleJson>>;
const migrated = await readJson<Snapshot>(`${String(newest).padStart(4, "0")}_snapshot.json`);
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
  return JSON.parse(await readFile(join(ROOT, "migrations", "meta", name), "utf8")) as T;
}
