/**
 * Codes that payments carry by an id of which no event says the name: with an API key the provider is asked for it, once
 * (CODE-8). Until then the id waits among `waiting_events`, as `code:` and the id.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import type { Fact } from "../../domain/fact.ts";
import { isLiveOnly } from "../../domain/program.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";

/** So many are asked for after a reading of the list; the others after the next. */
const AT_ONCE = 20;

const PREFIX = "code:";
/** After every text that begins with the prefix. */
const BEYOND = "code;";

/** Notes, before the event is stored, which codes of it have no name yet and were never asked for. */
export function noteUnnamed(
  { db, program }: Pick<ProgramCtx, "db" | "program">,
  provider: VendorName,
  { facts, test }: ProviderEvent,
): Statement[] {
  if (test && isLiveOnly(program)) return [];
  const named = new Set(facts.flatMap((fact) => (fact.kind === "code" ? [fact.code_id] : [])));
  const ids = codesCarried(facts).filter((id) => !named.has(id));
  if (ids.length === 0) return [];
  return [
    db.run(sql`insert into waiting_events (provider, subject, program_id)
      select ${literal(provider)}, ${PREFIX} || value, ${program.id} from json_each(${JSON.stringify(ids)})
      where not (${isAnswered(program.id, provider, sql`value`)}) on conflict do nothing`),
  ];
}

/** The ids of the codes that facts carry, each once. */
export function codesCarried(facts: readonly Fact[]): string[] {
  return [...new Set(facts.flatMap((fact) => ("codes" in fact ? (fact.codes ?? []) : [])))];
}

/** A select of the programs that wait for the names of codes, as `program_id` and `rank`. */
export function waitingForNames(provider: VendorName, code_ids: readonly string[]): SQL {
  return sql`select program_id, 0 as rank from waiting_events where provider = ${literal(provider)}
    and subject in (select ${PREFIX} || value from json_each(${JSON.stringify(code_ids)}))`;
}

/** Whether an event has said what a code is called, or the provider was asked for it. */
export function isAnswered(program_id: string, provider: VendorName, id: SQL): SQL {
  const ofProgram = sql`program_id = ${program_id} and provider = ${literal(provider)}`;
  return sql`exists (select 1 from facts where ${ofProgram} and kind = 'code' and ref_key = ${id})
    or exists (select 1 from provider_events where ${ofProgram} and event_id = ${PREFIX} || ${id})`;
}

/** The ids of a program that wait for their names, some of them. */
export async function unnamedOf({ db, program }: ProgramCtx, provider: VendorName): Promise<string[]> {
  const rows = await shaped(
    db,
    { id: text },
    sql`select substr(subject, ${literal(PREFIX.length + 1)}) as id
      from waiting_events indexed by waiting_events_of_program
      where program_id = ${program.id} and provider = ${provider} and subject >= ${PREFIX} and subject < ${BEYOND}
      order by subject limit ${literal(AT_ONCE)}`,
  );
  return rows.map(({ id }) => id);
}

/** Those of `waiting_events` that are no codes. */
export function isNoCode(subject: SQL): SQL {
  return sql`not (${subject} >= ${PREFIX} and ${subject} < ${BEYOND})`;
}

/** The id of the event that says what was answered. */
export function answerId(code_id: string): string {
  return PREFIX + code_id;
}

export async function forgetUnnamed({ db, program }: ProgramCtx, provider: VendorName, code_id: string): Promise<void> {
  await db.run(sql`delete from waiting_events
    where provider = ${provider} and subject = ${PREFIX + code_id} and program_id = ${program.id}`);
}
