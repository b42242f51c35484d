/** Which programs store the payment or the subscription that a vendor's event names. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { programs } from "../../db/schema.ts";
import { CLAIMED_ELSEWHERE } from "../../domain/payment.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import type { ClaimedOwner } from "../../providers/provider.ts";
import { refuseIf } from "../kernel/conflict.ts";
import { forProgram, type Ctx, type ProgramCtx, type Statement } from "../kernel/context.ts";
import { programFields } from "../kernel/program-rows.ts";
import { askAll } from "../kernel/shards.ts";

export interface Storing {
  ctx: ProgramCtx;
  /** 0 where it stores the transaction, 1 where it stores only the subscription. */
  rank: number;
}

/** A payment that is not another program's. */
const IS_OWN = sql.raw(`outcome is not '${CLAIMED_ELSEWHERE}'`);

/** More programs than this that store one vendor id are not looked at, at a time. */
export const MAX_STORING = 50;

/**
 * The programs that store the transaction or the subscription that an event of the provider names, in any database, but
 * for some; those of the transaction first. Whether the event is of their account is decided by their secrets.
 */
export async function programsStoring(
  ctx: Ctx,
  provider: VendorName,
  { transaction_id, subscription_id }: ClaimedOwner,
  but: readonly string[] = [],
): Promise<{ found: Storing[]; failure: { reason: unknown } | null }> {
  const { found, failure } = await programsIn(
    ctx,
    provider,
    sql`select program_id, 0 as rank from payments where provider = ${literal(provider)}
        and provider_transaction_id = ${transaction_id} and ${IS_OWN}
      union all
      select program_id, 1 from payments where subscription_id = ${subscription_id}
        and +provider = ${literal(provider)} and ${IS_OWN}`,
    but,
  );
  return { found: found.toSorted((a, b) => a.rank - b.rank), failure };
}

/** The programs of a select of `program_id` and `rank`, asked in all databases, but for some. */
export async function programsIn(ctx: Ctx, provider: VendorName, ranked: SQL, but: readonly string[]) {
  const { said, failure } = await askAll(ctx, async (on) => {
    const rows = await on.db
      .select({ program: programFields(provider), rank: sql<number>`named.rank` })
      .from(
        sql`(select program_id, min(rank) as rank from (${ranked})
          where program_id not in (select value from json_each(${JSON.stringify(but)}))
          group by program_id limit ${literal(MAX_STORING)}) named`,
      )
      .innerJoin(programs, sql`${programs.id} = named.program_id`);
    return rows.map(({ program, rank }): Storing => ({ ctx: forProgram(on, program), rank }));
  });
  return { found: said.flatMap(({ answer }) => answer), failure };
}

/** Refuses the batch where another program, none of `strangers`, has what the event names, and this one has not. */
export function storedElsewhere(
  url: ProgramCtx,
  provider: VendorName,
  { transaction_id, subscription_id }: ClaimedOwner,
  strangers: readonly string[],
): Statement {
  const program_id = url.program.id;
  const others = sql`program_id <> ${program_id}
    and program_id not in (select value from json_each(${JSON.stringify(strangers)}))`;
  const own = ofTransaction(program_id, provider, transaction_id);
  return url.db.run(
    refuseIf(sql`not exists (${own}) and (
    exists (select 1 from payments where provider = ${literal(provider)} and provider_transaction_id = ${transaction_id}
      and ${IS_OWN} and ${others})
    or not exists (${ofSubscription(program_id, provider, subscription_id)}) and exists (
      select 1 from payments where subscription_id = ${subscription_id} and +provider = ${literal(provider)}
        and ${IS_OWN} and ${others}))`),
  );
}

export function ofTransaction(program_id: string, provider: VendorName, transaction_id: string | SQL | null): SQL {
  return sql`select 1 from payments where program_id = ${program_id} and provider = ${literal(provider)}
    and provider_transaction_id = ${transaction_id} and ${IS_OWN}`;
}

export function ofSubscription(program_id: string, provider: VendorName, subscription_id: string | SQL | null): SQL {
  return sql`select 1 from payments where program_id = ${program_id} and subscription_id = ${subscription_id}
    and +provider = ${literal(provider)} and ${IS_OWN}`;
}
