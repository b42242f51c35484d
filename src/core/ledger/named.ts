/** By which vendor ids payments are named. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { ProviderName } from "../../domain/provider-name.ts";

/**
 * Every vendor id that names the payment of one of `seeds` (SQL for a one-column select): two facts that share an id
 * name one payment, so the ids are walked until no new one turns up.
 *
 * `cross join` here and below keeps the order in which the tables are read. The database knows nothing of their sizes:
 * left to itself it takes a program for about ten rows, and reads all of them.
 */
export function reachable(program_id: string | SQL, provider: ProviderName, seeds: SQL): SQL {
  return sql`with recursive reach (subject) as (
      ${seeds}
      union
      select b.subject from reach
        cross join fact_subjects a on a.program_id = ${program_id} and a.provider = ${provider} and a.scope = 'payment'
          and a.subject = reach.subject
        cross join fact_subjects b on b.program_id = a.program_id and b.provider = a.provider and b.fact_id = a.fact_id
          and +b.scope = 'payment'
    ) select subject from reach`;
}

/** The vendor ids by which a stored fact names its payment: a one-column select. */
export function namesIn(program_id: string, provider: ProviderName, fact_id: string): SQL {
  return sql`select subject from fact_subjects where program_id = ${program_id} and provider = ${provider}
    and fact_id = ${fact_id} and +scope = 'payment'`;
}

/** The ids of the payments that vendor ids name (`subjects`: SQL for a select of the column `subject`). */
export function paymentsNamed(program_id: string | SQL, provider: ProviderName, subjects: SQL): SQL {
  return sql`select p.id from (${subjects}) named cross join payments p
    on p.program_id = ${program_id} and p.provider = ${literal(provider)} and p.provider_transaction_id = named.subject`;
}
