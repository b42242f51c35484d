/** Shared by the parts of the measurement: programs and visitors, rounds of the crons, sums. */
import type { Measured } from "./model.ts";
import type { MeteredService } from "./metered-service.ts";
import { sumOf, type Usage } from "./prices.ts";

export const PROGRAMS = 40;
export const PARTNERS = 5;
/** The secret of the provider's webhooks, in all programs. */
export const SECRET = "whsec_measure";
export const DAY = 86_400_000;
export const MINUTE = 60_000;
const MAX_MINUTES = 500;
/** The cost of click objects is in the model. */
export const OF_OBJECTS = { do_requests: 0, do_rows_read: 0, do_rows_written: 0 };

export interface Program {
  id: string;
  api_key: string;
  slugs: string[];
}

export type Visitor = { program_id: string; ref: string };

export type Constants = Pick<Measured, "flush_delay_ms" | "dense" | "shards" | "one_object_to" | "roll_up"> & {
  now: number;
};

export function constantsOf(service: MeteredService): Promise<Constants> {
  return service.control<Constants>("constants");
}

/** The minute's cron, minute by minute, until every job's round is over: the cost of that. */
export async function roundsEnd(service: MeteredService): Promise<{ minutes: number; usage: Usage }> {
  let usage = sumOf();
  for (let minutes = 0; ; minutes++) {
    const [open] = await service.sql<{ n: number }>("select count(*) as n from job_runs where finished_at is null");
    if (open?.n === 0) return { minutes, usage };
    if (minutes === MAX_MINUTES) throw new Error(`after ${minutes} minutes ${open?.n} jobs are not over`);
    usage = sumOf([usage, 1], [await roundsOf(service, 1), 1]);
  }
}

export async function roundsOf(service: MeteredService, minutes: number): Promise<Usage> {
  await service.tally();
  for (let i = 0; i < minutes; i++) {
    await service.control("advance", { ms: MINUTE });
    await service.cron("* * * * *");
  }
  return service.tally();
}

export function each(usage: Usage, number: number): Usage {
  return sumOf([usage, 1 / number]);
}

/** The growth of tables and their indexes in bytes. */
export function difference(after: Map<string, number>, before: Map<string, number>, tables: string[]): number {
  return tables.reduce((sum, table) => sum + (after.get(table) ?? 0) - (before.get(table) ?? 0), 0);
}
