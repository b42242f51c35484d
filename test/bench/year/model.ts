/** A year, from what was measured of single operations and what is assumed of the traffic. Arithmetic only. */
import { sumOf, totalOf, costOf, PLAN_USD, type Usage } from "./prices.ts";

/** What the programs do. The shares are assumptions, and printed with the result. */
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

/** Where visitors are. */
export const REGIONS: readonly number[] = [0.3, 0.3, 0.15, 0.1, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02];
/** Milliseconds that an object is at work: until a commit is confirmed, and for any other call. */
const COMMIT_MS = 10;
const CALL_MS = 5;
/** An object that flushes itself waits for the database, which is far away. */
const ROUND_TRIP_MS = 250;
const OBJECT_GB = 0.128;
/** CPU in ms: of a click, a flush, a read, a run of the cron on a database, any other request, and a script load by the Worker. */
const CPU_MS = { click: 1, flush: 2, read: 5, minute: 10, other: 10, script: 0.3 };
/** Of a line that the platform writes for an invocation, with the request's address and headers. */
export const LOG_LINE_BYTES = 1_500;
/** An object's storage with nothing in it (the platform's FAQ); a click stays in it for so long after its flush. */
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
  /** Where so many clicks wait in an object, it flushes itself after so long. */
  dense: { clicks: number; delay_ms: number };
  /** Objects of a region and database: one up to so many clicks a second, else so many. */
  shards: number;
  one_object_to: number;
  /** Usage of one flush by the Worker of so many commits of one click each, by their number; of different partners. */
  flushes: Record<number, Partial<Usage>>;
  payment: Partial<Usage>;
  approval: Partial<Usage>;
  payout: Partial<Usage>;
  /** Forgetting what one payment left, when its 90 days are over. */
  forgetting: Partial<Usage>;
  read: Partial<Usage>;
  /** One run of the every-minute cron with nothing to do, and what it costs for each click object. */
  minute: Partial<Usage>;
  /** What the daily jobs do more, for each program. */
  day: Partial<Usage>;
  /** A program's clicks are rolled up once so many wait, or after so many hours. */
  roll_up: { clicks: number; hours: number };
  /** What the crons do more, for each program, after so many hours of clicks of so many partners. */
  hours_of_clicks: Record<number, Partial<Usage>>;
  bytes: {
    click: number;
    /** In the object's storage, until its id is forgotten. */
    click_in_object: number;
    /** Per partner and day: the counts. */
    partner_day: number;
    /** Per payment: forever, and for 90 days. */
    payment_kept: number;
    payment_forgotten: number;
    payout: number;
    archived_click: number;
  };
  rows: { payment_kept: number; payment_forgotten: number; payout: number; partner_day: number };
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

/**
 * A month of so many clicks. An object is flushed a while after the first click that waits, or flushes itself soon after
 * many wait, with what came meanwhile; so the rarer the clicks of an object, the fewer share a flush. Commits of more than
 * one click need more traffic than this, so there is one a click.
 */
export function clicksOfMonth(measured: Measured, clicks: number, databases: number): Usage {
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
    return sumOf([interpolate(measured.flushes, perFlush), flushes], [own, flushes]);
  });
  const inObjects = (clicks / (DAYS_PER_MONTH * 24 * 60)) * CLICK_IN_OBJECT_MINUTES * measured.bytes.click_in_object;
  return sumOf(
    ...parts.map((part) => [part, 1] as const),
    [{ requests: 1, cpu_ms: CPU_MS.click, do_gb_seconds: gbSeconds(COMMIT_MS) }, clicks],
    // The cron asks every object every minute, and reads its cursor.
    [{ do_requests: 1, do_gb_seconds: gbSeconds(CALL_MS), d1_rows_read: 1 }, all * DAYS_PER_MONTH * 24 * 60],
    [{ do_gb_months: 1 / 1e9 }, all * EMPTY_OBJECT_BYTES + inObjects],
  );
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

/** What an object is paid for while it is at work. */
function gbSeconds(ms: number): number {
  return (ms / 1000) * OBJECT_GB;
}

/** What is assumed of a flush by the Worker with so many calls of the object. */
export function flushUsage(calls: number): Partial<Usage> {
  return { do_gb_seconds: gbSeconds(calls * CALL_MS), cpu_ms: CPU_MS.flush };
}

/** Loads of the script for so many clicks: of the static asset, or by the Worker. */
export function scriptLoads(scenario: Scenario, clicks: number): Usage {
  const loads = clicks * scenario.script_loads_per_click;
  return sumOf([scenario.script_is_asset ? { asset_requests: 1 } : { requests: 1, cpu_ms: CPU_MS.script }, loads]);
}

/** With a log line for each invocation of the Worker and of an object, where they are on. */
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
    const usage = usageOf(measured, scenario, month, databases);
    months.push({ month, ...stock, databases, usage, usd: PLAN_USD + totalOf(costOf(usage, true)) });
  }
  return months;
}

