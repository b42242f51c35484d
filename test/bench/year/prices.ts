/**
 * The platform's price list for the paid plan, in US dollars, each price with the page it is from and the day on which it
 * was read. What the plan includes each month is taken off first, as for an account that runs nothing else.
 */
interface Price {
  what: string;
  usd: number;
  per: number;
  included: number;
  source: string;
  read: string;
}

const DOCS = "https://developers.cloudflare.com";
const WORKERS = { source: `${DOCS}/workers/platform/pricing/`, read: "2026-11-22" };
const D1 = { source: `${DOCS}/d1/platform/pricing/`, read: "2026-11-22" };
const OBJECTS = { source: `${DOCS}/durable-objects/platform/pricing/`, read: "2026-11-22" };
const QUEUES = { source: `${DOCS}/queues/platform/pricing/`, read: "2026-11-22" };
const R2 = { source: `${DOCS}/r2/pricing/`, read: "2026-11-22" };
const LOGS = { source: `${DOCS}/workers/observability/logs/workers-logs/`, read: "2026-11-22" };
const EMAIL = { source: `${DOCS}/email-service/platform/pricing/`, read: "2026-11-22" };
const OBSERVABILITY = { source: `${DOCS}/observability/pricing/`, read: "2026-11-22" };

export const PRICES = {
  requests: { what: "Worker requests", usd: 0.3, per: 1e6, included: 10e6, ...WORKERS },
  cpu_ms: { what: "Worker CPU, ms", usd: 0.02, per: 1e6, included: 30e6, ...WORKERS },
  asset_requests: { what: "static asset requests", usd: 0, per: 1e6, included: 0, ...WORKERS },
  log_lines: { what: "log lines", usd: 0.6, per: 1e6, included: 20e6, ...LOGS },
  d1_rows_read: { what: "D1 rows read", usd: 0.001, per: 1e6, included: 25e9, ...D1 },
  d1_rows_written: { what: "D1 rows written", usd: 1, per: 1e6, included: 50e6, ...D1 },
  d1_gb_months: { what: "D1 storage, GB-months", usd: 0.75, per: 1, included: 5, ...D1 },
  do_requests: { what: "object requests", usd: 0.15, per: 1e6, included: 1e6, ...OBJECTS },
  do_gb_seconds: { what: "object duration, GB-s", usd: 12.5, per: 1e6, included: 400_000, ...OBJECTS },
  do_rows_read: { what: "object rows read", usd: 0.001, per: 1e6, included: 25e9, ...OBJECTS },
  do_rows_written: { what: "object rows written", usd: 1, per: 1e6, included: 50e6, ...OBJECTS },
  do_gb_months: { what: "object storage, GB-months", usd: 0.2, per: 1, included: 5, ...OBJECTS },
  queue_operations: { what: "queue operations", usd: 0.4, per: 1e6, included: 1e6, ...QUEUES },
  r2_gb_months: { what: "R2 storage, GB-months", usd: 0.015, per: 1, included: 10, ...R2 },
  r2_writes: { what: "R2 operations, class A", usd: 4.5, per: 1e6, included: 1e6, ...R2 },
  r2_reads: { what: "R2 operations, class B", usd: 0.36, per: 1e6, included: 10e6, ...R2 },
  emails: { what: "e-mails", usd: 0.35, per: 1e3, included: 3e3, ...EMAIL },
} as const satisfies Record<string, Price>;

/** Replaces `LOGS` from December 1, 2026: logs are paid by ingested lines and by storage for a week. */
export const LOGS_FROM_DECEMBER_2026 = {
  log_gb: { what: "logs taken in, GB", usd: 0.25, per: 1, included: 50, ...OBSERVABILITY },
  log_gb_months: { what: "logs kept, GB-months", usd: 0.1, per: 1, included: 12, ...OBSERVABILITY },
} as const satisfies Record<string, Price>;

/** The plan itself, a month (https://developers.cloudflare.com/workers/platform/pricing/, 2026-11-22). */
export const PLAN_USD = 5;

export type Metered = keyof typeof PRICES;
export type Usage = Record<Metered, number>;

export function noUsage(): Usage {
  return Object.fromEntries(Object.keys(PRICES).map((name) => [name, 0])) as Usage;
}

/** The sum of usages, each times a number. */
export function sumOf(...parts: (readonly [Partial<Usage>, number])[]): Usage {
  const sum = noUsage();
  for (const [usage, times] of parts) {
    for (const name of Object.keys(usage) as Metered[]) sum[name] += (usage[name] ?? 0) * times;
  }
  return sum;
}

/** Dollars of a month, each meter alone; the flag deducts the plan's allowance. */
export function costOf(usage: Usage, included: boolean): Record<Metered, number> {
  const cost = noUsage();
  for (const name of Object.keys(PRICES) as Metered[]) cost[name] = dollarsOf(PRICES[name], usage[name], included);
  return cost;
}

function dollarsOf(price: Price, number: number, included: boolean): number {
  return (Math.max(0, number - (included ? price.included : 0)) * price.usd) / price.per;
}

export function totalOf(cost: Record<Metered, number>): number {
  return Object.values(cost).reduce((sum, part) => sum + part, 0);
}

/** Days that a log line is visible. */
const LOG_DAYS = 7;

/** Dollars of so many log lines of so many bytes in a month, by the prices from December 1, 2026. */
export function costOfLogsFromDecember2026(lines: number, bytes: number, included: boolean): number {
  const gb = (lines * bytes) / 1e9;
  const { log_gb, log_gb_months } = LOGS_FROM_DECEMBER_2026;
  return dollarsOf(log_gb, gb, included) + dollarsOf(log_gb_months, (gb * LOG_DAYS) / 30, included);
}
