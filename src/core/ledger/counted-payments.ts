/** The counted payments of a customer (FLOW-14), and the payments whose place among them a settling changes. */
import { sql, type SQL } from "drizzle-orm";
import { COUNTED, COUNTED_OUTCOMES } from "../../db/schema.ts";
import { earlierOf, type CountedPayment } from "../../domain/customer.ts";
import { emailKey } from "../../domain/email.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Payment } from "../kernel/rows.ts";
import { restartSettlingOf, unsettle } from "./concerned-payments.ts";

/** The customers of a payment as JSON lists in SQL, and the limits of the reading. */
interface Customers {
  program_id: SQL;
  ids: SQL;
  /** Addresses in lower case. */
  emails: SQL;
  /** Whether the customers have these ids at the provider of `p`. */
  isSameProvider: SQL;
  /** The payments to leave out, as a JSON list of ids. */
  without: SQL;
  /** How many of each customer; SQL that names no table of the statement around it. */
  most: SQL;
}

/** A select of the ids of the first counted payments of each customer: reads at most that many rows of each. */
export function selectCounted({ program_id, ids, emails, isSameProvider, without, most }: Customers): SQL {
  const first = (index: string, customer: SQL) => sql`(select json_group_array(id) from (
      select p.id from payments p indexed by ${sql.raw(index)}
      where ${customer} and p.program_id = ${program_id} and ${sql.raw(COUNTED)}
        and p.id not in (select value from json_each(${without}))
      order by p.created_at, p.provider_transaction_id limit ${most}))`;
  const byId = first(
    "payments_by_customer",
    sql`p.customer_id = c.value and p.customer_id is not null and ${isSameProvider}`,
  );
  const byEmail = first(
    "payments_counted_email",
    sql`lower(p.customer_email) = c.value and p.customer_email is not null`,
  );
  return sql`select e.value as id from json_each(${ids}) c cross join json_each(${byId}) e
    union select e.value from json_each(${emails}) c cross join json_each(${byEmail}) e where c.value is not null`;
}

/** The values of a payment's row that the customer's other payments depend on; null if it does not count. */
function standingOf({ outcome, event, created_at, customer_id, customer_email, partner_id, ...paid }: Payment) {
  // No line of such a payment may match its flow (LINE-5).
  const isPaid = outcome === "zero_amount" && paid.txn_amount_cents > 0;
  const isCounted = isPaid || COUNTED_OUTCOMES.some((one) => one === outcome);
  if (event !== "transaction_completed" || !isCounted) return null;
  return {
    created_at,
    customer_id,
    email: customer_email && emailKey(customer_email),
    hasPartner: partner_id !== null,
  };
}

/**
 * The writes that mark the customer's later payments as unsettled, if a settling from `before` to `after` changes the
 * place of one of them. Empty if no flow of the program compares places, or if this payment is behind those that flows
 * compare.
 */
export function markLater(
  ctx: ProgramCtx,
  { payments_compared: most, counted }: { payments_compared: number; counted: readonly CountedPayment[] },
  changes: readonly { before: Payment; after: Payment }[],
): Write[] {
  if (most === 0) return [];
  const changed = changes.filter(
    ({ before, after }) => JSON.stringify(standingOf(before)) !== JSON.stringify(standingOf(after)),
  );
  const standings = changed.flatMap(({ before, after }) =>
    [before, after].flatMap((row) => {
      const standing = standingOf(row);
      return standing && isCompared(row, counted, most) ? [standing] : [];
    }),
  );
  if (standings.length === 0) return [];
  const customers = {
    ids: [...new Set(standings.flatMap(({ customer_id }) => customer_id ?? []))],
    emails: [...new Set(standings.flatMap(({ email }) => email ?? []))],
  };
  const since = standings.map(({ created_at }) => created_at).toSorted()[0]!;
  const own = JSON.stringify(changes.map(({ before }) => before.id));
  const later = (index: string, customer: SQL) => sql`select p.id from payments p indexed by ${sql.raw(index)}
    where ${customer} and p.program_id = ${ctx.program.id} and ${sql.raw(COUNTED)} and p.created_at >= ${since}
      and p.id not in (select value from json_each(${own}))`;
  const among = (values: readonly string[]) => sql`(select value from json_each(${JSON.stringify(values)}))`;
  return [
    unsettle(
      ctx,
      sql`id in (${later("payments_by_customer", sql`p.customer_id in ${among(customers.ids)} and p.customer_id is not null`)}
        union ${later("payments_counted_email", sql`lower(p.customer_email) in ${among(customers.emails)} and p.customer_email is not null`)})`,
    ),
    { statement: restartSettlingOf(ctx, customers) },
  ];
}

/** Whether the payment is among the first ones that flows compare. */
function isCompared(row: Payment, counted: readonly CountedPayment[], most: number): boolean {
  return earlierOf({ ...row, occurred_at: row.created_at }, counted).length < most;
}
