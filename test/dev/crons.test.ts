/** The local service fires the crons of wrangler.toml itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDue } from "../../src/dev/crons.ts";

describe("a cron expression", () => {
  for (const [cron, at, due] of [
    ["* * * * *", "2026-11-20T13:07:00Z", true],
    ["17 3 * * *", "2026-11-20T03:17:00Z", true],
    ["17 3 * * *", "2026-11-20T03:18:00Z", false],
    ["17 3 * * *", "2026-11-20T04:17:00Z", false],
    ["23 0 1 * *", "2026-12-01T00:23:00Z", true],
    ["23 0 1 * *", "2026-12-02T00:23:00Z", false],
    ["*/15 * * * *", "2026-11-20T03:45:00Z", true],
    ["*/15 * * * *", "2026-11-20T03:46:00Z", false],
    ["5/20 * * * *", "2026-11-20T03:45:00Z", true],
    ["0 9-17 * * 1-5", "2026-11-20T17:00:00Z", true],
    ["0 9-17 * * 1-5", "2026-11-21T17:00:00Z", false],
    ["0,30 8,20 * 2 *", "2026-02-28T20:30:00Z", true],
    ["0,30 8,20 * 2 *", "2026-03-28T20:30:00Z", false],
    ["not a cron", "2026-11-20T00:00:00Z", false],
    ["a * * * *", "2026-11-20T00:00:00Z", false],
  ] as const) {
    it(`"${cron}" is ${due ? "" : "not "}due at ${at}`, () => assert.equal(isDue(cron, new Date(at)), due));
  }
});