function usageOf(measured: Measured, scenario: Scenario, month: number, databases: number): Usage {
  const { programs } = scenario;
  const clicks = programs * scenario.clicks_per_program;
  const payments = clicks * scenario.payments_per_click;
  const [before, after] = [month - 1, month].map((at) => stockAt(measured, scenario, at * DAYS_PER_MONTH));
  const gone = goneBetween(scenario, month);
  const usage = sumOf(
    [clicksOfMonth(measured, clicks, databases), 1],
    [scriptLoads(scenario, clicks), 1],
    ...[measured.payment, measured.approval].map((one) => [withCpu(one, "other"), payments] as const),
    [withCpu(measured.payout, "other"), programs * scenario.partners_per_program],
    [withCpu(measured.read, "read"), programs * scenario.reads_per_program],
    [withCpu(measured.minute, "minute"), databases * DAYS_PER_MONTH * 24 * 60],
    [measured.day, programs * DAYS_PER_MONTH],
    [rollUpsOf(measured, scenario), 1],
    [{ emails: scenario.partners_per_program * scenario.emails_per_partner + scenario.emails_to_owners }, programs],
    [measured.forgetting, gone.payments],
    [{ d1_rows_written: measured.click_deleted, d1_rows_read: 1 }, gone.clicks],
    // An object is written, then looked at.
    [{ r2_writes: 1 / CLICKS_PER_ARCHIVE, r2_reads: 1 / CLICKS_PER_ARCHIVE }, scenario.archived ? gone.clicks : 0],
    [{ r2_reads: programs }, after!.archive_gb > 0 ? scenario.archive_reads_per_program : 0],
    // Storage of a month is that of its mean.
    [{ d1_gb_months: (before!.gb + after!.gb) / 2, r2_gb_months: (before!.archive_gb + after!.archive_gb) / 2 }, 1],
  );
  return withInvocationLogs(scenario, usage);
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

/** What is in the databases and in the archive after so many days. */
export function stockAt(
  measured: Measured,
  scenario: Scenario,
  days: number,
): { rows: number; gb: number; archive_gb: number } {
  const { bytes, rows } = measured;
  const clicksPerDay = (scenario.programs * scenario.clicks_per_program) / DAYS_PER_MONTH;
  const kept = Math.min(days, scenario.click_retention_days ?? days);
  const clicks = clicksPerDay * kept;
  const payments = clicksPerDay * scenario.payments_per_click * days;
  const recent = clicksPerDay * scenario.payments_per_click * Math.min(days, KEPT_DAYS);
  const partnerDays = scenario.programs * scenario.partners_per_program * days;
  const payouts = (scenario.programs * scenario.partners_per_program * days) / DAYS_PER_MONTH;
  const size =
    clicks * bytes.click +
    partnerDays * bytes.partner_day +
    payments * bytes.payment_kept +
    recent * bytes.payment_forgotten +
    payouts * bytes.payout;
  return {
    rows:
      clicks +
      partnerDays * rows.partner_day +
      payments * rows.payment_kept +
      recent * rows.payment_forgotten +
      payouts * rows.payout,
    gb: size / 1e9,
    archive_gb: scenario.archived ? (clicksPerDay * (days - kept) * bytes.archived_click) / 1e9 : 0,
  };
}

/** The day on which one database is full, or null where that does not come within the scenario. */
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
    [{ requests: 1, cpu_ms: CPU_MS.click }, 1e6],
    [scriptLoads(YEAR, 1e6), 1],
  );
  return withInvocationLogs(scenario, million);
}

/** A million clicks as they come in a scenario's month, spread over so many databases; nothing is taken off. */
export function millionClicksOf(measured: Measured, scenario: Scenario, databases: number): Usage {
  const clicks = scenario.programs * scenario.clicks_per_program;
  const month = sumOf(
    [clicksOfMonth(measured, clicks, databases), 1],
    [rollUpsOf(measured, scenario), 1],
    [scriptLoads(scenario, clicks), 1],
  );
  return withInvocationLogs(scenario, sumOf([month, 1e6 / clicks]));
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
    `the platform has put an object out of memory before each flush, and before the first commit after it`,
    `an object's storage: ${count(EMPTY_OBJECT_BYTES)} bytes, and each click for ${CLICK_IN_OBJECT_MINUTES} minutes`,
    `CPU in ms: ${Object.entries(CPU_MS)
      .map(([of, ms]) => `${of} ${ms}`)
      .join(", ")} (script: where the Worker serves it)`,
    `no log line for an invocation, as configured; where it is switched on, ${count(LOG_LINE_BYTES)} bytes each`,
    `an account that runs nothing else: what the plan includes is taken off once`,
  ];
}
