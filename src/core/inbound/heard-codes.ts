/**
 * Which programs have heard of a promotion code, by an event that carries or names it: what is said of it to one program of a
 * vendor account is said to all of these (CODE-2). Both notes are among `waiting_events`, before the id of the code.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { Fact } from "../../domain/fact.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { codesCarried } from "./questions.ts";

/** The program has heard of it. */
const HEARD = "code-of:";
/** It has what was said of it to the other programs before. */
const MARKED = "code-to:";

/** The ids of the codes that facts carry or name, each once. */
export function codesMentioned(facts: readonly Fact[]): string[] {
  const named = facts.flatMap((fact) => (fact.kind === "code" ? [fact.code_id] : []));
  return [...new Set([...codesCarried(facts), ...named])];
}

/** To be written with the event: what is said of these codes from then on is passed on to this program. */
export function noteHeard(ctx: ProgramCtx, provider: VendorName, codes: readonly string[]): Statement {
  return note(ctx, provider, HEARD, codes);
}

export function noteMarked(ctx: ProgramCtx, provider: VendorName, codes: readonly string[]): Statement {
  return note(ctx, provider, MARKED, codes);
}

function note({ db, program }: ProgramCtx, provider: VendorName, prefix: string, codes: readonly string[]): Statement {
  return db.run(sql`insert into waiting_events (provider, subject, program_id)
    select ${literal(provider)}, ${prefix} || value, ${program.id} from json_each(${JSON.stringify(codes)})
    where true on conflict do nothing`);
}

/** A select of the programs that have heard of codes, as `program_id` and `rank`. */
export function heardOf(provider: VendorName, codes: readonly string[]): SQL {
  return sql`select program_id, 0 as rank from waiting_events where provider = ${literal(provider)}
    and subject in (select ${HEARD} || value from json_each(${JSON.stringify(codes)}))`;
}

/** A select, as `what` and `data`, of the codes of which it is not noted that the program has what was said to others. */
export function unmarkedAmong({ program }: ProgramCtx, provider: VendorName, codes: readonly string[]): SQL {
  return sql`select 'unmarked' as what, value as data from json_each(${JSON.stringify(codes)}) c
    where not exists (select 1 from waiting_events where provider = ${literal(provider)}
      and subject = ${MARKED} || c.value and program_id = ${program.id})`;
}
