import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeEach, vi } from "vitest";
import { checkTexts } from "../../src/db/query-text.ts";
import { checkRows } from "../../src/db/rows.ts";
import { assertEmitted } from "./emitted.ts";

// A statement whose rows are not of the type that it is given fails the test that runs it.
checkRows();
// So does one whose text is not as drizzle would write it.
checkTexts();

const databases = Object.entries(env as object).filter(([name]) => /^DB(_\d+)?$/.test(name));
await Promise.all(
  databases.map(async ([, database]) => applyD1Migrations(database as D1Database, env.TEST_MIGRATIONS)),
);

// All test programs share one secret of provider B, as programs of one vendor account do: an event that waits for a
// payment in one test would go to the payment of the same id in another.
beforeEach(async () => {
  for (const [, database] of databases) {
    const db = database as D1Database;
    await db.batch([db.prepare("delete from waiting_events"), db.prepare("delete from claimed_subscriptions")]);
  }
});

// Files share a runtime, in which a clock or a function that a file replaced would stay replaced.
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

// Files share databases: each file checks only the programs that it made.
const lastRows = await Promise.all(
  databases.map(async ([, database]) =>
    (database as D1Database).prepare("select max(rowid) from programs").first<number | null>("max(rowid)"),
  ),
);
afterAll(async () => {
  for (const [at, [, database]] of databases.entries()) await assertEmitted(database as D1Database, lastRows[at] ?? 0);
});
