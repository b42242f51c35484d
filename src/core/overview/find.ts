/** Global search: partners, customers and payments by a text, and an object by its id. */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { unionOf } from "../../db/parts.ts";
import { columnsOf, nullable, selectRows, text } from "../../db/rows.ts";
import { partners, payments } from "../../db/schema.ts";
import { slugKey } from "../../domain/partner.ts";
import { ID_PREFIXES, type IdKind } from "../../lib/id.ts";
import { customersOf, selectCustomersOf, type Customer } from "../customers/customers.ts";
import type { Reader } from "../kernel/context.ts";
import { selectSearchedPartners } from "../kernel/partner-search.ts";
import type { Partner, Payment } from "../kernel/rows.ts";
import { paymentsOfBuyer, paymentsOfOrder } from "../ledger/find.ts";

export type FoundPartner = Pick<Partner, (typeof PARTNER_COLUMNS)[number]>;
export type FoundPayment = Pick<Payment, (typeof PAYMENT_COLUMNS)[number]>;

/** At most `FOUND_OF_EACH` of each kind, and whether there are more. */
export interface Found {
  partners: Some<FoundPartner>;
  customers: Some<Customer>;
  payments: Some<FoundPayment>;
}

interface Some<T> {
  rows: T[];
  more: boolean;
}

export const FOUND_OF_EACH = 10;

const PARTNER_COLUMNS = ["id", "email", "slug", "first_name", "last_name", "status"] as const;
const PAYMENT_COLUMNS = [
  ...["id", "provider", "provider_transaction_id", "outcome", "partner_id", "currency", "txn_amount_cents"],
  ...["customer_email", "customer_id", "created_at", "event"],
] as const satisfies (keyof Payment)[];

/**
 * Searches for a text, in one round trip: partners as `selectSearchedPartners` does, an exact slug or address first; customers by
 * their id or address; payments of an order, of a customer, and of the partners in the result. Newest first.
 */
export async function findAll(ctx: Reader, search: string): Promise<Found> {
  const limit = literal(FOUND_OF_EACH + 1);
  const own = sql`program_id = ${ctx.programId}`;
  const columns = (names: readonly string[]) => sql.raw(names.join(", "));
  const known = sql`${partners.program_id} = ${ctx.programId} and ${selectSearchedPartners(ctx, search)}
    order by lower(slug) = ${slugKey(search)} or lower(email) = lower(${search}) desc, id desc`;
  const buyers = paymentsOfBuyer(ctx, search);
  const paid = unionOf(
    [
      sql`select id from (${paymentsOfOrder(ctx, sql`select ${search}`)})`,
      ...buyers,
      sql`select p.id from (select id from partners where ${known} limit ${literal(FOUND_OF_EACH)}) f
        cross join payments p on p.partner_id = f.id and +p.${own}`,
    ],
    "different",
  );
  const bought = sql`select id, provider, customer_id, customer_email from payments
    where id in (${unionOf(buyers, "different")}) order by id desc limit ${literal(FOUND_OF_EACH * 5)}`;
  const [ofPartners, ofCustomers, ofPayments] = await ctx.read(
    selectRows(
      ctx.db,
      columnsOf(partners, ...PARTNER_COLUMNS),
      sql`select ${columns(PARTNER_COLUMNS)} from partners where ${known} limit ${limit}`,
    ),
    selectCustomersOf(ctx, bought),
    selectRows(
      ctx.db,
      columnsOf(payments, ...PAYMENT_COLUMNS),
      sql`select ${columns(PAYMENT_COLUMNS)} from payments where id in (${paid}) order by id desc limit ${limit}`,
    ),
  );
  const found = { partners: someOf(ofPartners), customers: someOf(customersOf(ofCustomers)) };
  const shown = someOf(ofPayments);
  // Payments of partners beyond the limit are not among them.
  return { ...found, payments: { ...shown, more: shown.more || found.partners.more } };
}

function someOf<T>(rows: readonly T[]): Some<T> {
  return { rows: rows.slice(0, FOUND_OF_EACH), more: rows.length > FOUND_OF_EACH };
}

/** The table of each kind of object. `of` is the object whose page shows one without its own page. */
const OBJECTS = {
  partner: sql`select null as of from partners where`,
  application: sql`select null as of from applications where`,
  code: sql`select partner_id as of from partner_codes where ended_at is null and`,
  payment: sql`select null as of from payments where`,
  commission: sql`select null as of from commissions where`,
  payout: sql`select null as of from payouts where`,
  claim: sql`select null as of from claims where`,
  flow: sql`select null as of from flows where`,
  endpoint: sql`select null as of from webhook_endpoints where deleted_at is null and`,
  delivery: sql`select endpoint_id as of from deliveries
    where endpoint_id in (select id from webhook_endpoints where deleted_at is null) and`,
  member: sql`select null as of from program_members where`,
  api_key: sql`select null as of from api_keys where`,
} satisfies Partial<Record<IdKind, SQL>>;

export type ObjectKind = keyof typeof OBJECTS;

export interface FoundObject {
  kind: ObjectKind;
  id: string;
  /** The partner of a code, the endpoint of a delivery. */
  of: string | null;
}

const KINDS = Object.keys(OBJECTS) as ObjectKind[];

/** Finds the program's object with an id, of a kind that a page shows; null if it does not exist. */
export async function findObject(ctx: Reader, id: string): Promise<FoundObject | null> {
  const kind = KINDS.find((one) => id.startsWith(`${ID_PREFIXES[one]}_`));
  if (kind === undefined) return null;
  const [[found]] = await ctx.read(
    selectRows(ctx.db, { of: nullable(text) }, sql`${OBJECTS[kind]} id = ${id} and +program_id = ${ctx.programId}`),
  );
  return found ? { kind, id, of: found.of } : null;
}
