/** A year, from measured operations and assumed traffic. Arithmetic only. */
import { sumOf, totalOf, costOf, PLAN_USD, type Usage } from "./prices.ts";

/** The programs' activity. The shares are assumptions, and printed with the result. */
export interface Scenario {
  months: number;
  programs: number;
  clicks_per_program: number;
  partners_per_program: number;
  /** Payments that become a commission, per click. */
  payments_per_click: number;
  /** API calls and pages that read a list, per program and month. */
  reads_per_program: number;
  /** Clicks are kept in the database this many days; null: forever. */
  click_retention_days: number | null;
  /** Whether clicks past their retention go to R2. */
  archived: boolean;
  /** Loads of the script that no browser had cached, per click, and whether a static asset answers them. */
  script_loads_per_click: number;
  script_is_asset: boolean;
  /** Sign-in links and notices, a month: to each partner, and to the owners of each program. */
  emails_per_partner: number;
  emails_to_owners: number;
  /** Objects of the archive that lists and exports read, per program and month. */
  archive_reads_per_program: number;
  /** Whether the platform writes a log line for every invocation, in addition to those of the Worker. */
  invocation_logs: boolean;
}

export const YEAR: Scenario = {
  months: 12,
  programs: 100,
  clicks_per_program: 1_000_000,
  partners_per_program: 50,
  payments_per_click: 0.01,
  reads_per_program: 100_000,
  click_retention_days: null,
  archived: false,
  script_loads_per_click: 50,
  script_is_asset: true,
  emails_per_partner: 2,
  emails_to_owners: 20,
  archive_reads_per_program: 1_000,
  invocation_logs: false,
};

/** The shops of the guide `src/docs/costs.md`, each alone in its account. */
export const SHOPS: Record<string, Scenario> = {
  small: { ...YEAR, programs: 1, clicks_per_program: 5_000, partners_per_program: 10, reads_per_program: 5_000 },
  medium: { ...YEAR, programs: 1, clicks_per_program: 100_000, partners_per_program: 200, reads_per_program: 50_000 },
  large: {
    ...YEAR,
    programs: 1,
    clicks_per_program: 1_000_000,
    partners_per_program: 2_000,
    reads_per_program: 200_000,
  },
};

/** The visitors' regions. */
export const REGIONS: readonly number[] = [0.3, 0.3, 0.15, 0.1, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02];
/** Milliseconds that an object is at work: until a commit is confirmed, and for any other call. */
const COMMIT_MS = 10;
const CALL_MS = 5;
/** An object that flushes itself waits for the database, which is far away. */
const ROUND_TRIP_MS = 250;
const OBJECT_GB = 0.128;
/** So long after its last call an object is in memory (https://developers.cloudflare.com/durable-objects/concepts/durable-object-lifecycle/). */
const IN_MEMORY_SECONDS = 10;
/** The database looks up a click's reference, at worst for every click: rows read. */
const LOOK_UP_ROWS = 3;
/** CPU in ms: of a click, a flush, a read, a run of the cron on a database, any other request, and a script load by the Worker. */
const CPU_MS = { click: 1, flush: 2, read: 5, minute: 10, other: 10, script: 0.3 };
/** Bytes of a log line that the platform writes for an invocation, with address and headers. */
export const LOG_LINE_BYTES = 1_500;
/** An object's empty storage (the platform's FAQ); a click stays in it for so long after its flush. */
const EMPTY_OBJECT_BYTES = 12_000;
const CLICK_IN_OBJECT_MINUTES = 30;
export const DAYS_PER_MONTH = 365 / 12;
const SECONDS_PER_DAY = 86_400;
export const DATABASE_GB = 10;
/** `domain/shard.ts`: a program id names its database by one digit of base 32. */
export const MAX_DATABASES = 32;
/** Clicks in one object of the archive (`core/kernel/click-archive.ts`). */
const CLICKS_PER_ARCHIVE = 2_000;
/** Deliveries, their bodies and provider bodies are forgotten after this many days (`core/operations/retention.ts`). */
const KEPT_DAYS = 90;

