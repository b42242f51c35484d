/** Which payments a claim can be about. */
import { sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { emailDomain, NOBODYS } from "../../db/email-domain.ts";
import { unionOf } from "../../db/parts.ts";
import { commissions, payments } from "../../db/schema.ts";
import { MAX_CLAIM_PAYMENTS } from "../../domain/claim.ts";
import { COUNTED_ELSEWHERE } from "../../domain/payment.ts";
import type { Reader } from "../kernel/context.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { hasNone, paymentsOfOrder } from "../ledger/find.ts";

const DOMAIN = emailDomain(sql.raw("p.customer_email"));

/**
 * Those of the claim's day, the day before and the day after, for a day is of no time zone; the newest that are nobody's. An
 * index by an expression is used for a value without an affinity only, which the plus takes away.
 */
function paymentsOfDay({ programId }: Reader, id: string): SQL {
  const of = (what: string) => sql`(select ${sql.raw(what)} from claims
    where id = ${id} and program_id = ${programId} and day is not null)`;
  return sql`select id from (select p.id from payments p indexed by payments_by_domain
    where p.program_id = ${programId} and ${NOBODYS} and ${DOMAIN} = ${of("+email_domain")}
      and p.created_at >= ${of("date(day, '-1 day')")} and p.created_at < ${of("date(day, '+2 days')")}
    order by p.created_at desc limit ${literal(MAX_CLAIM_PAYMENTS)})`;
}

/** The ids of the payments that a claim can be about, and of the one that was decided on. */
function matchesOf(ctx: Reader, id: string): SQL {
  const own = sql`from claims where id = ${id} and program_id = ${ctx.programId}`;
  return unionOf(
    [
      sql`select id from (${paymentsOfOrder(ctx, sql`select order_id ${own} and order_id is not null`)})`,
      paymentsOfDay(ctx, id),
      sql`select payment_id ${own} and payment_id is not null`,
    ],
    "different",
  );
}

/** Payments that a person can decide on: no lead, and none that is counted under another name or by another program. */
export const CLAIMABLE = sql`${payments.event} = 'transaction_completed'
  and ${hasNone(payments.outcome, COUNTED_ELSEWHERE)}`;

/** The payments of a claim, the newest first, and their commissions: two statements. */
export function selectMatches(ctx: Reader, id: string) {
  const matches = matchesOf(ctx, id);
  return [
    ctx.db
      .select()
      .from(payments)
      .where(sql`${payments.id} in (${matches}) and ${alsoOfProgram(ctx, payments.program_id)} and ${CLAIMABLE}`)
      .orderBy(sql`${payments.id} desc`)
      .limit(atMost(MAX_CLAIM_PAYMENTS)),
    ctx.db
      .select()
      .from(commissions)
      .where(sql`${commissions.payment_id} in (${matches}) and ${alsoOfProgram(ctx, commissions.program_id)}`)
      .orderBy(commissions.id),
  ] as const;
}
