import { describe, expect, it } from "vitest";
import { afterAttempt, DELIVERY_DELAYS_MS, MAX_DELIVERY_ATTEMPTS } from "../../src/domain/delivery.ts";

const START = Date.UTC(2026, 10, 20, 12, 0, 0, 123);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("the attempt table 0, 5 min, 30 min, 2 h, 12 h (HOOK-5)", () => {
  it.each([
    [1, 5 * MINUTE],
    [2, 30 * MINUTE],
    [3, 2 * HOUR],
    [4, 12 * HOUR],
  ])("after a failed attempt %i the next one is due %i ms after it started", (attempt_number, delay) => {
    expect(afterAttempt({ attempt_number, started_at_ms: START, error: "http" })).toEqual({
      status: "pending",
      next_attempt_at_ms: START + delay,
    });
  });

  it("makes the first attempt at once", () => {
    expect(DELIVERY_DELAYS_MS[0]).toBe(0);
    expect(MAX_DELIVERY_ATTEMPTS).toBe(5);
  });

  it.each(["timeout", "connection", "dns", "http", "redirect", "secret"] as const)(
    "on %s of the final attempt the delivery is marked failed",
    (error) => {
      expect(afterAttempt({ attempt_number: 5, started_at_ms: START, error })).toEqual({
        status: "failed",
        next_attempt_at_ms: null,
      });
    },
  );

  it.each([1, 2, 3, 4, 5])("a refused address ends the delivery as blocked at attempt %i", (attempt_number) => {
    expect(afterAttempt({ attempt_number, started_at_ms: START, error: "blocked" })).toEqual({
      status: "blocked",
      next_attempt_at_ms: null,
    });
  });

  it.each([1, 2, 3, 4, 5])("a 2xx in time succeeds at attempt %i", (attempt_number) => {
    expect(afterAttempt({ attempt_number, started_at_ms: START, error: null })).toEqual({
      status: "succeeded",
      next_attempt_at_ms: null,
    });
  });

  it("a failed lookup is a failed attempt, and retried", () => {
    expect(afterAttempt({ attempt_number: 1, started_at_ms: START, error: "dns" }).status).toBe("pending");
  });

  it.each([0, -1, 6, 1000, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "never asks for another attempt after an impossible number (%d)",
    (attempt_number) => {
      expect(afterAttempt({ attempt_number, started_at_ms: START, error: "http" }).status).toBe("failed");
    },
  );
});