export interface Measured {
  flush_delay_ms: number;
  /** An object with so many waiting clicks flushes itself after so long. */
  dense: { clicks: number; delay_ms: number };
  /** Objects of a region and database: one up to so many clicks a second, else so many. */
  shards: number;
  one_object_to: number;
  /** Usage of one flush by the Worker of so many commits of one click each, by their number; of different partners. */
  flushes: Record<number, Partial<Usage>>;
  /** The same of an object that is in memory all the time; in `flushes` it never is. */
  in_memory: Record<number, Partial<Usage>>;
  payment: Partial<Usage>;
  approval: Partial<Usage>;
  payout: Partial<Usage>;
  /** Each commission of a payout more. */
  paid_out: Partial<Usage>;
  /** The deletion of one payment's data after 90 days. */
  forgetting: Partial<Usage>;
  read: Partial<Usage>;
  /** One idle run of the every-minute cron, and its cost for each click object. */
  minute: Partial<Usage>;
  /** The additional cost of the daily jobs, for each program. */
  day: Partial<Usage>;
  /** A program's clicks are rolled up once so many wait, or after so many hours. */
  roll_up: { clicks: number; hours: number };
  /** The additional cost of the crons, for each program, after so many hours of clicks of so many partners. */
  hours_of_clicks: Record<number, Partial<Usage>>;
  bytes: {
    click: number;
    /** Bytes in the object's storage until its id is forgotten. */
    click_in_object: number;
    /** Per partner and day, and per program and day: the counts. */
    partner_day: number;
    program_day: number;
    /** Per payment with its commission, and per payout: forever, and for 90 days. */
    payment_kept: number;
    payment_forgotten: number;
    payout_kept: number;
    payout_forgotten: number;
    archived_click: number;
  };
  rows: Record<"payment_kept" | "payment_forgotten" | "payout" | "partner_day" | "program_day", number>;
  /** D1 rows written to delete one click. */
  click_deleted: number;
}

export interface Month {
  month: number;
  /** Rows and bytes at its end. */
  rows: number;
  gb: number;
  archive_gb: number;
  databases: number;
  usage: Usage;
  /** The same by purpose, without the lines of the platform's own log. */
  items: Items;
  usd: number;
}

/** The usage at `x`, between the two measured numbers around it; beyond the last one, on the line of the last two. */
export function interpolate(points: Record<number, Partial<Usage>>, x: number): Usage {
  const at = Object.keys(points)
    .map(Number)
    .toSorted((a, b) => a - b);
  const next = at.findIndex((point) => point >= x);
  const high = at[next === -1 ? at.length - 1 : Math.max(next, 1)]!;
  const low = at[at.indexOf(high) - 1]!;
  const share = (x - low) / (high - low);
  return sumOf([points[low]!, 1 - share], [points[high]!, share]);
}

/** The parts of a month, by name. */
export type Items = Record<string, Partial<Usage>>;

/**
 * A month of so many clicks, by what is done for them. An object is flushed a while after the first click that waits, or
 * flushes itself soon after many wait, with what came meanwhile; so the rarer the clicks of an object, the fewer share a
 * flush. Commits of more than one click need more traffic than this, so there is one a click.
 */
export function clickItems(measured: Measured, clicks: number, databases: number): Items {
  const { flush_delay_ms, dense } = measured;
  const seconds = DAYS_PER_MONTH * SECONDS_PER_DAY;
  let all = 0;
  const parts = REGIONS.map((share) => {
    const isOne = (clicks * share) / databases / seconds <= measured.one_object_to;
    const objects = (isOne ? 1 : measured.shards) * databases;
    all += objects;
    const rate = (clicks * share) / objects / seconds;
    const few = 1 + (rate * flush_delay_ms) / 1000;
    const perFlush = Math.min(few, dense.clicks + (rate * dense.delay_ms) / 1000);
    const flushes = (clicks * share) / perFlush;
    const own = few > perFlush ? { do_gb_seconds: gbSeconds(dense.delay_ms + ROUND_TRIP_MS) } : {};
    const evicted = Math.exp(-rate * IN_MEMORY_SECONDS);
    return sumOf(
      [interpolate(measured.flushes, perFlush), flushes * evicted],
      [interpolate(measured.in_memory, perFlush), flushes * (1 - evicted)],
      [own, flushes],
    );
  });
  const inObjects = (clicks / (DAYS_PER_MONTH * 24 * 60)) * CLICK_IN_OBJECT_MINUTES * measured.bytes.click_in_object;
  // The commits before them are part of the measured flushes.
  const [commit, row] = [{ do_requests: 1, do_rows_written: 1 }, { d1_rows_written: 1 }];
  return {
    "clicks: the Worker, with the look-up of the partner": sumOf([OF_CLICK, clicks]),
    "clicks: a commit to the object each, of a row": sumOf([
      { ...commit, do_gb_seconds: gbSeconds(COMMIT_MS) },
      clicks,
    ]),
    "clicks: a row in the log each": sumOf([row, clicks]),
    "flushes, each with a row of the cursor": sumOf(...parts.map((part) => [part, 1] as const), [
      { ...commit, ...row },
      -clicks,
    ]),
    // Every minute, of every object; its cursor is read.
    "questions of the cron to the objects": sumOf([
      { do_requests: 1, do_gb_seconds: gbSeconds(CALL_MS), d1_rows_read: 1 },
      all * DAYS_PER_MONTH * 24 * 60,
    ]),
    "storage of the objects": sumOf([{ do_gb_months: 1 / 1e9 }, all * EMPTY_OBJECT_BYTES + inObjects]),
  };
}

