import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import type { ProgramCtx, Statement } from "../kernel/context.ts";
import { unsettle } from "./concerned-payments.ts";

/**
 * Removes the references and codes of one event, and those that reprocessing its payment (`transaction`) stored, from
 * lookup, and marks the payments to which they applied as unsettled. The facts stay, but are no longer found.
 */
export function forgetReferences(
  ctx: ProgramCtx,
  provider: ProviderName,
  event_id: string,
  transaction: string | null,
): Statement[] {
  const program_id = ctx.program.id;
  const ofProgram = (of: SQL) => sql`${of}.program_id = ${program_id} and ${of}.provider = ${literal(provider)}`;
  // The event did not report the owner's grant.
  const remembered = sql`select f.fact_id from facts f where ${ofProgram(sql`f`)} and f.fact_id >= ${`${event_id}#`}
      and f.fact_id < ${`${event_id}$`} and f.kind in ('attribution', 'code_use')
    union all
    select f.fact_id from payments p cross join facts f on ${ofProgram(sql`f`)}
        and f.fact_id >= 'reprocess:' || p.id || ':' and f.fact_id < 'reprocess:' || p.id || ';'
      where ${ofProgram(sql`p`)} and p.provider_transaction_id = ${transaction} and f.data ->> 'granted' is null`;
  const serving = (column: "subscription_id" | "customer_id") => sql`select p.id from (${remembered}) r
    cross join fact_subjects s on ${ofProgram(sql`s`)} and s.fact_id = r.fact_id
    cross join payments p on p.${sql.raw(column)} = s.subject and p.program_id = ${program_id}
    where +s.scope = ${literal(column === "customer_id" ? "customer" : "subscription")} and +p.provider = ${provider}`;
  return [
    unsettle(ctx, sql`id in (${serving("subscription_id")} union all ${serving("customer_id")})`).statement,
    ctx.db.run(sql`delete from fact_subjects where program_id = ${program_id} and provider = ${provider}
      and fact_id in (${remembered})`),
  ];
}
