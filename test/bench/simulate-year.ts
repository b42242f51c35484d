/**
 * `npm run simulate:year`: a year of 100 programs with 1,000,000 clicks a month each, in rows, bytes, operations and
 * dollars, and the day on which a second database is needed. What single operations cost is measured first, in a run of
 * the Worker on this machine; what is assumed is printed with the result. `-- --clicks` shows only what a million clicks
 * cost by clicks per commit; `-- --json` prints everything for machines.
 */
import { measure, type Measurements } from "./year/measure.ts";
import {
  costOfMillionClicks,
  DATABASE_GB,
  dayOfSecondDatabase,
  MAX_DATABASES,
  simulate,
  YEAR,
  type Month,
  type Scenario,
} from "./year/model.ts";
import { costOf, PRICES, totalOf, type Metered, type Usage } from "./year/prices.ts";

/** One click in commits of this size may cost so much a million. */
const GOAL = { clicks: 20, usd: 1.8 };

const SCENARIOS: { name: string; scenario: Scenario }[] = [
  { name: "clicks are kept", scenario: YEAR },
  { name: "clicks are kept 90 days", scenario: { ...YEAR, click_retention_days: 90 } },
  {
    name: "clicks are kept 90 days, then archived in R2",
    scenario: { ...YEAR, click_retention_days: 90, archived: true },
  },
];

const args = process.argv.slice(2);
const started = performance.now();
const { measured, commits } = await measure();
const seconds = (performance.now() - started) / 1000;

if (args.includes("--json")) {
  const years = SCENARIOS.map(({ name, scenario }) => ({ name, scenario, months: simulate(measured, scenario) }));
  console.log(JSON.stringify({ prices: PRICES, measured, commits, years }, null, 2));
} else {
  printClicks(commits);
  if (!args.includes("--clicks")) printYear();
  console.log(`\nMeasured in ${seconds.toFixed(0)} s.`);
}

function printClicks(sizes: Measurements["commits"]): void {
  console.log(
    "A million clicks, in dollars; each commit is flushed separately, nothing that the plan includes is taken off",
  );
  const columns: [string, Metered[]][] = [
    ["Worker", ["requests"]],
    ["objects: requests", ["do_requests"]],
    ["rows written", ["do_rows_written"]],
    ["duration", ["do_gb_seconds"]],
    ["D1 rows written", ["d1_rows_written"]],
    ["rows read", ["d1_rows_read", "do_rows_read"]],
  ];
  table(
    ["clicks a commit", ...columns.map(([name]) => name), "together"],
    Object.entries(sizes).flatMap(([size, { one, spread }]) =>
      [
        [`${size}, of one partner`, one] as const,
        ...(size === "1" ? [] : [[`${size}, of as many partners`, spread] as const]),
      ].map(([name, usage]) => {
        const cost = costOf(costOfMillionClicks(usage, Number(size)), false);
        const dollars = columns.map(([, meters]) => meters.reduce((sum, meter) => sum + cost[meter], 0));
        return [name, ...dollars.map(usd), usd(totalOf(cost))];
      }),
    ),
  );
  const goal = totalOf(costOf(costOfMillionClicks(sizes[GOAL.clicks]!.one, GOAL.clicks), false));
  console.log(
    `The goal, ${usd(GOAL.usd)} at ${GOAL.clicks} of one partner, is ${goal <= GOAL.usd ? "met" : "missed"}.`,
  );
}

function printYear(): void {
  const { bytes } = measured;
  console.log(
    `\nMeasured bytes: a click ${bytes.click.toFixed(0)} (in the archive ${bytes.archived_click.toFixed(0)}), counts of a partner and day ${bytes.partner_day.toFixed(0)}, a payment ${bytes.payment_kept.toFixed(0)} and for 90 days ${bytes.payment_forgotten.toFixed(0)} more, a payout ${bytes.payout.toFixed(0)}`,
  );
  console.log(
    `Assumed: ${YEAR.partners_per_program} partners a program, ${YEAR.payments_per_click * 100} payments per 100 clicks, one endpoint a program for all events, payouts once a month, ${YEAR.reads_per_program.toLocaleString("en")} reads a program and month`,
  );
  for (const { name, scenario } of SCENARIOS) {
    const months = simulate(measured, scenario);
    const day = dayOfSecondDatabase(measured, scenario);
    console.log(
      `\n${scenario.programs} programs × ${scenario.clicks_per_program.toLocaleString("en")} clicks a month; ${name}`,
    );
    table(
      [
        "month",
        "rows",
        "D1 GB",
        "R2 GB",
        "databases",
        "D1 written",
        "D1 read",
        "requests",
        "object requests",
        "object written",
        "queue",
        "dollars",
      ],
      months.map((month) => lineOf(month)),
    );
    console.log(
      day === null
        ? "One database is enough."
        : `The second database is needed on day ${day}: ${DATABASE_GB} GB are full.`,
    );
    const beyond = months.find(({ databases }) => databases > MAX_DATABASES);
    if (beyond) console.log(`A deployment has ${MAX_DATABASES} databases at most: month ${beyond.month} does not fit.`);
  }
  const last = simulate(measured, YEAR).at(-1)!;
  console.log(`\nMonth ${last.month} of the first, by meter, in dollars`);
  const cost = costOf(last.usage, true);
  table(
    ["meter", "number", "dollars"],
    (Object.keys(PRICES) as Metered[])
      .filter((name) => last.usage[name] > 0)
      .map((name) => [PRICES[name].what, short(last.usage[name]), usd(cost[name])]),
  );
}

function lineOf({ month, rows, gb, archive_gb, databases, usage, usd: dollars }: Month): string[] {
  const meters: (keyof Usage)[] = ["d1_rows_written", "d1_rows_read", "requests", "do_requests", "do_rows_written"];
  return [
    String(month),
    short(rows),
    gb.toFixed(1),
    archive_gb.toFixed(1),
    String(databases),
    ...[...meters, "queue_operations" as const].map((name) => short(usage[name])),
    dollars.toFixed(0),
  ];
}

function short(number: number): string {
  const units: [number, string][] = [
    [1e9, " G"],
    [1e6, " M"],
    [1e3, " k"],
  ];
  const [size, unit] = units.find(([from]) => number >= from) ?? [1, ""];
  return `${(number / size).toFixed(number >= 1e3 ? 1 : 0)}${unit}`;
}

function usd(amount: number): string {
  return amount.toFixed(2);
}

function table(head: string[], lines: string[][]): void {
  const widths = head.map((name, i) => Math.max(name.length, ...lines.map((line) => line[i]!.length)));
  for (const line of [head, ...lines]) {
    console.log(line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  "));
  }
}