/** The sum of `clickItems`. */
export function clicksOfMonth(measured: Measured, clicks: number, databases: number): Usage {
  return sumOfItems(clickItems(measured, clicks, databases));
}

function sumOfItems(items: Items): Usage {
  return sumOf(...Object.values(items).map((item) => [item, 1] as const));
}

/**
 * What follows from a month's clicks, from one roll-up to the next: each partner has some in each, or as many as there are
 * clicks. One that comes sooner writes as much as those measured: a little less, as it is of fewer hours.
 */
function rollUpsOf(measured: Measured, { programs, partners_per_program, clicks_per_program }: Scenario): Usage {
  const { clicks, hours } = measured.roll_up;
  const rollUps = Math.max((DAYS_PER_MONTH * 24) / hours, clicks_per_program / clicks);
  const partners = Math.min(partners_per_program, clicks_per_program / rollUps);
  return sumOf([interpolate(measured.hours_of_clicks, partners), programs * rollUps]);
}

/** A click's use of the Worker, apart from its object. */
const OF_CLICK = { requests: 1, cpu_ms: CPU_MS.click, d1_rows_read: LOOK_UP_ROWS };

/** The billed time of an object at work. */
function gbSeconds(ms: number): number {
  return (ms / 1000) * OBJECT_GB;
}

/** The assumed cost of a flush by the Worker with so many calls of the object. */
export function flushUsage(calls: number): Partial<Usage> {
  return { do_gb_seconds: gbSeconds(calls * CALL_MS), cpu_ms: CPU_MS.flush };
}

/** Loads of the script for so many clicks: of the static asset, or by the Worker. */
export function scriptLoads(scenario: Scenario, clicks: number): Usage {
  const loads = clicks * scenario.script_loads_per_click;
  return sumOf([scenario.script_is_asset ? { asset_requests: 1 } : { requests: 1, cpu_ms: CPU_MS.script }, loads]);
}

/** Adds a log line for each invocation of the Worker and of an object, if they are on. */
function withInvocationLogs(scenario: Pick<Scenario, "invocation_logs">, usage: Usage): Usage {
  return scenario.invocation_logs ? { ...usage, log_lines: usage.log_lines + invocationsOf(usage) } : usage;
}

/** Invocations of the Worker and of objects. */
export function invocationsOf(usage: Usage): number {
  return usage.requests + usage.do_requests;
}

/** The months of a scenario. Databases are added as the rows need them, ahead of being full. */
export function simulate(measured: Measured, scenario: Scenario): Month[] {
  const months: Month[] = [];
  let databases = 1;
  for (let month = 1; month <= scenario.months; month++) {
    const stock = stockAt(measured, scenario, month * DAYS_PER_MONTH);
    databases = Math.max(databases, Math.ceil(stock.gb / DATABASE_GB));
    const items = itemsOf(measured, scenario, month, databases);
    const usage = withInvocationLogs(scenario, sumOfItems(items));
    const { rows, gb, archive_gb } = stock;
    const usd = PLAN_USD + totalOf(costOf(usage, true));
    months.push({ month, rows, gb, archive_gb, databases, usage, items, usd });
  }
  return months;
}

