import { sql } from "drizzle-orm";
import { columnsOf, selectRows, type Row } from "../../db/rows.ts";
import { claims } from "../../db/schema.ts";
import { claimDomain, NO_SALE } from "../../domain/claim.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { isOfDay, paymentsOfDay } from "../ledger/find.ts";
import type { CustomerTrace } from "./trace.ts";

const FORGOTTEN = columnsOf(claims, "id", "status");

/** Selects the claims of the erased customer's sales: by order id, decided payment, and day and domain. */
export function selectForgotten(ctx: ProgramCtx, trace: CustomerTrace, addresses: ReadonlySet<string>) {
  const own = JSON.stringify([...trace.payments.keys()]);
  const orders = [...trace.payments.keys(), ...[...trace.ids.values()].flatMap(({ payment }) => [...payment])];
  const domains = [...addresses].map(claimDomain);
  const day = sql`claims.day`;
  return selectRows(
    ctx.db,
    FORGOTTEN,
    sql`select id, status from claims where program_id = ${ctx.program.id} and (
        order_id in (select value from json_each(${JSON.stringify(orders)}))
        or payment_id in (select value from json_each(${own}))
        or (email_domain in (select value from json_each(${JSON.stringify(domains)}))
          and exists (select 1 from json_each(${own}) o cross join payments p on p.id = o.value where ${isOfDay(day)})
          and not exists (select 1 ${paymentsOfDay(sql`claims.program_id`, day, sql`+claims.email_domain`)}
            and p.id not in (select value from json_each(${own})))))`,
  );
}

/** Keeps the decisions. Fails if a claim was decided meanwhile, because its stored reply contains the sale. */
export function forgetClaims({ db }: ProgramCtx, found: readonly Row<typeof FORGOTTEN>[]): Write {
  return {
    statement: db
      .update(claims)
      .set(NO_SALE)
      .where(sql`(id, status) in (select value ->> 'id', value ->> 'status' from json_each(${JSON.stringify(found)}))`),
    expect: found.length,
  };
}
