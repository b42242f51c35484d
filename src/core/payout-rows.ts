import { sql, type InferSelectModel, type SQL } from "drizzle-orm";
import type { payouts } from "../db/schema.ts";
import { iso } from "../lib/time.ts";
import { eventIds, type Occurrence, type SelectedOccurrences, type Write } from "./commit.ts";
import { laterStamp, movedCommissions } from "./commission-rows.ts";
import { changesOf } from "./changes.ts";
import type { ProgramCtx } from "./context.ts";
import { viewPayout } from "./views.ts";

export type Payout = InferSelectModel<typeof payouts>;

/** What an audit event says of a payout: each the column of the same name, `payout_id` apart. */
const PUBLISHED = ["partner_id", "amount_cents", "currency", "status", "method", "commission_count"] as const;

/** A payout's audit event. `payout.updated` reports the other moves, and is not sent (HOOK-15). */
export function payoutMoved(type: "payout.updated" | "payout.paid", before: Payout, payout: Payout): Occurrence {
  return {
    type,
    changes: changesOf("payout", before, payout),
    payload: {
      payout_id: payout.id,
      ...Object.fromEntries(PUBLISHED.map((name) => [name, payout[name]])),
      reference: payout.reference,
      failure_code: payout.failure_code,
    },
    ...(type === "payout.paid" ? { outbound: { event: type, data: viewPayout(payout) } } : {}),
  };
}

/** `payout.generated` for each of the payouts `p` that `which` selects, as the API would return them. */
export function generatedOccurrences(ctx: ProgramCtx, which: SQL): SelectedOccurrences {
  const payload = [sql`'payout_id', p.id`, ...PUBLISHED.map((name) => sql.raw(`'${name}', p.${name}`))];
  // Every field of the view is the column of its name.
  const data = Object.keys(viewPayout({} as Payout)).map((name) => sql.raw(`'${name}', p.${name}`));
  return {
    type: "payout.generated",
    outbound: "payout.generated",
    rows: sql`select ${eventIds(ctx.now, sql`p.id`)} as id, json_object(${sql.join(payload, sql`, `)}) as payload,
      json_object(${sql.join(data, sql`, `)}) as data from payouts p where ${which}`,
  };
}

/**
 * Paying turns its commissions `paid` in the same transaction (OUT-4): the write, which must find every
 * commission of the payout, and their audit events. No webhook for each: the payout's own covers them.
 */
export function payCommissions(
  ctx: ProgramCtx,
  payout: Pick<Payout, "id" | "commission_count">,
): { write: Write; selected: SelectedOccurrences } {
  const stamp = iso(ctx.now);
  return {
    write: {
      statement: ctx.db.run(sql`update commissions set status = 'paid', paid_at = ${stamp},
        updated_at = ${laterStamp(sql`updated_at`, stamp)}
        where payout_id = ${payout.id} and program_id = ${ctx.program.id} and status = 'approved'`),
      expect: payout.commission_count,
    },
    selected: movedCommissions(ctx, sql`c.payout_id = ${payout.id}`, ["approved", "paid"], false),
  };
}
