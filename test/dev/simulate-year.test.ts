/** The arithmetic of `npm run simulate:year`, on numbers that are easy to reckon with; what is measured is not tried here. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  clicksOfMonth,
  costOfMillionClicks,
  DATABASE_GB,
  dayOfSecondDatabase,
  DAYS_PER_MONTH,
  interpolate,
  REGIONS,
  simulate,
  stockAt,
  YEAR,
  type Measured,
  type Scenario,
} from "../bench/year/model.ts";
import { costOf, noUsage, PRICES, sumOf, totalOf, type Metered } from "../bench/year/prices.ts";

/** A flush writes one row and one for each click, in the database and in the object. */
const flush = (clicks: number) => ({
  d1_rows_written: 1 + clicks,
  do_rows_written: 1 + clicks,
  do_requests: clicks + 1,
});

const MEASURED: Measured = {
  flush_delay_ms: 1000,
  shards: 4,
  flushes: { 1: flush(1), 2: flush(2), 20: flush(20) },
  payment: { requests: 3, d1_rows_written: 30, queue_operations: 6 },
  approval: { d1_rows_written: 5 },
  payout: { requests: 1, d1_rows_written: 10 },
  forgetting: { d1_rows_written: 7 },
  read: { requests: 1, d1_rows_read: 100 },
  minute: { requests: 1, d1_rows_read: 10 },
  bytes: {
    click: 500,
    partner_day: 0,
    payment_kept: 1_000,
    payment_forgotten: 2_000,
    payout: 0,
    archived_click: 50,
  },
  rows: { payment_kept: 5, payment_forgotten: 3, payout: 2, partner_day: 1 },
  click_deleted: 1,
};
const MONTHLY_CLICKS = YEAR.programs * YEAR.clicks_per_program;

function near(actual: number, expected: number, what = ""): void {
  assert.ok(Math.abs(actual - expected) <= Math.abs(expected) * 1e-9 + 1e-9, `${what}: ${actual}, not ${expected}`);
}

