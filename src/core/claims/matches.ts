/** The payments that a claim can match. */
import { sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { commissions, payments } from "../../db/schema.ts";
import { MAX_CLAIM_PAYMENTS } from "../../domain/claim.ts";
import type { Reader } from "../kernel/context.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { isClaimable, paymentsOfDay, paymentsOfOrder } from "../ledger/find.ts";

/** The newest payments that match a claim by day and domain. */
function fitting({ programId }: Reader, id: string): SQL {
  const of = (what: string) => sql`(select ${sql.raw(what)} from claims
    where id = ${id} and program_id = ${programId} and day is not null)`;
  return sql`select id from (select p.id ${paymentsOfDay(programId, of("day"), of("+email_domain"))}
    order by p.created_at desc limit ${literal(MAX_CLAIM_PAYMENTS)})`;
}

/** The ids of the payments that a claim can match, and of the decided one. */
function matchesOf(ctx: Reader, id: string): SQL {
  const own = sql`from claims where id = ${id} and program_id = ${ctx.programId}`;
  return unionOf(
    [
      sql`select p.id from (${paymentsOfOrder(ctx, sql`select order_id ${own} and order_id is not null`)}) o
        cross join payments p on p.id = o.id and ${isClaimable("p")}`,
      fitting(ctx, id),
      sql`select payment_id ${own} and payment_id is not null`,
    ],
    "different",
  );
}

/** The payments of a claim, the newest first, and their commissions: two statements. */
export function selectMatches(ctx: Reader, id: string) {
  const matches = matchesOf(ctx, id);
  return [
    ctx.db
      .select()
      .from(payments)
      .where(sql`${payments.id} in (${matches}) and ${alsoOfProgram(ctx, payments.program_id)}`)
      .orderBy(sql`${payments.id} desc`)
      .limit(atMost(MAX_CLAIM_PAYMENTS)),
    ctx.db
      .select()
      .from(commissions)
      .where(sql`${commissions.payment_id} in (${matches}) and ${alsoOfProgram(ctx, commissions.program_id)}`)
      .orderBy(commissions.id),
  ] as const;
}

/**
 * The payment that answers a declined claim: one of its order that can be granted, before one that counts elsewhere.
 */
export function selectAnswering(ctx: Reader, id: string) {
  const order = sql`select order_id from claims
    where id = ${id} and program_id = ${ctx.programId} and order_id is not null`;
  return ctx.db
    .select()
    .from(payments)
    .where(sql`${payments.id} in (${paymentsOfOrder(ctx, order)}) and ${alsoOfProgram(ctx, payments.program_id)}`)
    .orderBy(sql`${isClaimable("payments")} desc, ${payments.id} desc`)
    .limit(atMost(1));
}
