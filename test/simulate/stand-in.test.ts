/** The database that simulated runs work with answers as D1 does, to every statement that the service makes of it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { ROOT } from "../../src/dev/root.ts";
import type { Recorded } from "./record.ts";

const MIGRATIONS = join(ROOT, "migrations");
/** The clock of the triggers, and its place in the replay. */
const CLOCK = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
const RECORDED_CLOCK = "(select now from recorded_clock)";

/** The answer of `replay`, in words. */
interface Replayed {
  differences: string[];
  refused: number;
}

describe("the stand-in for D1", () => {
  it("gives the same rows for the same statements, and refuses the same", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, "test", "simulate", "record.ts")], {
      maxBuffer: 2 ** 30,
    });
    const calls = JSON.parse(stdout) as Recorded[];
    const script = `${replay.toString()}
      export default { fetch: async (request, { DB }) => Response.json(await replay(DB, await request.json())) };`;
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        ...{ name: "worker", modules: true, script, compatibilityDate: "2026-09-18", cf: false },
        d1Databases: { DB: "stand-in" },
      }),
    );
    try {
      const names = (await readdir(MIGRATIONS)).filter((name) => name.endsWith(".sql")).toSorted();
      const database = await miniflare.getD1Database("DB");
      await database.batch([database.prepare("create table recorded_clock (id integer primary key, now text)")]);
      for (const name of names) {
        const text = (await readFile(join(MIGRATIONS, name), "utf8")).replaceAll(CLOCK, RECORDED_CLOCK);
        await database.batch(text.split("--> statement-breakpoint").map((sql) => database.prepare(sql)));
      }
      const init = { method: "POST", body: JSON.stringify(calls) };
      const response = await miniflare.dispatchFetch("http://worker/", init);
      const { differences, refused } = (await response.json()) as Replayed;
      assert.deepEqual(differences, []);
      assert.ok(calls.length > 1_000 && refused > 0, `${calls.length} calls, ${refused} refused`);
    } finally {
      await miniflare.dispose();
    }
  });
});

interface Database {
  prepare(sql: string): { bind(...values: unknown[]): object };
  batch(statements: object[]): Promise<{ results: unknown[] }[]>;
}

/** Asks D1 the same; runs inside its runtime, so it refers to no outer name. */
async function replay(database: Database, calls: Recorded[]): Promise<Replayed> {
  /** Ids that the database mints itself, by chance: the stand-in's, and D1's at the same place. */
  const minted = new Map<string, string>();
  const MINTED = /(?:dlv|ent|mail)_[0-9a-z]{26}/g;
  const here = (value: unknown) => JSON.stringify(value).replaceAll(MINTED, (id) => minted.get(id) ?? id);
  // The texts by which the service distinguishes errors.
  const kindOf = (message: string) => /(UNIQUE|CHECK) constraint failed: [^:]*/.exec(message)?.[0] ?? message;
  const differences: string[] = [];
  let refused = 0;
  for (const { statements, rows, error, now } of calls) {
    // Drawn by chance, and part of no id.
    if (statements.some(({ sql }) => sql.includes("order by random()"))) continue;
    const what = statements.map(({ sql }) => sql).join("; ");
    const bound = statements.map(({ sql, values }) =>
      database.prepare(sql).bind(...(JSON.parse(here(values)) as unknown[])),
    );
    await database.batch([database.prepare("insert or replace into recorded_clock values (1, ?)").bind(now)]);
    try {
      const answers = (await database.batch(bound)).map(({ results }) => results);
      const theirs = JSON.stringify(answers).match(MINTED) ?? [];
      for (const [i, id] of (JSON.stringify(rows).match(MINTED) ?? []).entries()) {
        if (!minted.has(id) && theirs[i]) minted.set(id, theirs[i]);
      }
      if (JSON.stringify(answers) !== here(rows)) {
        differences.push(`${what}: ${JSON.stringify(answers)} and not ${here(rows)}, ${error}`);
      }
    } catch (thrown) {
      refused += 1;
      const message = kindOf((thrown as Error).message);
      if (error === null || message !== kindOf(error)) differences.push(`${what}: ${message} and not ${error}`);
    }
  }
  return { differences: differences.slice(0, 5), refused };
}
