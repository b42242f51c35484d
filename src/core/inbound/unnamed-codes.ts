/**
 * Codes that payments carry by an id of which no event says the name: with an API key the provider is asked for it, once
 * (CODE-8). Until then the id waits among `waiting_events`, as `code:` and the id.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import type { Fact } from "../../domain/fact.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";

/** So many of those that carry a code are named to the provider. */
const CARRIERS = 20;

const PREFIX = "code:";
/** After every text that begins with the prefix. */
const BEYOND = "code;";

/** Notes, before the event is stored, which codes of it have no name yet and were never asked for. */
export function noteUnnamed(
  { db, program }: Pick<ProgramCtx, "db" | "program">,
  provider: VendorName,
  { facts, test }: ProviderEvent,
): Statement[] {
  if (test && program.live_only) return [];
  const carried = codesCarried(facts);
  if (carried.length === 0) return [];
  const said = facts.filter((fact) => fact.kind === "code");
  const named = new Set(said.map(({ code_id }) => code_id));
  const ids = [...carried, ...said.flatMap(({ parents }) => parents)].filter((id) => !named.has(id));
  if (ids.length === 0) return [];
  const seeds = sql`select value from json_each(${JSON.stringify([...new Set(ids)])})`;
  return [
    db.run(sql`insert into waiting_events (provider, subject, program_id)
      select ${literal(provider)}, ${PREFIX} || id, ${program.id} from (${unnamedAmong(program.id, provider, seeds)})
      where true on conflict do nothing`),
  ];
}

/** The ids of the codes that facts carry, each once. */
export function codesCarried(facts: readonly Fact[]): string[] {
  return [...new Set(facts.flatMap((fact) => ("codes" in fact ? (fact.codes ?? []) : [])))];
}

/**
 * Of some codes (`seeds`: SQL for a one-column select) and what they were made from, those of which no event has said
 * anything and for which the provider was not asked, as `id`.
 */
export function unnamedAmong(program_id: string, provider: VendorName, seeds: SQL): SQL {
  // However often it was said: one row.
  const said = sql`(select data from facts where program_id = ${program_id} and provider = ${literal(provider)}
    and kind = 'code' and ref_key = made.id order by occurred_at desc limit 1)`;
  return sql`with recursive made (id) as (
      ${seeds} union select p.value from made cross join json_each(${said}, '$.parents') p
    ) select id from made where not (${isAnswered(program_id, provider, sql`made.id`)})`;
}

/** Of the payments and subscriptions that carry a code, the first ids by which they are found. */
export async function carriersOf(
  { db, program }: ProgramCtx,
  provider: VendorName,
  code_id: string,
): Promise<string[]> {
  const ofVendor = (table: SQL) => sql`${table}.program_id = ${program.id} and ${table}.provider = ${provider}`;
  const rows = await shaped(
    db,
    { id: text },
    sql`select n.subject as id from (select fact_id from fact_subjects s
        where ${ofVendor(sql`s`)} and scope = 'coded' and subject = ${code_id} order by fact_id limit ${literal(CARRIERS)}) c
      cross join fact_subjects n on ${ofVendor(sql`n`)} and n.fact_id = c.fact_id
        and +n.scope in ('payment', 'subscription')`,
  );
  return rows.map(({ id }) => id);
}

/** Whether an event has said what a code is called, or the provider was asked for it. */
function isAnswered(program_id: string, provider: VendorName, id: SQL): SQL {
  const ofProgram = sql`program_id = ${program_id} and provider = ${literal(provider)}`;
  return sql`exists (select 1 from facts indexed by facts_of_code where ${ofProgram} and kind = 'code' and ref_key = ${id})
    or exists (select 1 from provider_events where ${ofProgram} and event_id = ${PREFIX} || ${id})`;
}

/** The ids of a program that wait for their names, some of them. */
export async function unnamedOf({ db, program }: ProgramCtx, provider: VendorName, most: number): Promise<string[]> {
  const rows = await shaped(
    db,
    { id: text },
    sql`select substr(subject, ${literal(PREFIX.length + 1)}) as id
      from waiting_events indexed by waiting_events_of_program
      where program_id = ${program.id} and provider = ${provider} and subject >= ${PREFIX} and subject < ${BEYOND}
      order by subject limit ${literal(most)}`,
  );
  return rows.map(({ id }) => id);
}

/** Those of `waiting_events` that are no codes, in any of the notes about these. */
export function isNoCode(subject: SQL): SQL {
  return sql`not (${subject} >= 'code' and ${subject} < 'codf')`;
}

/** The id of the event that says what was answered. */
export function answerId(code_id: string): string {
  return PREFIX + code_id;
}

/** Takes the note of a code away, unless it is to be asked for again by now. */
export async function forgetUnnamed({ db, program }: ProgramCtx, provider: VendorName, code_id: string): Promise<void> {
  await db.run(sql`delete from waiting_events
    where provider = ${provider} and subject = ${PREFIX + code_id} and program_id = ${program.id}
      and not exists (${unnamedAmong(program.id, provider, sql`select ${code_id}`)})`);
}

/** Why the event of an answer that names nothing is not used. */
export const NO_CODE = "no_code";

/** SQL that is true for an event `e` that says what was answered. */
export function isAnswer(): SQL {
  return sql`e.event_id >= ${PREFIX} and e.event_id < ${BEYOND}`;
}

/** Of some events (`within`: SQL about `e`), forgets the answers that named nothing, and notes their codes again. */
export function noteUnnamedAgain({ db, program }: ProgramCtx, provider: VendorName, within: SQL): Statement[] {
  const empty = sql`${within} and ${isAnswer()} and e.ignored = ${NO_CODE}`;
  return [
    db.run(sql`insert into waiting_events (provider, subject, program_id)
      select ${provider}, e.event_id, ${program.id} from provider_events e where ${empty} on conflict do nothing`),
    db.run(sql`delete from provider_events as e where ${empty}`),
  ];
}
