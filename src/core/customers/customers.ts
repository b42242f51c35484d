import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { orNull, shaped, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { ASKED_BY_EMAIL } from "../../db/schema.ts";
import type { Amount } from "../../domain/amount.ts";
import { subtract } from "../../domain/money.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { notFound } from "../../lib/errors.ts";
import type { Reader } from "../kernel/context.ts";
import { exactSum, readSum } from "../kernel/sums.ts";
import { paymentsFound } from "../ledger/find.ts";

/** One customer id of a provider or, without one, one address: what is kept of their payments. */
export interface Customer {
  /** The newest payment's: there is no other id of ours. */
  id: string;
  provider: ProviderName;
  customer_id: string | null;
  /** The newest known; null where there is none, or it was erased. */
  email: string | null;
  /** Who had the newest payment that has a partner. */
  partner_id: string | null;
  /** Times of the first and the newest payment or lead. */
  first_seen: string;
  last_seen: string;
  payments: number;
  /** Net of tax and refunds, one for each currency. */
  revenue: Amount[];
}

export interface CustomerFilter {
  /** What `paymentsFound` takes. */
  search?: string | undefined;
  /** The id of a payment: goes on with the payments before it. */
  after?: string | undefined;
}

export interface CustomerPage {
  customers: Customer[];
  /** For `after`; null at the end. */
  next: string | null;
}

/** So many of the newest payments are looked through for a page: it has at most as many customers. */
const LOOKED_THROUGH = 50;

/**
 * Customers by their newest payment, newest first. A page is made of the newest payments, and of all payments of those
 * whose newest is among them, so that it costs no more where a program has more customers (invariant 8).
 */
export async function listCustomers(ctx: Reader, { search, after }: CustomerFilter): Promise<CustomerPage> {
  const seen = sql`select id, provider, customer_id, customer_email from payments
    where ${search ? sql`+` : sql``}program_id = ${ctx.programId} ${after ? sql`and id < ${after}` : sql``}
      ${search ? sql`and ${paymentsFound(ctx, search)}` : sql``}
    order by id desc limit ${literal(LOOKED_THROUGH)}`;
  const [[end], rows] = await ctx.read(
    shaped(ctx.db, { count: whole, last: orNull(text) }, sql`select count(*) as count, min(id) as last from (${seen})`),
    shaped(ctx.db, ROW, selectCustomers(ctx, seen, sql`having max(o.id) = o.seen_id`)),
  );
  return { customers: customersOf(rows), next: end?.count === LOOKED_THROUGH ? end.last : null };
}

/** The customer of a payment. */
export async function getCustomer(ctx: Reader, payment_id: string): Promise<Customer> {
  const seen = sql`select id, provider, customer_id, customer_email from payments
    where id = ${payment_id} and +program_id = ${ctx.programId}`;
  const [rows] = await ctx.read(selectCustomersOf(ctx, seen));
  const [customer] = customersOf(rows);
  if (!customer) throw notFound("customer");
  return customer;
}

/** The customers of payments that `seen` selects (`id`, `provider`, `customer_id`, `customer_email`): for `customersOf`. */
export function selectCustomersOf(ctx: Reader, seen: SQL) {
  return shaped(ctx.db, ROW, selectCustomers(ctx, seen, sql``));
}

interface Row {
  seen_id: string;
  provider: ProviderName;
  customer_id: string | null;
  /** Of these, the newest: its id, a blank, and the value. */
  email: string | null;
  partner: string | null;
  first_seen: string;
  last_seen: string;
  last_id: string;
  /** JSON: currency, payments, and exact sums of what was paid and of what was taken back. */
  sums: string;
}

const ROW: Columns<Row> = {
  seen_id: text,
  provider: textOf<ProviderName>(),
  customer_id: orNull(text),
  email: orNull(text),
  partner: orNull(text),
  first_seen: text,
  last_seen: text,
  last_id: text,
  sums: text,
};

/** What counts as a sale: no lead, and no payment that is another one or of the test mode. */
const SOLD = sql.raw(
  "o.event <> 'lead_created' and coalesce(o.outcome, '') <> 'merged' and coalesce(o.outcome, '') <> 'test_mode'",
);

/** The customers of the payments that are seen, with all of their own; `only` narrows them by those. */
function selectCustomers(ctx: Reader, seen: SQL, only: SQL): SQL {
  const columns = sql.raw(
    "w.id as seen_id, w.provider, w.customer_id, o.id, o.customer_email, o.partner_id, o.currency, o.outcome, o.event, o.created_at, o.txn_amount_cents, o.adjusted_cents",
  );
  const same = sql`o.program_id = ${ctx.programId} and +o.provider = w.provider`;
  const addressed = sql`w.customer_id is null and lower(o.customer_email) = w.email and o.customer_email is not null
    and o.customer_id is null`;
  const asked = sql.raw(ASKED_BY_EMAIL.replaceAll(/\b(partner_id|decision)\b/g, "o.$1"));
  const own = unionOf(
    [
      sql`select ${columns} from customers w cross join payments o indexed by payments_by_customer
        on o.customer_id = w.customer_id and ${same}`,
      sql`select ${columns} from customers w cross join payments o indexed by payments_by_email
        on ${addressed} and ${asked} and ${same}`,
      sql`select ${columns} from customers w cross join payments o indexed by payments_by_named_email
        on ${addressed} and not ${asked} and ${same}`,
    ],
    "different",
  );
  const sold = (value: SQL) => sql`iif(${SOLD}, ${value}, 0)`;
  return sql`with customers as materialized (
      select provider, customer_id, iif(customer_id is null, lower(customer_email), null) as email, max(id) as id
      from (${seen}) where customer_id is not null or customer_email is not null group by 1, 2, 3),
    o as materialized (${own}),
    sums as (select o.seen_id, json_group_array(json_array(o.currency, o.payments, o.paid, o.taken_back)) as sums from (
      select o.seen_id, o.currency, sum(${sold(sql`1`)}) as payments,
        ${exactSum(sold(sql`o.txn_amount_cents`))} as paid, ${exactSum(sold(sql`o.adjusted_cents`))} as taken_back
      from o group by o.seen_id, o.currency) o group by o.seen_id)
    select o.seen_id, o.provider, o.customer_id, max(o.id) as last_id,
      max(iif(o.customer_email is null, null, o.id || ' ' || o.customer_email)) as email,
      max(iif(o.partner_id is null, null, o.id || ' ' || o.partner_id)) as partner,
      min(o.created_at) as first_seen, max(o.created_at) as last_seen, s.sums
    from o cross join sums s on s.seen_id = o.seen_id group by o.seen_id ${only} order by o.seen_id desc`;
}

/** What `selectCustomersOf` found. */
export function customersOf(rows: readonly Row[]): Customer[] {
  return rows.map(({ last_id, provider, customer_id, email, partner, first_seen, last_seen, sums }) => {
    const currencies = JSON.parse(sums) as [currency: string, payments: number, paid: string, taken_back: string][];
    return {
      ...{ id: last_id, provider, customer_id, first_seen, last_seen },
      email: valueOf(email),
      partner_id: valueOf(partner),
      payments: currencies.reduce((sum, [, payments]) => sum + payments, 0),
      revenue: currencies.map(([currency, , paid, taken_back]) => ({
        currency,
        amount_cents: subtract(readSum(paid), readSum(taken_back)),
      })),
    };
  });
}

function valueOf(newest: string | null): string | null {
  return newest === null ? null : newest.slice(newest.indexOf(" ") + 1);
}
