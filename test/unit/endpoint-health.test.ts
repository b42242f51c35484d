import { describe, expect, it } from "vitest";
import { isGivenUp } from "../../src/domain/endpoint-health.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20, 12);

describe("an endpoint is given up after 5 days without one success and at least 20 failures (HOOK-9)", () => {
  it.each([
    [5 * DAY, 20, true],
    [5 * DAY - 1, 20, false],
    [5 * DAY, 19, false],
    [300 * DAY, 19, false],
    [300 * DAY, 20_000, true],
    [0, 20_000, false],
    [-DAY, 20, false],
  ])("failing for %i ms with %i failures: %s", (age, failure_count, expected) => {
    expect(isGivenUp({ failing_since_ms: NOW - age, failure_count }, NOW)).toBe(expected);
  });

  it("never while its last attempt succeeded", () => {
    expect(isGivenUp({ failing_since_ms: null, failure_count: 20 }, NOW)).toBe(false);
  });
});
