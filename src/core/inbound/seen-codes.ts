/**
 * Which programs have received an event that references a promotion code: if one program of a vendor account receives
 * the names of a code, they are passed on to these (CODE-2). Both notes are in `waiting_events`, before the id of the
 * code.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { Fact } from "../../domain/fact.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { codesCarried } from "./questions.ts";

/** The program has an event that references it. */
const SEEN = "code-of:";
/** It has the names that the other programs had received before. */
const FETCHED = "code-to:";

/** The ids of the codes that facts carry or name, each once. */
export function codesReferenced(facts: readonly Fact[]): string[] {
  const named = facts.flatMap((fact) => (fact.kind === "code" ? [fact.code_id] : []));
  return [...new Set([...codesCarried(facts), ...named])];
}

/** Written with the event: later names of these codes are passed on to this program. */
export function recordSeenCodes(ctx: ProgramCtx, provider: VendorName, codes: readonly string[]): Statement {
  return note(ctx, provider, SEEN, codes);
}

export function recordFetchedCodes(ctx: ProgramCtx, provider: VendorName, codes: readonly string[]): Statement {
  return note(ctx, provider, FETCHED, codes);
}

function note({ db, program }: ProgramCtx, provider: VendorName, prefix: string, codes: readonly string[]): Statement {
  return db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${literal(provider)}, ${prefix} || value, ${program.id} from json_each(${JSON.stringify(codes)})
    where true on conflict do nothing`);
}

/** Selects the programs with an event that references codes, as `program_id` and `rank`. */
export function selectSeers(provider: VendorName, codes: readonly string[]): SQL {
  return sql`select program_id, 0 as rank from waiting_events where provider = ${literal(provider)}
    and subject in (select ${SEEN} || value from json_each(${JSON.stringify(codes)}))`;
}

/** Selects, as `what` and `data`, the codes whose earlier names the program has not fetched. */
export function selectUnfetched({ program }: ProgramCtx, provider: VendorName, codes: readonly string[]): SQL {
  return sql`select 'unfetched' as what, value as data from json_each(${JSON.stringify(codes)}) c
    where not exists (select 1 from waiting_events where provider = ${literal(provider)}
      and subject = ${FETCHED} || c.value and program_id = ${program.id})`;
}
