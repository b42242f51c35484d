import { sql } from "drizzle-orm";
import { claimDomain } from "../../domain/claim.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { isOfDay, paymentsOfDay } from "../ledger/find.ts";
import type { CustomerTrace } from "./trace.ts";

/**
 * Claims forget which sale they were about where it was the customer's: by an order's id, by the payment that was decided
 * on, and by day and domain where no payment of anybody else is of them. What was decided stays.
 */
export function forgetClaims(ctx: ProgramCtx, trace: CustomerTrace, addresses: ReadonlySet<string>): Write {
  const own = JSON.stringify([...trace.payments.keys()]);
  const orders = [...trace.payments.keys(), ...[...trace.ids.values()].flatMap(({ payment }) => [...payment])];
  const domains = [...addresses].map(claimDomain);
  const day = sql`claims.day`;
  return {
    statement: ctx.db.run(sql`update claims set order_id = null, day = null, email_domain = null
      where program_id = ${ctx.program.id} and (
        order_id in (select value from json_each(${JSON.stringify(orders)}))
        or payment_id in (select value from json_each(${own}))
        or (email_domain in (select value from json_each(${JSON.stringify(domains)}))
          and exists (select 1 from json_each(${own}) o cross join payments p on p.id = o.value where ${isOfDay(day)})
          and not exists (select 1 ${paymentsOfDay(sql`claims.program_id`, day, sql`+claims.email_domain`)}
            and p.id not in (select value from json_each(${own})))))`),
  };
}
