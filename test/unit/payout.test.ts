import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canMove,
  dueAt,
  nextReconcile,
  PAYOUT_MOVES,
  periodProblem,
  previousMonth,
  type PayoutMove,
  type PayoutStatus,
} from "../../src/domain/payout.ts";

const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("the states of a payout", () => {
  it("are `pending → processing → paid | failed`, `failed → processing`, … (OUT-4)", () => {
    const arrows = Object.values(PAYOUT_MOVES).flatMap(({ from, to }) => from.map((status) => `${status} → ${to}`));
    expect(arrows.toSorted()).toEqual([
      "failed → canceled",
      "failed → processing",
      "paid → returned",
      "pending → canceled",
      "pending → paid",
      "pending → processing",
      "processing → failed",
      "processing → failed",
      "processing → paid",
      "processing → paid",
    ]);
  });

  it("only the money that comes back leaves paid, nothing leaves canceled or returned (OUT-20), and only the vendor's answer, or the owner's for it, leaves processing", () => {
    const moves = Object.keys(PAYOUT_MOVES) as PayoutMove[];
    const allowed = (status: PayoutStatus) => moves.filter((move) => canMove(status, move));
    expect(allowed("paid")).toEqual(["return"]);
    expect(allowed("returned")).toEqual([]);
    expect(allowed("canceled")).toEqual([]);
    expect(allowed("processing")).toEqual(["transfer_made", "transfer_refused", "said_made", "said_not_made"]);
    expect(allowed("failed")).toEqual(["pay", "cancel"]);
    expect(allowed("pending")).toEqual(["pay", "mark_paid", "cancel"]);
  });
});

describe("due dates", () => {
  it.each([
    ["2026-11-01T00:00:00.000Z", "NET-0", "2026-11-01T00:00:00.000Z"],
    ["2026-11-01T00:00:00.000Z", "NET-15", "2026-11-16T00:00:00.000Z"],
    ["2026-02-01T00:00:00.000Z", "NET-30", "2026-03-03T00:00:00.000Z"],
    ["2028-02-01T00:00:00.000Z", "NET-30", "2028-03-02T00:00:00.000Z"],
    ["2027-02-28T23:59:59.999Z", "NET-1", "2027-03-01T23:59:59.999Z"],
    ["2028-02-28T23:59:59.999Z", "NET-1", "2028-02-29T23:59:59.999Z"],
    ["2027-03-01T00:00:00.000Z", "NET-365", "2028-02-29T00:00:00.000Z"],
    ["2026-12-31T00:00:00.000Z", "NET-365", "2027-12-31T00:00:00.000Z"],
    // The nights when clocks change somewhere are no shorter in UTC.
    ["2026-03-28T22:30:00.000Z", "NET-2", "2026-03-30T22:30:00.000Z"],
  ])("%s and %s are due at %s", (end, term, due) => {
    expect(iso(dueAt(at(end), term))).toBe(due);
  });

  it("of every term from NET-0 to NET-365 are that many whole days later (OUT-3)", () => {
    for (let days = 0; days <= 365; days++) {
      expect(dueAt(at("2027-10-31T00:00:00.000Z"), `NET-${days}`)).toBe(
        new Date(at("2027-10-31T00:00:00.000Z")).setUTCDate(31 + days),
      );
    }
  });
});

describe("the past calendar month", () => {
  it.each([
    ["2026-11-01T00:23:00.000Z", "2026-10-01T00:00:00.000Z", "2026-11-01T00:00:00.000Z"],
    ["2026-01-01T00:00:00.000Z", "2025-12-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    ["2028-03-01T00:00:00.000Z", "2028-02-01T00:00:00.000Z", "2028-03-01T00:00:00.000Z"],
    ["2027-03-31T23:59:59.999Z", "2027-02-01T00:00:00.000Z", "2027-03-01T00:00:00.000Z"],
  ])("at %s is %s to %s", (now, start, end) => {
    const { period_start, period_end } = previousMonth(at(now));
    expect([iso(period_start), iso(period_end)]).toEqual([start, end]);
  });

  it("months follow each other without a gap", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date("2200-01-01"), noInvalidDate: true }), (date) => {
        const { period_start, period_end } = previousMonth(date.getTime());
        expect(period_end).toBeLessThanOrEqual(date.getTime());
        expect(previousMonth(period_end - 1).period_end).toBe(period_start);
        expect(new Date(period_end).getUTCDate()).toBe(1);
      }),
    );
  });
});

describe("periods", () => {
  const now = at("2026-11-20T12:00:00.000Z");
  it.each([
    [null, now, null],
    [now - 1, now, null],
    [null, now + 1, "period_end"],
    [now, now, "period_start"],
    [now - 5, now - 6, "period_start"],
  ])("%s to %s", (period_start, period_end, path) => {
    expect(periodProblem({ period_start, period_end }, now)?.path ?? null).toBe(path);
  });
});

describe("asking again about an open transfer", () => {
  const start = at("2026-11-20T12:00:00.000Z");
  it.each([
    [0, null, MINUTE],
    [30_000, null, MINUTE],
    [10 * MINUTE, null, 10 * MINUTE],
    [5 * HOUR, null, HOUR],
    [0, 5 * MINUTE, 5 * MINUTE],
    [0, 24 * HOUR, HOUR],
  ])("after %s ms open, asked to wait %s ms, waits %s ms", (age, retry_after, wait) => {
    expect(nextReconcile(start, start + age, retry_after) - (start + age)).toBe(wait);
  });
});
