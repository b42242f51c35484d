/**
 * `npm run simulate:year`: a year of 100 programs with 1,000,000 clicks a month each, in rows, bytes, operations and
 * dollars, and the day on which a second database is needed. What single operations cost is measured first, in a run of
 * the Worker on this machine; what is assumed is printed with the result. `-- --clicks` shows only what a million clicks
 * cost by clicks per commit, `-- --shops` what the shops of `src/docs/costs.md` cost; `-- --json` prints everything for
 * machines.
 */
import { measure, type Measurements } from "./year/measure.ts";
import {
  assumptionsOf,
  costOfMillionClicks,
  DATABASE_GB,
  dayOfSecondDatabase,
  invocationsOf,
  LOG_LINE_BYTES,
  MAX_DATABASES,
  millionClicksOf,
  millionItems,
  scriptLoads,
  SHOPS,
  simulate,
  YEAR,
  type Items,
  type Month,
  type Scenario,
} from "./year/model.ts";
import {
  costOf,
  costOfLogsFromDecember2026,
  LOGS_FROM_DECEMBER_2026,
  PRICES,
  sumOf,
  totalOf,
  type Metered,
  type Usage,
} from "./year/prices.ts";

/** Dollars: of a million clicks in the year's first month and alone in their commits, and of months of the year. */
const GOALS = { million: 2, million_alone: 4, first: 400, twelfth: 650, twelfth_archived: 500 };

const SCENARIOS: { name: string; scenario: Scenario }[] = [
  { name: "clicks are kept", scenario: YEAR },
  { name: "clicks are kept 90 days", scenario: { ...YEAR, click_retention_days: 90 } },
  {
    name: "clicks are kept 90 days, then archived in R2",
    scenario: { ...YEAR, click_retention_days: 90, archived: true },
  },
];

/** Columns of the table of a million clicks. */
const COLUMNS: [string, Metered[]][] = [
  ["Worker requests", ["requests"]],
  ["CPU", ["cpu_ms"]],
  ["script loads", ["asset_requests"]],
  ["object requests", ["do_requests"]],
  ["rows written", ["do_rows_written"]],
  ["duration", ["do_gb_seconds", "do_gb_months"]],
  ["D1 rows written", ["d1_rows_written"]],
  ["rows read", ["d1_rows_read", "do_rows_read"]],
  ["logs", ["log_lines"]],
];

const args = process.argv.slice(2);
const started = performance.now();
const { measured, commits, lone_click } = await measure();
const seconds = (performance.now() - started) / 1000;

if (args.includes("--json")) {
  const years = SCENARIOS.map(({ name, scenario }) => ({ name, scenario, months: simulate(measured, scenario) }));
  console.log(JSON.stringify({ prices: PRICES, measured, commits, years }, null, 2));
} else if (args.includes("--shops")) {
  for (const [name, scenario] of Object.entries(SHOPS)) {
    const last = simulate(measured, scenario).at(-1)!;
    printMeters(`A ${name} shop, month ${last.month}: ${usd(last.usd)}`, last);
  }
} else {
  printClicks(commits);
  if (!args.includes("--clicks")) printYear();
  console.log(`\nMeasured in ${seconds.toFixed(0)} s.`);
}

function printClicks(sizes: Measurements["commits"]): void {
  console.log("A million clicks and their script loads, in dollars; nothing that the plan includes is taken off");
  const months = simulate(measured, YEAR);
  const lines: [string, Usage][] = [
    ...Object.entries(sizes).flatMap(([size, { one, spread }]): [string, Usage][] => [
      [`${size} a commit, of one partner`, costOfMillionClicks(one, Number(size))],
      ...(size === "1"
        ? []
        : [[`${size} a commit, of as many partners`, costOfMillionClicks(spread, Number(size))] as [string, Usage]]),
    ]),
    [
      "1 a commit, alone in its program's roll-up",
      sumOf([costOfMillionClicks(sizes[1]!.one, 1), 1], [lone_click, 1e6]),
    ],
    ["as in the year's month 1", millionClicksOf(measured, YEAR, months[0]!.databases)],
    ["as in the year's month 12", millionClicksOf(measured, YEAR, months.at(-1)!.databases)],
  ];
  table(
    ["clicks", ...COLUMNS.map(([name]) => name), "together", "with invocation logs", "and from December 2026"],
    lines.map(([name, usage]) => {
      const cost = costOf(usage, false);
      const dollars = COLUMNS.map(([, meters]) => meters.reduce((sum, meter) => sum + cost[meter], 0));
      const [now, later] = invocationLogs(usage, false);
      const together = totalOf(cost);
      return [name, ...[...dollars, together, together + now, together + later].map(usd)];
    }),
  );
  console.log(
    "Each commit is flushed separately in all lines but the last two. What the roll-ups do is in the last three.",
  );
  const byWorker = totalOf(costOf(scriptLoads({ ...YEAR, script_is_asset: false }, 1e6), false));
  console.log(`Were the script no static asset, its loads would cost ${usd(byWorker)} more.`);
  printItems("A million clicks, as in the year's month 1", millionItems(measured, YEAR, months[0]!.databases));
  printItems("A million clicks, as in the year's month 12", millionItems(measured, YEAR, months.at(-1)!.databases));
  goal("A million clicks, as in the year's month 1", totalOf(costOf(lines.at(-2)![1], false)), GOALS.million);
  goal("A million clicks, each alone in its commit", totalOf(costOf(lines[0]![1], false)), GOALS.million_alone);
}

