import { sql, type SQL } from "drizzle-orm";
import { jsonOf } from "../../db/json-object.ts";
import { commissions } from "../../db/schema.ts";
import type { CommissionStatus } from "../../domain/commission.ts";
import type { SelectedOccurrences } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { commissionPayload, viewCommissionData } from "../kernel/views.ts";

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

/** `nextStamp` (`lib/time.ts`) for every row: now, but always later than the stored value. */
export function laterStamp(column: SQL, stamp: string): SQL {
  return sql`iif(${column} < ${stamp}, ${stamp}, strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, '+0.001 seconds'))`;
}
