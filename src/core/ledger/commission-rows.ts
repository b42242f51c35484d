import { sql, type SQL } from "drizzle-orm";
import { jsonOf } from "../../db/json-object.ts";
import { commissions } from "../../db/schema.ts";
import type { CommissionStatus } from "../../domain/commission.ts";
import type { SelectedOccurrences } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { EventPayloads } from "../../domain/event.ts";
import type { Commission } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { viewCommissionData } from "../kernel/views.ts";

/** A commission's part of an audit event. */
export function commissionPayload(commission: Commission): EventPayloads["commission.created"] {
  return {
    commission_id: commission.id,
    partner_id: commission.partner_id,
    amount_cents: commission.amount_cents,
    txn_amount_cents: commission.txn_amount_cents,
    provider: commission.provider,
    currency: commission.currency,
    status: commission.status,
    kind: commission.kind,
    payment_id: commission.payment_id,
    flagged: commission.flagged,
  };
}

/**
 * `commission.updated` for each of the commissions `c` that `which` selects by an index, with the fields of
 * `commissionChanged` and the payout that contains it. All of them moved `from` one status `to` another, by a statement
 * of the same commit that has set their `event_id` (`eventIds`). If `isSent`, the webhook is sent as well.
 */
export function movedCommissions(
  ctx: ProgramCtx,
  which: SQL,
  [from, to]: [CommissionStatus, CommissionStatus],
  isSent: boolean,
): SelectedOccurrences {
  const event = "commission.updated";
  return {
    type: event,
    changes: { status: [from, to] },
    id: sql`c.event_id`,
    payload: PAYLOAD,
    from: sql`from commissions c where ${alsoOfProgram(ctx, sql`c.program_id`)} and ${which}`,
    ...(isSent ? { outbound: { event, data: DATA } } : {}),
  };
}

const PAYLOAD = jsonOf(commissions, (row) => ({ ...commissionPayload(row), payout_id: row.payout_id }));
const DATA = jsonOf(commissions, viewCommissionData);

/** `nextStamp` (core/kernel/updated-at.ts) for every row: now, but always later than the stored value. */
export function laterStamp(column: SQL, stamp: string): SQL {
  return sql`iif(${column} < ${stamp}, ${stamp}, strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, '+0.001 seconds'))`;
}