function itemsOf(measured: Measured, scenario: Scenario, month: number, databases: number): Items {
  const { programs } = scenario;
  const clicks = programs * scenario.clicks_per_program;
  const payments = clicks * scenario.payments_per_click;
  const [before, after] = [month - 1, month].map((at) => stockAt(measured, scenario, at * DAYS_PER_MONTH));
  const gone = goneBetween(scenario, month);
  const mails = scenario.partners_per_program * scenario.emails_per_partner + scenario.emails_to_owners;
  const archived = scenario.archived ? gone.clicks / CLICKS_PER_ARCHIVE : 0;
  // Storage of a month is that of its mean.
  const stored = Object.keys(after!.gb_of).map((of): [string, Usage] => [
    `D1's storage: ${of}`,
    sumOf([{ d1_gb_months: 1 }, (before!.gb_of[of]! + after!.gb_of[of]!) / 2]),
  ]);
  return {
    ...clickItems(measured, clicks, databases),
    "roll-ups": rollUpsOf(measured, scenario),
    "loads of the script": scriptLoads(scenario, clicks),
    "payments, to their commissions and webhooks": sumOf([withCpu(measured.payment, "other"), payments]),
    "commissions approved, with their webhooks": sumOf([withCpu(measured.approval, "other"), payments]),
    "commissions paid out": sumOf([withCpu(measured.paid_out, "other"), payments]),
    payouts: sumOf([withCpu(measured.payout, "other"), programs * scenario.partners_per_program]),
    "reads of the API": sumOf([withCpu(measured.read, "read"), programs * scenario.reads_per_program]),
    "the crons": sumOf(
      // One run is for all databases, and does as much in each.
      [{ ...withCpu(measured.minute, "minute"), requests: 0 }, databases * DAYS_PER_MONTH * 24 * 60],
      [{ requests: 1 }, DAYS_PER_MONTH * 24 * 60],
      [measured.day, programs * DAYS_PER_MONTH],
    ),
    "e-mails": sumOf([{ emails: mails }, programs]),
    "forgetting after 90 days": sumOf([measured.forgetting, gone.payments]),
    "clicks deleted": sumOf([{ d1_rows_written: measured.click_deleted, d1_rows_read: 1 }, gone.clicks]),
    "the archive": sumOf(
      // An object is written, then looked at.
      [{ r2_writes: 1, r2_reads: 1 }, archived],
      [{ r2_reads: programs }, after!.archive_gb > 0 ? scenario.archive_reads_per_program : 0],
      [{ r2_gb_months: (before!.archive_gb + after!.archive_gb) / 2 }, 1],
    ),
    ...Object.fromEntries(stored),
  };
}

function withCpu(usage: Partial<Usage>, of: keyof typeof CPU_MS): Partial<Usage> {
  return { ...usage, cpu_ms: (usage.requests ?? 0) * CPU_MS[of] };
}

/** Clicks and payments whose time is over in a month. */
function goneBetween(scenario: Scenario, month: number): { clicks: number; payments: number } {
  const perDay = (scenario.programs * scenario.clicks_per_program) / DAYS_PER_MONTH;
  const past = (kept: number | null, at: number) => (kept === null ? 0 : Math.max(0, at * DAYS_PER_MONTH - kept));
  const between = (kept: number | null) => past(kept, month) - past(kept, month - 1);
  return {
    clicks: perDay * between(scenario.click_retention_days),
    payments: perDay * scenario.payments_per_click * between(KEPT_DAYS),
  };
}

export interface Stock {
  rows: number;
  gb: number;
  /** The same by source. */
  gb_of: Record<string, number>;
  archive_gb: number;
}

/** The contents of the databases and the archive after so many days. */
export function stockAt(measured: Measured, scenario: Scenario, days: number): Stock {
  const { bytes, rows } = measured;
  const clicksPerDay = (scenario.programs * scenario.clicks_per_program) / DAYS_PER_MONTH;
  const kept = Math.min(days, scenario.click_retention_days ?? days);
  const clicks = clicksPerDay * kept;
  const payments = clicksPerDay * scenario.payments_per_click * days;
  const recent = clicksPerDay * scenario.payments_per_click * Math.min(days, KEPT_DAYS);
  const programDays = scenario.programs * days;
  const partnerDays = programDays * scenario.partners_per_program;
  const payouts = partnerDays / DAYS_PER_MONTH;
  const recentPayouts = (payouts * Math.min(days, KEPT_DAYS)) / Math.max(days, 1);
  const sizes = {
    clicks: clicks * bytes.click,
    "payments and commissions": payments * bytes.payment_kept,
    "webhooks and the vendors' bodies, for 90 days":
      recent * bytes.payment_forgotten + recentPayouts * bytes.payout_forgotten,
    counts: partnerDays * bytes.partner_day + programDays * bytes.program_day,
    payouts: payouts * bytes.payout_kept,
  };
  const gb_of = Object.fromEntries(Object.entries(sizes).map(([of, size]) => [of, size / 1e9]));
  return {
    rows:
      clicks +
      partnerDays * rows.partner_day +
      programDays * rows.program_day +
      payments * rows.payment_kept +
      recent * rows.payment_forgotten +
      payouts * rows.payout,
    gb: Object.values(gb_of).reduce((sum, gb) => sum + gb, 0),
    gb_of,
    archive_gb: scenario.archived ? (clicksPerDay * (days - kept) * bytes.archived_click) / 1e9 : 0,
  };
}

