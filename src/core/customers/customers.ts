import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../../db/page.ts";
import { joined, unionOf } from "../../db/parts.ts";
import { orNull, shaped, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { ASKED_BY_EMAIL } from "../../db/schema.ts";
import type { Amount } from "../../domain/amount.ts";
import { cents } from "../../domain/money.ts";
import { COUNTED_ELSEWHERE } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";
import { hasNone, paymentsFound } from "../ledger/find.ts";

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
  /** Those that were paid. */
  payments: number;
  /** Of these, net of tax and refunds, one for each currency. */
  revenue: readonly Amount[];
}

/** What narrows the list, of each customer's newest payment or, where it says so, of the customer. */
export interface CustomerFilter extends PageRequest {
  /** What `paymentsFound` takes: of any of the customer's payments. */
  search?: string | undefined;
  /** Who had the customer's newest payment that has a partner. */
  partner_id?: string | undefined;
  provider?: ProviderName | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

/** So many are counted, and no further: to count them is to look through their payments. */
export const MOST_COUNTED = 1_000;

export interface CustomerPage extends Page<Customer> {
  /** Where there are more than `total`, as far as was counted. */
  isMore?: true;
}

/** A reader of the payments up to one that was stored; of all of them without it. */
interface AsOf extends Reader {
  upto?: number | undefined;
}

/** Whether a row of `payments`, by the name that it has, is among them: a further condition. */
function andAmong({ upto }: AsOf, row: "payments" | "o"): SQL {
  return upto === undefined ? sql`` : sql`and +${sql.raw(row)}.rowid <= ${upto}`;
}

/** After which customer a walk goes on, and up to which payment it has been from its beginning, where it is null. */
function walkOf({ cursor, ...filter }: CustomerFilter): { after: string | null; upto?: number } {
  if (cursor === undefined) return { after: null };
  const [id = "", upto = ""] = cursor.split(".");
  return { after: cursorId({ ...filter, cursor: id }, "payment"), upto: Number(upto) };
}

/**
 * Customers by their newest payment or lead, newest first. A customer has no row: each is the payment that no other of
 * the same customer is newer than. The total is exact where `counted` is true; else it is one of `MOST_COUNTED` at most,
 * and `isMore` says that there are others. A cursor goes on with the payments that there were when the walk began: by those that
 * come meanwhile nobody moves to where the walk has been, or will be.
 */
export async function listCustomers(reader: Reader, filter: CustomerFilter): Promise<CustomerPage> {
  const { after, upto } = walkOf(filter);
  const ctx: AsOf = { ...reader, upto };
  const { limit, offset } = window(filter);
  const isOldest = filter.order === "oldest";
  const [direction, beyond] = isOldest ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const conditions = newestThatMatch(ctx, filter);
  const wanted = after === null ? conditions : sql`${conditions} and payments.id ${beyond} ${after}`;
  const seen = sql`select id, provider, customer_id, customer_email from payments where ${wanted}
    order by id ${direction} limit ${literal(limit)} offset ${offset}`;
  // The newest first, of which most are no customer's payment before the last.
  const some = sql`order by payments.id desc limit ${literal(MOST_COUNTED + 1)}`;
  const all = sql`select 1 from payments where ${conditions} ${filter.counted ? sql`` : some}`;
  const total = filter.counted === false ? sql`select 0` : sql`select count(*) from (${all})`;
  const [[counted], rows] = await ctx.read(
    shaped(
      ctx.db,
      { total: whole, last: whole },
      sql`select (${total}) as total, coalesce((select max(rowid) from payments), 0) as last`,
    ),
    selectCustomersOf(ctx, seen),
  );
  const customers = customersOf(rows);
  const { total: found = 0, last = 0 } = counted ?? {};
  const { next_cursor, ...shown } = pageOf(filter, isOldest ? customers.toReversed() : customers, found, (one) => one);
  const page = { ...shown, next_cursor: next_cursor === null ? null : `${next_cursor}.${upto ?? last}` };
  return filter.counted || found <= MOST_COUNTED ? page : { ...page, total: MOST_COUNTED, isMore: true };
}

/** The newest payment of each customer that the filter asks for: a condition on `payments`. */
function newestThatMatch(ctx: AsOf, { search, partner_id, provider, from, to }: CustomerFilter): SQL {
  const own = sql`program_id = ${ctx.programId}`;
  // Of few customers the newest payments are found by those that were found.
  const ofPartner = partner_id === undefined ? undefined : sql`payments.partner_id = ${partner_id}`;
  const found = search ? paymentsFound(ctx, search) : ofPartner;
  const all: (SQL | undefined)[] = [
    found
      ? sql`+payments.${own} and payments.id in (${newestOf(
          ctx,
          sql`select id, provider, customer_id, customer_email
          from payments where ${found} and +${own}`,
        )})`
      : sql`payments.${own} ${andAmong(ctx, "payments")} and ${isNewest(ctx)}`,
    partner_id === undefined ? undefined : sql`${partnerOfCustomer(ctx)} = ${partner_id}`,
    provider === undefined ? undefined : sql`payments.provider = ${literal(provider)}`,
    from === undefined ? undefined : sql`payments.created_at >= ${iso(from)}`,
    to === undefined ? undefined : sql`payments.created_at < ${iso(to)}`,
  ];
  const there = all.filter((condition) => condition !== undefined);
  return joined(there, sql` and `, "different");
}

/**
 * Whether no payment of the same customer is newer than a row of `payments` that has a customer. What was stored last is
 * looked at first, which is newer nearly always: to look at each payment of a customer costs them once, not squared.
 */
function isNewest(ctx: AsOf): SQL {
  const newer = ofCustomer(ctx, "payments").map(
    (others) => sql`(select 1 from ${others} and +o.id > payments.id order by o.rowid desc limit 1) is null`,
  );
  return sql`(payments.customer_id is not null or payments.customer_email is not null) and ${joined(newer, sql` and `, "different")}`;
}

/** Who had the newest payment with a partner of the customer of a row of `payments`. */
function partnerOfCustomer(ctx: AsOf): SQL {
  const all = ofCustomer(ctx, "payments").map(
    (others) => sql`select o.id, o.partner_id from ${others} and o.partner_id is not null`,
  );
  return sql`(select partner_id from (${unionOf(all, "different")}) order by id desc limit 1)`;
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
export function selectCustomersOf(ctx: AsOf, seen: SQL) {
  return shaped(ctx.db, ROW, selectCustomers(ctx, seen));
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

/** What counts as a sale: no lead, and no payment that is counted elsewhere, of the test mode or not paid. */
const SOLD = sql`o.event <> 'lead_created' and ${hasNone(sql.raw("o.outcome"), [...COUNTED_ELSEWHERE, "test_mode", "unpaid"])}`;

/**
 * All payments of the customer of a row, as parts of a `from` with its `where`: `o` are those of its id or, where it has none, of its
 * address, in the two indexes that hold them. The row is one of `payments`, or `w` with the address in lower case.
 */
function ofCustomer(ctx: AsOf, row: "payments" | "w"): SQL[] {
  const of = sql.raw(row);
  const email = row === "w" ? sql`w.email` : sql`lower(payments.customer_email)`;
  const same = sql`o.program_id = ${ctx.programId} and +o.provider = ${of}.provider ${andAmong(ctx, "o")}`;
  const addressed = sql`${of}.customer_id is null and lower(o.customer_email) = ${email} and o.customer_email is not null
    and o.customer_id is null`;
  const asked = sql.raw(ASKED_BY_EMAIL.replaceAll(/\b(partner_id|decision)\b/g, "o.$1"));
  return [
    sql`payments o indexed by payments_by_customer where o.customer_id = ${of}.customer_id and ${same}`,
    sql`payments o indexed by payments_by_email where ${addressed} and ${asked} and ${same}`,
    sql`payments o indexed by payments_by_named_email where ${addressed} and not ${asked} and ${same}`,
  ];
}

/** As common table expressions: `customers` of the payments that are seen, and `o`, `columns` of all of their payments. */
function withPayments(ctx: AsOf, seen: SQL, columns: SQL): SQL {
  const own = ofCustomer(ctx, "w").map((payments) => sql`select ${columns} from customers w cross join ${payments}`);
  return sql`customers as materialized (
      select provider, customer_id, iif(customer_id is null, lower(customer_email), null) as email, max(id) as id
      from (${seen}) where customer_id is not null or customer_email is not null group by 1, 2, 3),
    o as materialized (${unionOf(own, "different")})`;
}

/** The ids of the newest payments of the customers of the payments that are seen. */
function newestOf(ctx: AsOf, seen: SQL): SQL {
  const columns = sql.raw("w.id as seen_id, o.id");
  return sql`with ${withPayments(ctx, seen, columns)} select max(id) from o group by seen_id`;
}

/** The customers of the payments that are seen, with all of their own. */
function selectCustomers(ctx: AsOf, seen: SQL): SQL {
  const columns = sql.raw(
    "w.id as seen_id, w.provider, w.customer_id, o.id, o.customer_email, o.partner_id, o.currency, o.outcome, o.event, o.created_at, o.txn_amount_cents, o.adjusted_cents",
  );
  const sold = (value: SQL) => sql`iif(${SOLD}, ${value}, 0)`;
  return sql`with ${withPayments(ctx, seen, columns)},
    sums as (select o.seen_id, json_group_array(json_array(o.currency, o.payments, o.paid)) as sums from (
      select o.seen_id, o.currency, sum(${sold(sql`1`)}) as payments,
        sum(${sold(sql`o.txn_amount_cents - o.adjusted_cents`)}) as paid
      from o group by o.seen_id, o.currency) o group by o.seen_id)
    select o.seen_id, o.provider, o.customer_id, max(o.id) as last_id,
      max(iif(o.customer_email is null, null, o.id || ' ' || o.customer_email)) as email,
      max(iif(o.partner_id is null, null, o.id || ' ' || o.partner_id)) as partner,
      min(o.created_at) as first_seen, max(o.created_at) as last_seen, s.sums
    from o cross join sums s on s.seen_id = o.seen_id group by o.seen_id order by o.seen_id desc`;
}

/** What `selectCustomersOf` found. */
export function customersOf(rows: readonly Row[]): Customer[] {
  return rows.map(({ last_id, provider, customer_id, email, partner, first_seen, last_seen, sums }) => {
    const currencies = JSON.parse(sums) as [currency: string, payments: number, paid: number][];
    return {
      ...{ id: last_id, provider, customer_id, first_seen, last_seen },
      email: valueOf(email),
      partner_id: valueOf(partner),
      payments: currencies.reduce((sum, [, payments]) => sum + payments, 0),
      revenue: currencies.map(([currency, , paid]) => ({ currency, amount_cents: cents(paid) })),
    };
  });
}

function valueOf(newest: string | null): string | null {
  return newest === null ? null : newest.slice(newest.indexOf(" ") + 1);
}
