/** Finds payments by data that a person knows. */
import { sql, type SQL, type SQLWrapper } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { emailDomain, NOBODYS } from "../../db/email-domain.ts";
import { joinParts, unionOf } from "../../db/parts.ts";
import { ASKED_BY_EMAIL, partners, payments } from "../../db/schema.ts";
import { COUNTED_ELSEWHERE, type Outcome } from "../../domain/payment.ts";
import { PROVIDER_NAMES } from "../../providers/registry.ts";
import type { Reader } from "../kernel/context.ts";
import { selectSearchedPartners } from "../kernel/partner-search.ts";
import { paymentsNamed, linkedIds } from "./concerned-payments.ts";

/** Whether an outcome differs from each of these. Not a list, which would be read as a table for each payment. */
export function differsFromAll(outcome: SQLWrapper, outcomes: readonly Outcome[]): SQL {
  const parts = outcomes.map((one) => sql`coalesce(${outcome}, '') <> ${literal(one)}`);
  return joinParts(parts, sql` and `, "different");
}

/** Whether a person can decide on a payment (`alias`): no lead, nor counted under another id or program. */
export function isClaimable(alias: string): SQL {
  const p = sql.raw(alias);
  return sql`${p}.event = 'transaction_completed' and ${differsFromAll(sql`${p}.outcome`, COUNTED_ELSEWHERE)}`;
}

const DOMAIN = emailDomain(sql.raw("p.customer_email"));

/** Whether a payment `p` is dated on a claim's day, the day before or the day after, because a day has no time zone. */
export function isOfDay(day: SQL): SQL {
  return sql`p.created_at >= date(${day}, '-1 day') and p.created_at < date(${day}, '+2 days')`;
}

/**
 * A FROM clause with a condition: the payments `p` without a partner that a claim by day and domain can match. An index
 * on an expression is used only for a value without an affinity: `domain` has none.
 */
export function paymentsOfDay(program_id: SQL | string, day: SQL, domain: SQL): SQL {
  return sql`from payments p indexed by payments_by_domain where p.program_id = ${program_id} and ${NOBODYS}
    and ${DOMAIN} = ${domain} and ${isOfDay(day)} and ${isClaimable("p")}`;
}

/** The payments with an order's id (`order_id`: a one-column select): the service's own id, or any that a provider gave. */
export function paymentsOfOrder({ programId }: Reader, order_id: SQL): SQL {
  return unionOf(
    [
      sql`select id from payments where id in (${order_id}) and +program_id = ${programId}`,
      ...PROVIDER_NAMES.map((provider) => paymentsNamed(programId, provider, linkedIds(programId, provider, order_id))),
    ],
    "different",
  );
}

/** The payments of a customer by the id or, ignoring the case of ASCII letters, the address: selects of their ids. */
export function paymentsOfBuyer({ programId }: Reader, search: string): SQL[] {
  const own = sql`program_id = ${programId}`;
  const byId = sql`select id from payments indexed by payments_by_customer where customer_id = ${search} and +${own}`;
  if (!search.includes("@")) return [byId];
  const addressed = sql`lower(customer_email) = lower(${search}) and ${own} and customer_email is not null`;
  return [
    byId,
    // As the conditions of the two indexes have it: each payment with an address is in one of them.
    sql`select id from payments indexed by payments_by_email where ${addressed} and ${sql.raw(ASKED_BY_EMAIL)}`,
    sql`select id from payments indexed by payments_by_named_email where ${addressed} and not ${sql.raw(ASKED_BY_EMAIL)}`,
  ];
}

/** The payments of an order, a customer, and partners found by a text (PAY-21). Each is read by an index. */
export function paymentsFound(ctx: Reader, search: string): SQL {
  const selects = [
    sql`select id from (${paymentsOfOrder(ctx, sql`select ${search}`)})`,
    ...paymentsOfBuyer(ctx, search),
    sql`select p.id from partners cross join payments p on p.partner_id = ${partners.id} and +p.program_id = ${ctx.programId}
      where ${partners.program_id} = ${ctx.programId} and ${selectSearchedPartners(ctx, search)}`,
  ];
  return sql`${payments.id} in (${unionOf(selects, "different")})`;
}
