/** The active flows of programs whose payments this isolate has settled: read again only when a rule has changed. */
import { sql, type SQL } from "drizzle-orm";
import type { Flow } from "../../domain/flow.ts";
import { remember } from "../../lib/remembered.ts";

/** A program's active flows as of `version`. Frozen by convention: every settling of the program shares them. */
export interface KnownFlows {
  version: string;
  flows: readonly Flow[];
}

/** Programs in an isolate's memory. The largest have 100 flows of 20 conditions, some 500 KB. */
const MOST = 32;
const KNOWN = remember<string, KnownFlows>(MOST);

/** The flows of a program from this isolate's newest read; null before the first. */
export function knownFlows(program_id: string): KnownFlows | null {
  return KNOWN.get(program_id, 0) ?? null;
}

/** Keeps a program's flows for later payments, and returns them. */
export function keepFlows(program_id: string, known: KnownFlows): readonly Flow[] {
  KNOWN.set(program_id, known, Infinity);
  return known.flows;
}

/**
 * SQL for the version of the active flows of the program `program_id`, empty before the first: triggers enter each
 * change of an active flow, also the first and the last, into `past_rules`. Its number alone would not do: another
 * database has a count of its own.
 */
export function flowsVersion(program_id: SQL): SQL {
  return sql`ifnull((select seq || ' ' || valid_until from past_rules
    where program_id = ${program_id} and partner_id = '' order by seq desc limit 1), '')`;
}
