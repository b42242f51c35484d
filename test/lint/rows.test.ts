/**
 * Rows of raw SQL get their types in one place, `shaped` of `src/db/rows.ts`, which tests hold against the rows. The
 * statements that are still given a type without that are these; the list gets shorter, never longer.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const UNCHECKED: Record<string, number> = {
  "src/core/archived-events.ts": 2,
  "src/core/click-archive-jobs.ts": 1,
  "src/core/customer-import.ts": 5,
  "src/core/customers.ts": 2,
  "src/core/delivery-history.ts": 2,
  "src/core/events.ts": 2,
  "src/core/idempotency.ts": 1,
  "src/core/inbound-program.ts": 2,
  "src/core/inbound.ts": 3,
  "src/core/ledger.ts": 4,
  "src/core/partner-import.ts": 1,
  "src/core/payout-export.ts": 1,
  "src/core/payout-freeze.ts": 1,
  "src/core/recount-events.ts": 4,
  "src/core/recount-lists.ts": 3,
  "src/core/reseal.ts": 1,
  "src/core/retention.ts": 1,
};

describe("rows of raw SQL", () => {
  it("get their types in one place, but for the statements that are listed", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));
    const counted = files
      .filter((file) => !file.startsWith("src/dev/") && file !== "src/db/rows.ts")
      .map((file) => [file, readFileSync(`${ROOT}${file}`, "utf8").match(/\.all</g)?.length ?? 0] as const)
      .filter(([, count]) => count > 0);
    assert.deepEqual(Object.fromEntries(counted.toSorted(([a], [b]) => (a < b ? -1 : 1))), UNCHECKED);
  });
});
