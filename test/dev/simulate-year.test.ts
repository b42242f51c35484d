/** The arithmetic of `npm run simulate:year`, on round numbers; the measurements are not tested here. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  assumptionsOf,
  clickItems,
  clicksOfMonth,
  costOfMillionClicks,
  DATABASE_GB,
  dayOfSecondDatabase,
  DAYS_PER_MONTH,
  flushUsage,
  interpolate,
  invocationsOf,
  millionClicksOf,
  millionItems,
  REGIONS,
  scriptLoads,
  SHOPS,
  simulate,
  stockAt,
  YEAR,
  type Measured,
  type Scenario,
} from "../bench/year/model.ts";
import {
  costOf,
  costOfLogsFromDecember2026,
  LOGS_FROM_DECEMBER_2026,
  noUsage,
  PLAN_USD,
  PRICES,
  sumOf,
  totalOf,
  type Metered,
} from "../bench/year/prices.ts";

/** A flush writes one row and one for each click, in the database and in the object. */
const flush = (clicks: number) => ({
  d1_rows_written: 1 + clicks,
  do_rows_written: 1 + clicks,
  do_requests: clicks + 1,
  do_gb_seconds: 2,
});

const MEASURED: Measured = {
  flush_delay_ms: 1000,
  dense: { clicks: 200, delay_ms: 500 },
  shards: 4,
  one_object_to: 0,
  flushes: { 1: flush(1), 2: flush(2), 20: flush(20) },
  in_memory: { 1: flush(1), 2: flush(2), 20: flush(20) },
  payment: { requests: 3, d1_rows_written: 30, queue_operations: 6 },
  approval: { d1_rows_written: 5 },
  payout: { requests: 1, d1_rows_written: 10 },
  paid_out: { d1_rows_written: 4 },
  forgetting: { d1_rows_written: 7 },
  read: { requests: 1, d1_rows_read: 100 },
  minute: { requests: 1, d1_rows_read: 10 },
  day: { d1_rows_written: 2 },
  roll_up: { clicks: 4_000, hours: 3 },
  hours_of_clicks: { 1: { d1_rows_written: 3 }, 5: { d1_rows_written: 7 } },
  bytes: {
    click: 500,
    click_in_object: 100,
    partner_day: 0,
    program_day: 0,
    payment_kept: 1_000,
    payment_forgotten: 2_000,
    payout_kept: 0,
    payout_forgotten: 0,
    archived_click: 50,
  },
  rows: { payment_kept: 5, payment_forgotten: 3, payout: 2, partner_day: 1, program_day: 1 },
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
    // A commit takes 10 ms of 128 MB, the cron's question 5 ms.
    const questions = REGIONS.length * 4 * DAYS_PER_MONTH * 1440;
    near(usage.do_gb_seconds, 2 * flushes + 0.128 * (MONTHLY_CLICKS * 0.01 + questions * 0.005));
    // Clicks of half an hour, and empty objects.
    near(usage.do_gb_months, ((MONTHLY_CLICKS / DAYS_PER_MONTH / 48) * 100 + 40 * 12_000) / 1e9);
    near(usage.cpu_ms, MONTHLY_CLICKS);
    // Thinner traffic shares less, so it costs more a click.
    const thin = clicksOfMonth(MEASURED, MONTHLY_CLICKS / 100, 1);
    assert.ok(thin.d1_rows_written / (MONTHLY_CLICKS / 100) > usage.d1_rows_written / MONTHLY_CLICKS);
    assert.ok(clicksOfMonth(MEASURED, MONTHLY_CLICKS, 5).d1_rows_written > usage.d1_rows_written);
  });

  it("takes an object to be out of memory where no click came for ten seconds", () => {
    const read = (of: "flushes" | "in_memory", clicks: number) => {
      const rows = { 1: { do_rows_read: 100 }, 2: { do_rows_read: 100 } };
      return clicksOfMonth({ ...MEASURED, [of]: rows }, clicks, 1).do_rows_read / clicks;
    };
    const thin = MONTHLY_CLICKS / 10_000;
    assert.ok(read("flushes", thin) > 90 && read("in_memory", thin) < 5);
    assert.ok(read("flushes", 100 * MONTHLY_CLICKS) < 1e-3);
  });

  it("has one object a region and database up to so many clicks a second, and several in those with more", () => {
    const asked = (one_object_to: number, databases: number) => {
      const usage = clicksOfMonth(
        { ...MEASURED, one_object_to, flushes: { 1: {}, 2: {} }, in_memory: { 1: {}, 2: {} } },
        MONTHLY_CLICKS,
        databases,
      );
      return usage.do_requests / DAYS_PER_MONTH / 1440;
    };
    const second = MONTHLY_CLICKS / DAYS_PER_MONTH / 86_400;
    near(asked(second, 1), REGIONS.length);
    // Two regions have 30 % each, the next 15 %.
    near(asked(0.2 * second, 1), REGIONS.length + 2 * 3);
    near(asked(0.2 * second, 2), REGIONS.length * 2);
    near(asked(0.14 * second, 1), REGIONS.length + 3 * 3);
  });

  it("flushes soon after many clicks wait, however long few would", () => {
    const many = 1_000 * DAYS_PER_MONTH * 86_400;
    const usage = clicksOfMonth({ ...MEASURED, flush_delay_ms: 10_000 }, many, 1);
    const flushes = REGIONS.reduce((sum, share) => {
      const rate = (1_000 * share) / 4;
      return sum + (many * share) / Math.min(1 + rate * 10, 200 + rate * 0.5);
    }, 0);
    near(usage.d1_rows_written, many + flushes);
    // If many wait, the object flushes itself, after half a second, and waits for one round trip.
    const own = REGIONS.reduce((sum, share) => {
      const rate = (1_000 * share) / 4;
      const perFlush = 200 + rate * 0.5;
      return sum + (1 + rate * 10 > perFlush ? (many * share) / perFlush : 0);
    }, 0);
    assert.ok(own > 0 && own < flushes);
    const questions = REGIONS.length * 4 * DAYS_PER_MONTH * 1440;
    near(usage.do_gb_seconds, flushes * 2 + own * 0.75 * 0.128 + 0.128 * (many * 0.01 + questions * 0.005));
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
      near(month.usage.requests - MONTHLY_CLICKS * 1.03 - 5_000 - 1e7, DAYS_PER_MONTH * 1440);
      const crons = sumOf([month.items["the crons"]!, 1]);
      near(crons.d1_rows_read, month.databases * DAYS_PER_MONTH * 1440 * 10);
      near(crons.cpu_ms, month.databases * DAYS_PER_MONTH * 1440 * 10);
      if (i > 0) assert.ok(month.gb > months[i - 1]!.gb && month.usd > months[i - 1]!.usd);
    }
    const [first] = months;
    near(first!.gb, (MONTHLY_CLICKS * (500 + 0.01 * 3_000)) / 1e9);
    near(first!.usage.d1_gb_months, first!.gb / 2);
    assert.deepEqual(simulate(MEASURED, YEAR), months);
  });

  it("says what each part of a month is for, and the parts are all of it", () => {
    for (const scenario of [YEAR, { ...YEAR, click_retention_days: 60, archived: true }]) {
      const { usage, items, gb } = simulate(MEASURED, scenario).at(-1)!;
      const sum = sumOf(...Object.values(items).map((item) => [item, 1] as const));
      for (const name of Object.keys(PRICES) as Metered[]) near(sum[name], usage[name], name);
      near(
        Object.values(stockAt(MEASURED, scenario, 12 * DAYS_PER_MONTH).gb_of).reduce((all, one) => all + one, 0),
        gb,
      );
    }
    const items = clickItems(MEASURED, MONTHLY_CLICKS, 3);
    const [commits, rows, flushes] = Object.values(items).slice(1);
    near(commits!.do_rows_written!, MONTHLY_CLICKS);
    near(rows!.d1_rows_written!, MONTHLY_CLICKS);
    // A flush writes a row in the database and one in the object, and is a call of it.
    assert.ok(flushes!.d1_rows_written! > 0);
    near(flushes!.do_rows_written!, flushes!.d1_rows_written!);
    near(flushes!.do_requests!, flushes!.d1_rows_written!);
    near(sumOf(...Object.values(millionItems(MEASURED, YEAR, 3)).map((item) => [item, 1] as const)).requests, 1e6);
  });

  it("pays for what a payment leaves until it is paid out, each commission of a payout, and the counts of programs", () => {
    const [month] = simulate(MEASURED, YEAR);
    const [less] = simulate({ ...MEASURED, paid_out: {} }, YEAR);
    near(month!.usage.d1_rows_written - less!.usage.d1_rows_written, MONTHLY_CLICKS * 0.01 * 4);
    const of = (bytes: Partial<Measured["bytes"]>, days: number) => {
      const more = stockAt({ ...MEASURED, bytes: { ...MEASURED.bytes, ...bytes } }, YEAR, days);
      return (more.gb - stockAt(MEASURED, YEAR, days).gb) * 1e9;
    };
    near(of({ program_day: 7 }, 300), 100 * 300 * 7);
    near(of({ partner_day: 7 }, 300), 5_000 * 300 * 7);
    near(of({ payout_kept: 7 }, 300), (5_000 * 300 * 7) / DAYS_PER_MONTH);
    near(of({ payout_forgotten: 7 }, 300), (5_000 * 90 * 7) / DAYS_PER_MONTH);
    near(of({ payout_forgotten: 7 }, 30), (5_000 * 30 * 7) / DAYS_PER_MONTH);
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
    const usage = { do_requests: 2, do_rows_written: 4, d1_rows_written: 25, ...flushUsage(2) };
    const cost = costOf(costOfMillionClicks(usage, 20), false);
    near(cost.requests, 0.3);
    near(cost.cpu_ms, 0.02 + (50_000 * 2 * 0.02) / 1e6);
    near(cost.log_lines, 0);
    near(cost.do_requests, (2 * 50_000 * 0.15) / 1e6);
    near(cost.do_rows_written, 0.2);
    near(cost.d1_rows_written, 1.25);
    // A commit of 10 ms, and two calls of 5.
    near(cost.do_gb_seconds, (50_000 * 0.02 * 0.128 * 12.5) / 1e6);
  });

  it("reckons a million clicks of the year as its month, divided", () => {
    const million = millionClicksOf(MEASURED, YEAR, 3);
    // A roll-up of 50 partners of a program writes 52 rows, and comes once 4,000 of its clicks wait.
    near(million.d1_rows_written * 100, clicksOfMonth(MEASURED, MONTHLY_CLICKS, 3).d1_rows_written + 100 * 250 * 52);
    // If that takes longer than three hours, the roll-up comes after three hours: 20 clicks have at most 20 partners.
    const rollUps = (DAYS_PER_MONTH * 24) / 3;
    const thin = { ...YEAR, clicks_per_program: 20 * rollUps };
    const rows = millionClicksOf(MEASURED, thin, 3).d1_rows_written * ((100 * thin.clicks_per_program) / 1e6);
    near(rows, clicksOfMonth(MEASURED, 100 * thin.clicks_per_program, 3).d1_rows_written + 100 * rollUps * 22);
    near(million.asset_requests, 50e6);
  });

  it("loads the script fifty times for a click: free of charge as an asset, a request and CPU each by the Worker", () => {
    const asset = scriptLoads(YEAR, 1e6);
    assert.deepEqual(asset, { ...noUsage(), asset_requests: 50e6 });
    assert.equal(totalOf(costOf(asset, false)), 0);
    const byWorker = scriptLoads({ ...YEAR, script_is_asset: false }, 1e6);
    near(totalOf(costOf(byWorker, false)), 50 * 0.3 + (50e6 * 0.3 * 0.02) / 1e6);
    const [month] = simulate(MEASURED, YEAR);
    const [dearer] = simulate(MEASURED, { ...YEAR, script_is_asset: false });
    near(month!.usage.asset_requests, 50 * MONTHLY_CLICKS);
    near(dearer!.usage.requests - month!.usage.requests, 50 * MONTHLY_CLICKS);
    assert.ok(dearer!.usd - month!.usd > 1_500);
  });

  it("writes no log line for an invocation, unless that is switched on", () => {
    const [off] = simulate(MEASURED, YEAR);
    const [on] = simulate(MEASURED, { ...YEAR, invocation_logs: true });
    assert.equal(off!.usage.log_lines, 0);
    near(on!.usage.log_lines, off!.usage.requests + off!.usage.do_requests);
    near(on!.usage.log_lines, invocationsOf(on!.usage));
    near(on!.usd - off!.usd, ((on!.usage.log_lines - 20e6) * 0.6) / 1e6);
    // The Worker's own log lines are counted with both.
    const talkative = { ...MEASURED, payment: { ...MEASURED.payment, log_lines: 2 } };
    near(simulate(talkative, YEAR)[0]!.usage.log_lines, MONTHLY_CLICKS * 0.01 * 2);
    // From December 2026: 150 GB, of which a week's share of a month is kept.
    near(costOfLogsFromDecember2026(100e6, 1_500, false), 150 * 0.25 + 35 * 0.1);
    near(costOfLogsFromDecember2026(100e6, 1_500, true), 100 * 0.25 + 23 * 0.1);
    assert.equal(costOfLogsFromDecember2026(1e6, 1_500, true), 0);
  });

  it("pays for e-mails, and for objects of the archive: written, looked at, and read where there are any", () => {
    const kept = simulate(MEASURED, YEAR);
    for (const { usage } of kept) {
      near(usage.emails, 100 * (50 * 2 + 20));
      assert.equal(usage.r2_reads, 0);
    }
    near(costOf(kept[0]!.usage, true).emails, ((12_000 - 3_000) * 0.35) / 1_000);
    const archived = simulate(MEASURED, { ...YEAR, click_retention_days: 60, archived: true });
    assert.equal(archived[0]!.usage.r2_reads, 0);
    near(archived.at(-1)!.usage.r2_reads, archived.at(-1)!.usage.r2_writes + 100 * 1_000);
  });

  it("counts CPU for everything that runs", () => {
    const none = { ...YEAR, clicks_per_program: 0, reads_per_program: 0 };
    const [idle] = simulate(MEASURED, none);
    near(idle!.usage.cpu_ms, DAYS_PER_MONTH * 1440 * 10 + 5_000 * 10);
    const [reading] = simulate(MEASURED, { ...none, reads_per_program: 1_000 });
    near(reading!.usage.cpu_ms - idle!.usage.cpu_ms, 100_000 * 5);
  });

  it("names every assumption, and a page and a day for every price", () => {
    const text = assumptionsOf(YEAR).join("\n");
    for (const [name, value] of Object.entries(YEAR)) {
      if (typeof value !== "number" || name === "months") continue;
      const shown = name === "payments_per_click" ? value * 100 : value;
      assert.ok(text.includes(shown.toLocaleString("en")), name);
    }
    for (const number of ["10 ms", "5 ms", "250 ms", "128 MB", "12,000 bytes", "30 minutes", "1,500 bytes"])
      assert.ok(text.includes(number), number);
    for (const share of REGIONS) assert.ok(text.includes(`${share * 100} %`));
    for (const { what, source, read } of Object.values({ ...PRICES, ...LOGS_FROM_DECEMBER_2026 })) {
      assert.match(source, /^https:\/\/developers\.cloudflare\.com\/[\w/-]+\/$/, what);
      assert.match(read, /^2026-\d\d-\d\d$/, what);
    }
  });
});