describe("a simulated year", () => {
  it("takes what the plan includes off each meter, and never below nothing", () => {
    for (const name of Object.keys(PRICES) as Metered[]) {
      const { usd, per, included } = PRICES[name];
      const use = (number: number) => costOf({ ...noUsage(), [name]: number }, true)[name];
      assert.equal(use(0), 0);
      assert.equal(use(included), 0);
      near(use(included + 3 * per), 3 * usd, name);
      near(costOf({ ...noUsage(), [name]: per }, false)[name], usd, name);
    }
    near(totalOf(costOf({ ...noUsage(), requests: 12e6, d1_rows_written: 51e6 }, true)), 0.6 + 1);
  });

  it("adds usages, each times its number", () => {
    assert.deepEqual(sumOf([{ requests: 2 }, 3], [{ requests: 1, do_requests: 4 }, 0.5]), {
      ...noUsage(),
      requests: 6.5,
      do_requests: 2,
    });
  });

  it("reads between the measured points, and beyond them, on straight lines", () => {
    for (const clicks of [1, 1.5, 2, 7, 20, 40]) {
      near(interpolate(MEASURED.flushes, clicks).d1_rows_written, 1 + clicks, String(clicks));
    }
  });

  it("shares a flush between the clicks that come within its delay, in each region by its traffic", () => {
    near(
      REGIONS.reduce((sum, share) => sum + share, 0),
      1,
    );
    const usage = clicksOfMonth(MEASURED, MONTHLY_CLICKS, 1);
    const seconds = DAYS_PER_MONTH * 86_400;
    const flushes = REGIONS.reduce((sum, share) => {
      return sum + (MONTHLY_CLICKS * share) / (1 + (MONTHLY_CLICKS * share) / 4 / seconds);
    }, 0);
    near(usage.d1_rows_written, MONTHLY_CLICKS + flushes);
    near(usage.requests, MONTHLY_CLICKS);
    near(usage.do_requests, MONTHLY_CLICKS + flushes + REGIONS.length * 4 * DAYS_PER_MONTH * 1440);
    // Thinner traffic shares less, so it costs more a click.
    const thin = clicksOfMonth(MEASURED, MONTHLY_CLICKS / 100, 1);
    assert.ok(thin.d1_rows_written / (MONTHLY_CLICKS / 100) > usage.d1_rows_written / MONTHLY_CLICKS);
    assert.ok(clicksOfMonth(MEASURED, MONTHLY_CLICKS, 5).d1_rows_written > usage.d1_rows_written);
  });

  it("says on which day one database is full", () => {
    const daily = (MONTHLY_CLICKS / DAYS_PER_MONTH) * (500 + 0.01 * 3_000);
    assert.equal(dayOfSecondDatabase(MEASURED, YEAR), Math.ceil((DATABASE_GB * 1e9) / daily));
    const small: Scenario = { ...YEAR, programs: 1 };
    assert.equal(dayOfSecondDatabase(MEASURED, { ...small, click_retention_days: 90 }), null);
    // One program reaches it when it keeps everything for long enough.
    assert.ok((dayOfSecondDatabase(MEASURED, { ...small, months: 24 }) ?? 0) > 365);
  });

  it("keeps clicks as long as its options say, and what payments leave for 90 days", () => {
    const scenario: Scenario = { ...YEAR, click_retention_days: 30, payments_per_click: 0 };
    near(stockAt(MEASURED, scenario, 30).gb, stockAt(MEASURED, scenario, 300).gb);
    near(stockAt(MEASURED, scenario, 300).archive_gb, 0);
    const archived = stockAt(MEASURED, { ...scenario, archived: true }, 300);
    near(archived.archive_gb, ((MONTHLY_CLICKS / DAYS_PER_MONTH) * 270 * 50) / 1e9);
    const paid: Scenario = { ...YEAR, click_retention_days: 0 };
    const daily = (MONTHLY_CLICKS / DAYS_PER_MONTH) * 0.01;
    near(stockAt(MEASURED, paid, 200).gb, (daily * (200 * 1_000 + 90 * 2_000)) / 1e9);
  });

  it("counts each month's rows, bytes, operations and dollars", () => {
    const months = simulate(MEASURED, YEAR);
    assert.equal(months.length, 12);
    for (const [i, month] of months.entries()) {
      assert.equal(month.month, i + 1);
      assert.equal(month.databases, Math.ceil(month.gb / DATABASE_GB));
      near(month.usd, 5 + totalOf(costOf(month.usage, true)));
      near(month.usage.requests - MONTHLY_CLICKS * 1.03 - 5_000 - 1e7, month.databases * DAYS_PER_MONTH * 1440);
      if (i > 0) assert.ok(month.gb > months[i - 1]!.gb && month.usd > months[i - 1]!.usd);
    }
    const [first] = months;
    near(first!.gb, (MONTHLY_CLICKS * (500 + 0.01 * 3_000)) / 1e9);
    near(first!.usage.d1_gb_months, first!.gb / 2);
    assert.deepEqual(simulate(MEASURED, YEAR), months);
  });

  it("pays for what is deleted and archived, once", () => {
    const kept = simulate(MEASURED, YEAR);
    const archived = simulate(MEASURED, { ...YEAR, click_retention_days: 60, archived: true });
    near(archived[0]!.usage.r2_writes, 0);
    const all = (name: Metered) => archived.reduce((sum, month) => sum + month.usage[name], 0);
    near(all("r2_writes"), ((MONTHLY_CLICKS / DAYS_PER_MONTH) * (365 - 60)) / 2_000);
    assert.ok(archived.at(-1)!.usd < kept.at(-1)!.usd);
    assert.ok(archived.at(-1)!.databases < kept.at(-1)!.databases);
  });

  it("reckons a million clicks from the commits they come in", () => {
    const usage = { do_requests: 2, do_rows_written: 4, d1_rows_written: 25 };
    const cost = costOf(costOfMillionClicks(usage, 20), false);
    near(cost.requests, 0.3);
    near(cost.do_requests, (2 * 50_000 * 0.15) / 1e6);
    near(cost.do_rows_written, 0.2);
    near(cost.d1_rows_written, 1.25);
    near(cost.do_gb_seconds, (50_000 * 0.105 * 0.128 * 12.5) / 1e6);
  });
});
