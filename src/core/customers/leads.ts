import { and, eq, gte, lt, sql } from "drizzle-orm";
import { jsonObject } from "../../db/json-object.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { unionOf } from "../../db/parts.ts";
import { ASKED_BY_EMAIL, payments } from "../../db/schema.ts";
import { iso } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";
import { isTimed, readPage, type PagedList } from "../kernel/list-page.ts";
import type { Payment } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";

export interface LeadFilter extends PageRequest {
  /** Whether the lead counts for a partner (PORTAL-4). */
  credited?: boolean | undefined;
  partner_id?: string | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

const { id, provider_transaction_id, outcome, partner_id, ref, customer_email, customer_id, created_at } = payments;
const COLUMNS = { id, provider_transaction_id, outcome, partner_id, ref, customer_email, customer_id, created_at };

export type Lead = Pick<Payment, keyof typeof COLUMNS> & {
  /** The earliest payment of its customer with the outcome `commission`, at any provider and of any partner. */
  first_sale: Pick<Payment, "id" | "created_at"> | null;
};

/** Lists the program's leads, newest first. A page reads its leads and the payments of their customers. */
export async function listLeads(ctx: Reader, filter: LeadFilter): Promise<PageOfTexts<Lead>> {
  const { credited, from, to } = filter;
  const counts = sql`(partner_id is not null and coalesce(outcome, '') in ('commission', 'no_flow'))`;
  const conditions = and(
    filter.partner_id === undefined
      ? sql`${payments.program_id} = ${ctx.programId}`
      : alsoOfProgram(ctx, payments.program_id),
    // Repeats the condition of the index of leads.
    sql`event = 'lead_created'`,
    credited === undefined ? undefined : credited ? counts : sql`not ${counts}`,
    filter.partner_id === undefined ? undefined : eq(partner_id, filter.partner_id),
    from === undefined ? undefined : gte(created_at, iso(from)),
    to === undefined ? undefined : lt(created_at, iso(to)),
  );
  const narrowed = credited !== undefined || filter.partner_id !== undefined || isTimed(filter);
  return readPage(ctx, leadsOf(ctx), filter, { conditions, state: undefined, narrowed });
}

function leadsOf(ctx: Reader): PagedList<Lead> {
  const row = jsonObject<Lead>(COLUMNS, { first_sale: firstSale(ctx) });
  return { name: "leads", kind: "payment", table: payments, row };
}

/** The first sale of a row's customer, found by the id and by the address: JSON. */
function firstSale({ programId }: Reader) {
  const sold = sql`o.program_id = ${programId} and o.outcome = 'commission' and o.event <> 'lead_created'`;
  const addressed = sql`lower(o.customer_email) = lower(payments.customer_email) and o.customer_email is not null`;
  const asked = sql.raw(ASKED_BY_EMAIL.replaceAll(/\b(partner_id|decision)\b/g, "o.$1"));
  const own = unionOf(
    [
      sql`select o.id, o.created_at from payments o indexed by payments_by_customer
        where o.customer_id = payments.customer_id and ${sold}`,
      sql`select o.id, o.created_at from payments o indexed by payments_by_email
        where ${addressed} and ${asked} and ${sold}`,
      sql`select o.id, o.created_at from payments o indexed by payments_by_named_email
        where ${addressed} and not ${asked} and ${sold}`,
    ],
    "different",
  );
  return sql<string>`ifnull((select json_object('id', id, 'created_at', created_at) from (${own})
    order by created_at, id limit 1), 'null')`;
}
