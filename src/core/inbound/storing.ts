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
  /** -1 where the event claims it, 0 where it stores the transaction, 1 where it stores only the subscription. */
  rank: number;
}

/** A payment that is not another program's. */
const IS_OWN = sql.raw(`outcome is not '${CLAIMED_ELSEWHERE}'`);

/** More programs than this that store one vendor id are not looked at, at a time. */
export const MAX_STORING = 50;

function storing(provider: VendorName, { transaction_id, subscription_id }: ClaimedOwner): SQL {
  return sql`select program_id, 0 as rank from payments where provider = ${literal(provider)}
      and provider_transaction_id = ${transaction_id} and ${IS_OWN}
    union all
    select program_id, 1 from payments where subscription_id = ${subscription_id}
      and +provider = ${literal(provider)} and ${IS_OWN}`;
}

/** What one database has answered already. */
export interface Asked {
  shard: number;
  found: Storing[];
}

/**
 * The programs that store the transaction or the subscription that an event of the provider names, in any database, but
 * for some; those of the transaction first. Whether the event is of their account is decided by their secrets. The
 * database of `asked` is not asked again.
 */
export async function programsStoring(
  ctx: Ctx,
  provider: VendorName,
  claim: ClaimedOwner,
  but: readonly string[] = [],
  asked: Asked | null = null,
): Promise<{ found: Storing[]; failure: { reason: unknown } | null }> {
  const { found, failure } = await programsIn(ctx, provider, storing(provider, claim), but, asked);
  return { found: found.toSorted((a, b) => a.rank - b.rank), failure };
}

/** The claimed program, where it is in the database of the context, and those there of `programsStoring`, in one read. */
export async function claimedAndStoring(on: Ctx, provider: VendorName, claim: ClaimedOwner): Promise<Asked> {
  const ranked = sql`select ${claim.program_id} as program_id, -1 as rank union all ${storing(provider, claim)}`;
  return { shard: on.shard, found: await programsOn(on, provider, ranked, []) };
}

/** The programs of a select of `program_id` and `rank`, asked in all databases but that of `asked`, but for some. */
export async function programsIn(
  ctx: Ctx,
  provider: VendorName,
  ranked: SQL,
  but: readonly string[],
  asked: Asked | null = null,
) {
  const { said, failure } = await askAll(ctx, async (on) =>
    on.shard === asked?.shard ? asked.found : programsOn(on, provider, ranked, but),
  );
  return { found: said.flatMap(({ answer }) => answer), failure };
}

async function programsOn(on: Ctx, provider: VendorName, ranked: SQL, but: readonly string[]): Promise<Storing[]> {
  const rows = await on.db
    .select({ program: programFields(provider), rank: sql<number>`named.rank` })
    .from(
      sql`(select program_id, min(rank) as rank from (${ranked})
        where program_id not in (select value from json_each(${JSON.stringify(but)}))
        group by program_id order by rank limit ${literal(MAX_STORING)}) named`,
    )
    .innerJoin(programs, sql`${programs.id} = named.program_id`);
  return rows.map(({ program, rank }) => ({ ctx: forProgram(on, program), rank }));
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
