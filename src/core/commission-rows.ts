import { sql, type SQL } from "drizzle-orm";
import type { CommissionStatus } from "../domain/commission.ts";
import { eventIds, type SelectedOccurrences } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { alsoOfProgram } from "./tenant.ts";

/**
 * `commission.updated` for each of the commissions `c` that `which` selects by an index: what `commissionChanged`
 * says of one that was read, and the payout that holds it. All of them came `from` one status `to` another. Where
 * `isSent`, the webhook goes out as well.
 */
export function movedCommissions(
  ctx: ProgramCtx,
  which: SQL,
  [from, to]: [CommissionStatus, CommissionStatus],
  isSent: boolean,
): SelectedOccurrences {
  return {
    type: "commission.updated",
    changes: { status: [from, to] },
    ...(isSent ? { outbound: "commission.updated" } : {}),
    rows: sql`select ${eventIds(ctx.now, sql`c.id`)} as id,
        json_object('commission_id', c.id, 'partner_id', c.partner_id, 'amount_cents', c.amount_cents,
          'txn_amount_cents', c.txn_amount_cents, 'provider', c.provider, 'currency', c.currency, 'status', c.status,
          'kind', c.kind, 'payment_id', c.payment_id, 'flagged', json(iif(c.flagged, 'true', 'false')),
          'payout_id', c.payout_id) as payload,
        json_object('id', c.id, 'partner_id', c.partner_id, 'amount', c.amount_cents, 'revenue', c.txn_amount_cents,
          'status', c.status, 'currency', c.currency) as data
      from commissions c where ${alsoOfProgram(ctx, sql`c.program_id`)} and ${which}`,
  };
}

/** `nextStamp` (core/stamps.ts) for every row of a statement: now, but always later than what the column holds. */
export function laterStamp(column: SQL, stamp: string): SQL {
  return sql`iif(${column} < ${stamp}, ${stamp}, strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, '+0.001 seconds'))`;
}