/** The day on which one database is full, or null if that is after the scenario. */
export function dayOfSecondDatabase(measured: Measured, scenario: Scenario): number | null {
  const last = Math.ceil(scenario.months * DAYS_PER_MONTH);
  for (let day = 1; day <= last; day++) if (stockAt(measured, scenario, day).gb > DATABASE_GB) return day;
  return null;
}

/**
 * A million clicks that come in commits of so many each, every commit flushed separately, with the loads of the script:
 * nothing that the plan includes is taken off.
 */
export function costOfMillionClicks(
  usage: Partial<Usage>,
  clicks: number,
  scenario: Pick<Scenario, "invocation_logs"> = YEAR,
): Usage {
  const million = sumOf(
    [usage, 1e6 / clicks],
    [{ do_gb_seconds: gbSeconds(COMMIT_MS) }, 1e6 / clicks],
    [OF_CLICK, 1e6],
    [scriptLoads(YEAR, 1e6), 1],
  );
  return withInvocationLogs(scenario, million);
}

/** A million clicks of a scenario's month, spread over so many databases, without the plan's allowance. */
export function millionClicksOf(measured: Measured, scenario: Scenario, databases: number): Usage {
  return withInvocationLogs(scenario, sumOfItems(millionItems(measured, scenario, databases)));
}

/** The same by operation. */
export function millionItems(measured: Measured, scenario: Scenario, databases: number): Items {
  const clicks = scenario.programs * scenario.clicks_per_program;
  const month: Items = {
    ...clickItems(measured, clicks, databases),
    "roll-ups": rollUpsOf(measured, scenario),
    "loads of the script": scriptLoads(scenario, clicks),
  };
  return Object.fromEntries(Object.entries(month).map(([of, item]) => [of, sumOf([item, 1e6 / clicks])]));
}

/** All that is assumed and not measured, a sentence each. */
export function assumptionsOf(scenario: Scenario): string[] {
  const count = (number: number) => number.toLocaleString("en");
  const percent = REGIONS.map((share) => `${Math.round(share * 100)} %`).join(", ");
  return [
    `${count(scenario.programs)} programs with ${count(scenario.clicks_per_program)} clicks a month each, spread evenly over the month; one click a commit`,
    `${scenario.partners_per_program} partners a program, each with clicks in every roll-up and one payout a month`,
    `${scenario.payments_per_click * 100} payments per 100 clicks, one endpoint a program for all events, which answers at once`,
    `${count(scenario.reads_per_program)} reads a program and month`,
    `${scenario.script_loads_per_click} loads of the script per click, each a static asset`,
    `${scenario.emails_per_partner} e-mails a partner and ${scenario.emails_to_owners} to the owners of a program, a month`,
    `${count(scenario.archive_reads_per_program)} objects of the archive read for each program and month, where there are any`,
    `visitors by region: ${percent}`,
    `an object is at work ${COMMIT_MS} ms for a commit and ${CALL_MS} ms for any other call; where it flushes itself, ${ROUND_TRIP_MS} ms for each round trip to the database; ${OBJECT_GB * 1000} MB each`,
    `a click's reference is looked up in the database each time, ${LOOK_UP_ROWS} rows`,
    `an object is out of memory ${IN_MEMORY_SECONDS} seconds after its last call: at a flush, and at the first commit after it, where none comes for so long`,
    `an object's storage: ${count(EMPTY_OBJECT_BYTES)} bytes, and each click for ${CLICK_IN_OBJECT_MINUTES} minutes`,
    `CPU in ms: ${Object.entries(CPU_MS)
      .map(([of, ms]) => `${of} ${ms}`)
      .join(", ")} (script: where the Worker serves it)`,
    `no log line for an invocation, as configured; where it is switched on, ${count(LOG_LINE_BYTES)} bytes each`,
    `an account that runs nothing else: what the plan includes is taken off once`,
  ];
}
