/** Opens the question about the lines of a payment that `core/inbound/questions.ts` sends (IN-22). */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { PaymentFact } from "../../domain/fact.ts";
import type { Decision } from "../../domain/payment.ts";
import type { Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { storedEvent } from "./facts.ts";
import type { LedgerState } from "./state.ts";

/** Precedes the payment's id in `waiting_events`, and in the id of the event that stores the answer. */
export const LINES_PREFIX = "lines:";

/** SQL that is true for the stored fact `f` of a payment whose lines the vendor can list. */
export const HAS_LINES_APART: SQL = sql`f.kind = 'payment' and f.data ->> 'source' in ('session', 'invoice')
  and f.data ->> 'lines' is null`;

/** SQL that is true for a payment `p` if a flow compared unknown products. */
export const IS_PRODUCT_UNKNOWN: SQL = sql`exists (select 1 from json_each(p.decision, '$.flows') t
  cross join json_each(t.value, '$.conditions') c
  where c.value ->> 'field' = 'product_id' and c.value ->> 'saw' is null)`;

/** Part of a settling that opens the question if a flow compared unknown products: other payments cost no call. */
export function askLines(ctx: ProgramCtx, { payments: [payment], facts }: LedgerState, { record }: Decision): Write[] {
  const isUnknown = record.flows.some(({ conditions }) =>
    conditions.some(({ field, saw }) => field === "product_id" && saw === null),
  );
  const paid = facts.filter((fact): fact is PaymentFact => fact.kind === "payment" && !fact.lines);
  const apart = paid.find(({ source }) => source === "invoice") ?? paid.find(({ source }) => source === "session");
  if (!isUnknown || !apart) return [];
  const subject = LINES_PREFIX + apart.key;
  return [
    {
      statement: ctx.db.run(sql`insert into waiting_events (provider, subject, program_id)
        select ${literal(payment.provider)}, ${subject}, ${ctx.program.id}
        where not exists (${storedEvent(ctx.program.id, payment.provider, subject)}) on conflict do nothing`),
    },
  ];
}