describe("the guide of costs", () => {
  const guide = readFileSync(new URL("../../src/docs/costs.md", import.meta.url), "utf8");
  const SIZES: Record<string, number> = { M: 1e6, million: 1e6, thousand: 1e3, each: 1 };
  const cellsOf = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const numberOf = (cell = "") => {
    const [number = "", size = "each"] = cell.replaceAll(",", "").split(" ");
    return Number(number) * SIZES[size]!;
  };
  const tables = [...guide.matchAll(/(?:^\|.*\n)+/gm)].map(([table]) => table.trim().split("\n").slice(2).map(cellsOf));
  const [shops = [], meters = []] = tables;
  const NAMES: Record<string, Metered> = {
    ...{ "Worker requests": "requests", "Worker CPU, ms": "cpu_ms", "e-mails": "emails" },
    ...{ "D1 rows written": "d1_rows_written", "D1 storage, GB": "d1_gb_months" },
    ...{ "object requests": "do_requests", "object rows written": "do_rows_written" },
    "queue operations": "queue_operations",
  };

  it("has the prices of the list, and their day", () => {
    for (const [name = "", included, beyond = ""] of meters) {
      const price = PRICES[NAMES[name]!];
      const [dollars, size = ""] = beyond.split(/ for (?:an? )?/);
      assert.deepEqual([name, numberOf(included)], [name, price.included]);
      assert.ok(Math.abs(Number(dollars) / SIZES[size]! - price.usd / price.per) < 1e-12, name);
      assert.equal(price.read, "2026-11-22");
    }
    assert.equal(meters.length, Object.keys(NAMES).length);
    assert.match(guide, /read on 22 November 2026/);
  });

  it("has sums that follow from the meters, for the shops of the model", () => {
    for (const [i, [shop = "", dollars, clicks, sales, partners]] of shops.entries()) {
      const scenario = SHOPS[shop]!;
      assert.deepEqual(
        [numberOf(clicks), numberOf(sales), numberOf(partners)],
        [
          scenario.clicks_per_program,
          scenario.clicks_per_program * scenario.payments_per_click,
          scenario.partners_per_program,
        ],
      );
      const usage = Object.fromEntries(meters.map((cells) => [NAMES[cells[0]!]!, numberOf(cells[3 + i])]));
      const sum = PLAN_USD + totalOf(costOf({ ...noUsage(), ...usage }, true));
      assert.equal(sum.toFixed(2), dollars);
    }
    assert.deepEqual(
      shops.map(([shop]) => shop),
      Object.keys(SHOPS),
    );
  });
});
