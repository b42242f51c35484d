/**
 * A statement in stages: tables of one row, each made from the previous one and named only by the next. Lists are
 * passed as JSON. The database compiles a table again for each place that names it, with everything it is made of; so a
 * statement of many steps takes milliseconds to compile if tables are named freely.
 */
import { sql, type SQL } from "drizzle-orm";
import { joinParts } from "../../db/parts.ts";

/** The table `name`: the columns of the table `before`, and further ones that can use them. */
export function stage(name: string, before: string, columns: Readonly<Record<string, SQL>>): SQL {
  const made = Object.entries(columns).map(([column, value]) => sql`${value} as ${sql.raw(column)}`);
  return sql`${sql.raw(name)} as materialized (select ${sql.raw(before)}.*, ${joinParts(made, sql`, `, "different")}
    from ${sql.raw(before)})`;
}

/** The values of an expression over a table, or a join, as a JSON list. */
export function listOf(value: SQL, from: SQL): SQL {
  return sql`(select json_group_array(${value}) from ${from})`;
}

/** The values of an expression over a select, as a JSON list. */
export function listOfAll(value: SQL, select: SQL): SQL {
  return listOf(value, sql`(${select})`);
}

/** The program of a statement in stages, from the table `of`: the first stage binds it once for all. */
export function programOf(of: string): SQL {
  return sql.raw(`${of}.program_id`);
}

/** The facts `f` of a list of keys in the table `of`. */
export function factsOf(of: string, list: string): SQL {
  return sql`json_each(${sql.raw(`${of}.${list}`)}) k
    cross join facts f on f.program_id = ${programOf(of)} and f.provider = k.value ->> 0 and f.fact_id = k.value ->> 1`;
}

/** Joins the fact `f` of each row `s` of `fact_subjects`. */
export const FACT_OF_SUBJECT = sql`cross join facts f
    on f.program_id = s.program_id and f.provider = s.provider and f.fact_id = s.fact_id`;