/** The added cost of a log line for each invocation, by the price until November 2026 and by the next one. */
function invocationLogs(usage: Usage, included: boolean): [number, number] {
  const lines = usage.log_lines + invocationsOf(usage);
  const before = costOf(usage, included).log_lines;
  const now = costOf({ ...usage, log_lines: lines }, included).log_lines;
  return [now - before, costOfLogsFromDecember2026(lines, LOG_LINE_BYTES, included) - before];
}

function goal(what: string, dollars: number, most: number): void {
  console.log(`${what}: ${usd(dollars)}. The goal, ${usd(most)}, is ${dollars <= most ? "met" : "missed"}.`);
}

function printYear(): void {
  const { bytes } = measured;
  console.log(
    `\nMeasured bytes: a click ${bytes.click.toFixed(0)} (in its object ${bytes.click_in_object.toFixed(0)}, in the archive ${bytes.archived_click.toFixed(0)}), counts of a partner and day ${bytes.partner_day.toFixed(0)}, of a program and day ${bytes.program_day.toFixed(0)}, a payment ${bytes.payment_kept.toFixed(0)} and for 90 days ${bytes.payment_forgotten.toFixed(0)} more, a payout ${bytes.payout_kept.toFixed(0)} and ${bytes.payout_forgotten.toFixed(0)}`,
  );
  console.log(
    `Assumed:\n${assumptionsOf(YEAR)
      .map((one) => `- ${one}`)
      .join("\n")}`,
  );
  for (const { name, scenario } of SCENARIOS) printScenario(name, scenario);
  const [first, last] = [simulate(measured, YEAR)[0]!, simulate(measured, YEAR).at(-1)!];
  const archived = simulate(measured, SCENARIOS.at(-1)!.scenario).at(-1)!;
  printMeters("Month 12, clicks kept", last);
  printMeters("Month 12, clicks archived", archived);
  printItems("Month 12, clicks kept", last.items);
  printItems("Month 12, clicks archived", archived.items);
  console.log("");
  goal("Month 1", first.usd, GOALS.first);
  goal("Month 12, clicks kept", last.usd, GOALS.twelfth);
  goal("Month 12, clicks archived", archived.usd, GOALS.twelfth_archived);
  const [now, later] = invocationLogs(last.usage, true);
  console.log(`A log line for each invocation would add ${usd(now)} to month 12, from December 2026 ${usd(later)}.`);
  printSources();
}

function printScenario(name: string, scenario: Scenario): void {
  const months = simulate(measured, scenario);
  const day = dayOfSecondDatabase(measured, scenario);
  console.log(
    `\n${scenario.programs} programs × ${scenario.clicks_per_program.toLocaleString("en")} clicks a month; ${name}`,
  );
  const meters = ["D1 written", "D1 read", "requests", "object requests", "object written", "queue"];
  table(
    ["month", "rows", "D1 GB", "R2 GB", "databases", ...meters, "dollars"],
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

/** The cost of each part, highest first, without deducting the plan's allowance. */
function printItems(what: string, items: Items): void {
  console.log(`\n${what}, by what it is for, in dollars; nothing that the plan includes is taken off`);
  const meters = (usage: Usage) =>
    (Object.keys(PRICES) as Metered[])
      .filter((name) => costOf(usage, false)[name] >= 0.005)
      .map((name) => `${PRICES[name].what} ${usd(costOf(usage, false)[name])}`)
      .join(", ");
  const lines = Object.entries(items).map(([of, item]) => {
    const usage = sumOf([item, 1]);
    return { of, dollars: totalOf(costOf(usage, false)), meters: meters(usage) };
  });
  table(
    ["for", "dollars", "of which"],
    lines
      .filter(({ dollars }) => dollars >= 0.005)
      .toSorted((a, b) => b.dollars - a.dollars)
      .map(({ of, dollars, meters: which }) => [of, usd(dollars), which]),
  );
}

function printMeters(what: string, { usage }: Month): void {
  console.log(`\n${what}, by meter, in dollars`);
  const cost = costOf(usage, true);
  table(
    ["meter", "number", "dollars"],
    (Object.keys(PRICES) as Metered[])
      .filter((name) => usage[name] > 0)
      .map((name) => [PRICES[name].what, short(usage[name]), usd(cost[name])]),
  );
}

function printSources(): void {
  console.log("\nPrices in dollars, and where they are from");
  table(
    ["meter", "price", "for", "included", "source", "read"],
    Object.values({ ...PRICES, ...LOGS_FROM_DECEMBER_2026 }).map(
      ({ what, usd: price, per, included, source, read }) => [
        what,
        String(price),
        short(per),
        short(included),
        source,
        read,
      ],
    ),
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
