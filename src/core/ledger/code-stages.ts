/** The promotion codes that a payment carries, and their possible holders, as stages of a statement. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { jsonFields } from "../../db/json-object.ts";
import type { Codes, HeldCode } from "../../domain/code.ts";
import type { CodeFact } from "../../domain/fact.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { factsOf, listOfAll, programOf, stage } from "./stages.ts";

/** The vendor's report about a code that a fact carries. */
export interface StatedCode {
  at: string;
  fact: CodeFact;
}

export function codesKnown(stated: readonly StatedCode[], held: Codes["held"]): Codes {
  const named = stated.map(({ at, fact: { code_id, name, parents } }) => ({ at, code_id, name, parents }));
  return { named, held };
}

export const HELD = jsonFields<HeldCode>({
  ...{ id: sql`id`, partner_id: sql`partner_id`, code_key: sql`code_key`, provider_code_id: sql`provider_code_id` },
  ...{ created_at: sql`created_at`, ended_at: sql`ended_at` },
});

/**
 * Stages `after` one that has `stated`: `codes`, each code that a fact carries and its sources, with the key of the
 * vendor's latest report about it by the time of the fact, else of the first report after it; and `held`, all versions
 * of partners' codes that these can be.
 */
export function codeStages(provider: ProviderName, after: string): SQL {
  const own = literal(provider);
  const said = (id: SQL, rest: SQL) => sql`(select fact_id from facts where program_id = ${programOf(after)}
    and provider = ${own} and kind = 'code' and ref_key = ${id} and ${rest} limit 1)`;
  const sayingAt = (id: SQL, at: SQL) => sql`coalesce(
    ${said(id, sql`occurred_at <= ${at} order by occurred_at desc, fact_id desc`)},
    ${said(id, sql`occurred_at > ${at} order by occurred_at, fact_id`)})`;
  const ofProgram = sql`h.program_id = ${programOf("priced")} and h.provider = ${own}`;
  const factOf = (of: string, key: SQL) =>
    sql`facts f on f.program_id = ${programOf(of)} and f.provider = ${own} and f.fact_id = ${key}`;
  return sql`${stage("priced", after, {
    codes: sql`(with recursive up (code_id, at, fact_id) as (
        select c.value, f.data ->> 'occurred_at', ${sayingAt(sql`c.value`, sql`f.data ->> 'occurred_at'`)}
          from ${factsOf(after, "stated")} cross join json_each(f.data, '$.codes') c
        union
        select p.value, up.at, ${sayingAt(sql`p.value`, sql`up.at`)}
          from up cross join ${factOf(after, sql`up.fact_id`)} cross join json_each(f.data, '$.parents') p
      ) select json_group_array(json_array(code_id, at, ${own}, fact_id)) from up)`,
  })},
  ${stage("coded", "priced", {
    held: listOfAll(
      sql`id`,
      sql`select h.id from (
          select distinct lower(c.value ->> 0) as code_key from json_each(priced.codes) c
          union select lower(f.data ->> 'name') from json_each(priced.codes) c
            cross join ${factOf("priced", sql`c.value ->> 3`)}) t
        cross join partner_codes h on ${ofProgram} and h.code_key = t.code_key
        union
        select h.id from (select distinct c.value ->> 0 as code_id from json_each(priced.codes) c) t
          cross join partner_codes h on ${ofProgram} and h.provider_code_id = t.code_id`,
    ),
  })}`;
}
