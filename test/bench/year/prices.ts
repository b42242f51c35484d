/**
 * The platform's price list for the paid plan, in US dollars: https://developers.cloudflare.com/workers/platform/pricing/
 * and the pages on pricing of D1, Durable Objects, Queues and R2, as read in November 2026. What the plan includes each
 * month is taken off first, as for an account that runs nothing else.
 */
export const PRICES = {
  requests: { what: "Worker requests", usd: 0.3, per: 1e6, included: 10e6 },
  cpu_ms: { what: "Worker CPU, ms", usd: 0.02, per: 1e6, included: 30e6 },
  d1_rows_read: { what: "D1 rows read", usd: 0.001, per: 1e6, included: 25e9 },
  d1_rows_written: { what: "D1 rows written", usd: 1, per: 1e6, included: 50e6 },
  d1_gb_months: { what: "D1 storage, GB-months", usd: 0.75, per: 1, included: 5 },
  do_requests: { what: "object requests", usd: 0.15, per: 1e6, included: 1e6 },
  do_gb_seconds: { what: "object duration, GB-s", usd: 12.5, per: 1e6, included: 400_000 },
  do_rows_read: { what: "object rows read", usd: 0.001, per: 1e6, included: 25e9 },
  do_rows_written: { what: "object rows written", usd: 1, per: 1e6, included: 50e6 },
  queue_operations: { what: "queue operations", usd: 0.4, per: 1e6, included: 1e6 },
  r2_gb_months: { what: "R2 storage, GB-months", usd: 0.015, per: 1, included: 10 },
  r2_writes: { what: "R2 writes", usd: 4.5, per: 1e6, included: 1e6 },
} as const;

/** Of the plan itself, a month. */
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

/** Dollars of a month, each meter alone; `included`: whether what the plan includes is taken off. */
export function costOf(usage: Usage, included: boolean): Record<Metered, number> {
  const cost = noUsage();
  for (const name of Object.keys(PRICES) as Metered[]) {
    const price = PRICES[name];
    cost[name] = (Math.max(0, usage[name] - (included ? price.included : 0)) * price.usd) / price.per;
  }
  return cost;
}

export function totalOf(cost: Record<Metered, number>): number {
  return Object.values(cost).reduce((sum, part) => sum + part, 0);
}
