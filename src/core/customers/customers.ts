import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../../db/page.ts";
import { joinParts, unionOf } from "../../db/parts.ts";
import { nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import { ASKED_BY_EMAIL } from "../../db/schema.ts";
import type { Amount } from "../../domain/amount.ts";
import { cents } from "../../domain/money.ts";
import { COUNTED_ELSEWHERE } from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx, Reader } from "../kernel/context.ts";
import { differsFromAll, paymentsFound } from "../ledger/find.ts";

/** A customer id of a provider or, without one, an address, with the totals of its payments. */
export interface Customer {
  /** The newest payment's id: a customer has no id of its own. */
  id: string;
  provider: ProviderName;
  customer_id: string | null;
  /** The newest known address; null if there is no address or it was erased. */
  email: string | null;
  /** The partner of the newest payment that has one. */
  partner_id: string | null;
  /** Times of the first and the newest payment or lead. */
  first_seen: string;
  last_seen: string;
  payments: number;
  /** The revenue of these payments, net of tax and refunds: one amount for each currency. */
  revenue: readonly Amount[];
}

/** The filter of the list. It applies to each customer's newest payment, unless a field refers to the customer. */
export interface CustomerFilter extends PageRequest {
  /** A search of `paymentsFound`, which may match any of the customer's payments. */
  search?: string | undefined;
  /** The partner of the customer's newest payment that has one. */
  partner_id?: string | undefined;
  provider?: ProviderName | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

/** The limit of the count, because counting customers reads their payments. */
export const MOST_COUNTED = 1_000;

export interface CustomerPage extends Page<Customer> {
  /** True if there are more than `total`, at which the count stopped. */
  isMore?: true;
}

/** The figures to sort by. */
const SORTS: Readonly<Record<string, (customer: Customer, ctx: ProgramCtx) => number>> = {
  payments: ({ payments }) => payments,
  revenue: ({ revenue }, { program }) =>
    revenue.find(({ currency }) => currency === program.currency)?.amount_cents ?? 0,
};

/** A reader limited to the payments up to the row `upto`; without it, a reader of all payments. */
interface AsOf extends Reader {
  upto?: number | undefined;
}

/** A further condition: the row of `payments`, by its name in the query, is within the limit. */
function andAmong({ upto }: AsOf, row: "payments" | "o"): SQL {
  return upto === undefined ? sql`` : sql`and +${sql.raw(row)}.rowid <= ${upto}`;
}

/** The position of a walk: the last customer (`after`) and the last payment of its beginning (`upto`). */
function walkOf({ cursor, ...filter }: CustomerFilter): { after: string | null; upto?: number } {
  if (cursor === undefined) return { after: null };
  const [id = "", upto = ""] = cursor.split(".");
  return { after: cursorId({ ...filter, cursor: id }, "payment"), upto: Number(upto) };
}

/**
 * Lists customers by their newest payment or lead, newest first. A customer has no row: its newest payment represents
 * it. The total is exact if `counted` is true; otherwise it is at most `MOST_COUNTED`, and `isMore` is set if there are
 * more. Up to `MOST_COUNTED` customers are sorted, in the one page of a walk; more are newest first (`isUnsorted`). A
 * cursor limits the walk to the payments that existed when it began, so that a later payment cannot move a
 * customer between pages.
 */
export async function listCustomers(reader: ProgramCtx, filter: CustomerFilter): Promise<CustomerPage> {
  const { after, upto } = walkOf(filter);
  const ctx: AsOf = { ...reader, upto };
  const { limit, offset } = window(filter);
  const sort = filter.sort === undefined ? undefined : SORTS[filter.sort];
  const isOldest = sort === undefined && filter.order === "oldest";
  // Only a walk that is not sorted has a second page.
  const value = after === null ? sort : undefined;
  const [direction, beyond] = isOldest ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const conditions = newestThatMatch(ctx, filter);
  const wanted = after === null ? conditions : sql`${conditions} and payments.id ${beyond} ${after}`;
  // The newest first: nearly all of them are their customer's last payment.
  const some = sql`order by payments.id desc limit ${literal(MOST_COUNTED + 1)}`;
  const all = sql`select 1 from payments where ${conditions} ${filter.counted ? sql`` : some}`;
  const total = filter.counted === false ? sql`select 0` : sql`select count(*) from (${all})`;
  const few = sql`(select total <= ${literal(MOST_COUNTED)} from counted)`;
  const seen = sql`${value ? sql`with counted as materialized (select (${total}) as total)` : sql``}
    select id, provider, customer_id, customer_email from payments where ${wanted} order by id ${direction}
    ${
      value
        ? sql`limit iif(${few}, ${literal(MOST_COUNTED)}, ${limit}) offset iif(${few}, 0, ${offset})`
        : sql`limit ${literal(limit)} offset ${offset}`
    }`;
  const [[counted], rows] = await ctx.read(
    selectRows(
      ctx.db,
      { total: whole, last: whole },
      sql`select (${total}) as total, coalesce((select max(rowid) from payments), 0) as last`,
    ),
    selectCustomersOf(ctx, seen),
  );
  const customers = customersOf(rows);
  const { total: found = 0, last = 0 } = counted ?? {};
  if (value && found <= MOST_COUNTED) {
    const sign = filter.order === "oldest" ? 1 : -1;
    const sorted = customers.toSorted((a, b) => sign * (value(a, reader) - value(b, reader)));
    const data = filter.counted ? sorted : sorted.slice(offset, offset + filter.per_page);
    return { data, total: found, page: filter.page, per_page: filter.per_page, next_cursor: null };
  }
  const { next_cursor, ...shown } = pageOf(filter, isOldest ? customers.toReversed() : customers, found, (one) => one);
  const page = {
    ...{ ...shown, next_cursor: next_cursor === null ? null : `${next_cursor}.${upto ?? last}` },
    ...(value ? { isUnsorted: true as const } : {}),
  };
  return filter.counted || found <= MOST_COUNTED ? page : { ...page, total: MOST_COUNTED, isMore: true };
}

/** A condition on `payments`: the newest payment of each customer that matches the filter. */
function newestThatMatch(ctx: AsOf, { search, partner_id, provider, from, to }: CustomerFilter): SQL {
  const own = sql`program_id = ${ctx.programId}`;
  // If the filter matches few customers, their newest payments are found through the matching payments.
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
  return joinParts(there, sql` and `, "different");
}

/**
 * A condition on `payments`: it has a customer, and is their newest. Reads the last stored first: linear, not squared.
 */
function isNewest(ctx: AsOf): SQL {
  // Each index is read backwards, so that its first row decides in nearly every case.
  const orders = [sql`o.created_at desc, o.provider_transaction_id desc`, sql`o.rowid desc`, sql`o.rowid desc`];
  const newer = ofCustomer(ctx, "payments").map(
    (others, i) => sql`(select 1 from ${others} and +o.id > payments.id order by ${orders[i]!} limit 1) is null`,
  );
  return sql`(payments.customer_id is not null or payments.customer_email is not null) and ${joinParts(newer, sql` and `, "different")}`;
}

/** The partner of the newest attributed payment of a row's customer. */
function partnerOfCustomer(ctx: AsOf): SQL {
  const all = ofCustomer(ctx, "payments").map(
    (others) => sql`select o.id, o.partner_id from ${others} and o.partner_id is not null`,
  );
  return sql`(select partner_id from (${unionOf(all, "different")}) order by id desc limit 1)`;
}

export async function getCustomer(ctx: Reader, payment_id: string): Promise<Customer> {
  const seen = sql`select id, provider, customer_id, customer_email from payments
    where id = ${payment_id} and +program_id = ${ctx.programId}`;
  const [rows] = await ctx.read(selectCustomersOf(ctx, seen));
  const [customer] = customersOf(rows);
  if (!customer) throw notFound("customer");
  return customer;
}

/** Selects the customers of `seen` (`id`, `provider`, `customer_id`, `customer_email`), for `customersOf`. */
export function selectCustomersOf(ctx: AsOf, seen: SQL) {
  return selectRows(ctx.db, ROW, selectCustomers(ctx, seen));
}

interface Row {
  seen_id: string;
  provider: ProviderName;
  customer_id: string | null;
  /** The newest address: its payment's id, a blank, and the address. `partner` has the same form. */
  email: string | null;
  partner: string | null;
  first_seen: string;
  last_seen: string;
  last_id: string;
  /** JSON: for each currency its code, the number of payments, and the exact revenue. */
  sums: string;
}

const ROW: Columns<Row> = {
  seen_id: text,
  provider: textOf<ProviderName>(),
  customer_id: nullable(text),
  email: nullable(text),
  partner: nullable(text),
  first_seen: text,
  last_seen: text,
  last_id: text,
  sums: text,
};

/** A sale: not a lead, and not a payment that is counted elsewhere, in test mode, or unpaid. */
const SOLD = sql`o.event <> 'lead_created' and ${differsFromAll(sql.raw("o.outcome"), [...COUNTED_ELSEWHERE, "test_mode", "unpaid"])}`;

/**
 * All payments of a row's customer, as parts of a `from` with `where`: `o`, by id or else by address. The row is of
 * `payments`, or `w` with the address in lower case.
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

/** `customers` of the payments in `seen`, and `o`, with `columns` of all their payments. */
function withPayments(ctx: AsOf, seen: SQL, columns: SQL): SQL {
  const own = ofCustomer(ctx, "w").map((payments) => sql`select ${columns} from customers w cross join ${payments}`);
  return sql`customers as materialized (
      select provider, customer_id, iif(customer_id is null, lower(customer_email), null) as email, max(id) as id
      from (${seen}) where customer_id is not null or customer_email is not null group by 1, 2, 3),
    o as materialized (${unionOf(own, "different")})`;
}

/** Selects the id of the newest payment of each customer in `seen`. */
function newestOf(ctx: AsOf, seen: SQL): SQL {
  const columns = sql.raw("w.id as seen_id, o.id");
  return sql`with ${withPayments(ctx, seen, columns)} select max(id) from o group by seen_id`;
}

/** Selects the customers in `seen`, each with all of its payments. */
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

/** Converts the rows of `selectCustomersOf`. */
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
