/** Promotion codes in the ledger: what is known of those that facts carry, and the payments that a change of them concerns. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { jsonFields } from "../../db/json-object.ts";
import { codeKey, type Codes, type HeldCode } from "../../domain/code.ts";
import type { CodeFact, Fact } from "../../domain/fact.ts";
import { lowerAscii } from "../../domain/ascii.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { FactScope } from "../../db/schema.ts";
import { factsOf, listOfAll, programOf, stage } from "./stages.ts";

/**
 * Stages `after` one that has `stated`: `codes`, each code that a fact carries and those it was made from, with the key of what the
 * vendor had said of it by the time of the fact, else of what it said first after it; and `held`, all versions of partners'
 * codes that these can be.
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

/** What the vendor said of a code that a fact carries. */
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

/** By what a fact about a code, or one that carries codes, is found. */
export function codeSubjects(fact: Fact): { scope: FactScope; subject: string }[] {
  if (fact.kind === "code") {
    const named = fact.name === null ? [] : [codeKey(fact.name)];
    return [...new Set([...named, ...fact.parents])].map((subject) => ({ scope: "code", subject }));
  }
  const codes = "codes" in fact ? (fact.codes ?? []) : [];
  return [...new Set(codes.flatMap((id) => [id, lowerAscii(id)]))].map((subject) => ({ scope: "coded", subject }));
}

/**
 * The ids of the payments that carry one of some codes, or whose customer or subscription used one. `seeds`: SQL for a
 * one-column select of the vendor's ids and of `codeKey`s.
 */
export function paymentsWithCodes(program_id: string, provider: ProviderName, seeds: SQL): SQL {
  const ofVendor = (table: SQL) => sql`${table}.program_id = ${program_id} and ${table}.provider = ${provider}`;
  const byUse = (
    column: SQL,
  ) => sql`select p.id from used u cross join payments p on p.${column} = u.data ->> '${column}'
    and p.program_id = ${program_id} and +p.provider = ${provider} where u.kind = 'code_use'`;
  return sql`select id from (with recursive below (id) as (
      ${seeds}
      union
      select f.ref_key from below
        cross join fact_subjects s on ${ofVendor(sql`s`)} and s.scope = 'code' and s.subject = below.id
        cross join facts f on ${ofVendor(sql`f`)} and f.fact_id = s.fact_id
    ), used as materialized (select distinct f.fact_id, f.kind, f.data from below
        cross join fact_subjects s on ${ofVendor(sql`s`)} and s.scope = 'coded' and s.subject = below.id
        cross join facts f on ${ofVendor(sql`f`)} and f.fact_id = s.fact_id)
    select p.id from used u cross join fact_subjects n on ${ofVendor(sql`n`)} and n.fact_id = u.fact_id
        and +n.scope = 'payment'
      cross join payments p on p.program_id = ${program_id} and p.provider = ${literal(provider)}
        and p.provider_transaction_id = n.subject
    union all ${byUse(sql.raw("subscription_id"))}
    union all ${byUse(sql.raw("customer_id"))})`;
}

/**
 * The payments that statements about codes can concern: none where the same was said of a code just before, or, of what was
 * first said, just after it, and nothing else at the same time.
 */
export function namedByCodes(program_id: string, provider: ProviderName, facts: readonly CodeFact[]): SQL {
  const codes = facts.map(({ code_id, name, parents, occurred_at }) => {
    return { id: code_id, at: occurred_at, said: JSON.stringify([name, parents]) };
  });
  const said = (rest: SQL) => sql`(select json_array(data ->> 'name', json(data -> 'parents'))
    from facts indexed by facts_of_code
    where program_id = ${program_id} and provider = ${provider} and kind = 'code' and ref_key = c.value ->> 'id' and ${rest} limit 1)`;
  const before = said(sql`occurred_at < c.value ->> 'at' order by occurred_at desc, fact_id desc`);
  const after = said(sql`occurred_at > c.value ->> 'at' order by occurred_at, fact_id`);
  // Of what is said at one time the order is that of the ids.
  const beside = said(sql`occurred_at = c.value ->> 'at'
    and json_array(data ->> 'name', json(data -> 'parents')) <> c.value ->> 'said'`);
  const seeds = sql`select c.value ->> 'id' from json_each(${JSON.stringify(codes)}) c
    where coalesce(${before}, ${after}, '') <> c.value ->> 'said' or ${beside} is not null`;
  return paymentsWithCodes(program_id, provider, seeds);
}
