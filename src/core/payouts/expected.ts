/** A partner's open payouts, and the approved sums that the next monthly run skips (PORTAL-5). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { groups } from "../../db/schema.ts";
import { amount, selectRows, text } from "../../db/rows.ts";
import type { Amount } from "../../domain/amount.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";

/** A payout that is neither paid nor canceled. */
export interface OpenPayout extends Amount {
  /** ISO 8601. */
  due_at: string;
}

export interface Expected {
  /** Among the newest `NEWEST` payouts, the earliest due first. */
  open: OpenPayout[];
  /** The approved sums by currency that a dispute keeps out of payouts (PAY-10). */
  disputed: Amount[];
  /** The rate of the partner's group; null for the program's. */
  group_pct: number | null;
}

const NEWEST = 12;

const OPEN = { currency: text, due_at: text, amount_cents: amount };

/** Reads a partner's expected payments, in one round trip and bounded by `NEWEST` and the disputed commissions. */
export async function readExpected(ctx: ProgramCtx, partner_id: string): Promise<Expected> {
  const own = sql`partner_id = ${partner_id} and ${alsoOfProgram(ctx, sql`program_id`)}`;
  const [open, disputed, [group]] = await ctx.read(
    selectRows(
      ctx.db,
      OPEN,
      sql`select currency, due_at, amount_cents from (
          select * from payouts where ${own} order by id desc limit ${literal(NEWEST)})
        where status in ('pending', 'processing', 'failed') order by due_at, id`,
    ),
    selectRows(
      ctx.db,
      { currency: text, amount_cents: amount },
      sql`select currency, sum(amount_cents) as amount_cents from commissions indexed by commissions_payable
        where program_id = ${ctx.programId} and flagged = 1 and partner_id = ${partner_id}
          and status = 'approved' and payout_id is null and review_reason = 'disputed' group by currency`,
    ),
    ctx.db.select({ commission_pct: groups.commission_pct }).from(groups)
      .where(sql`${groups.program_id} = ${ctx.programId}
        and ${groups.id} = (select group_id from partners where id = ${partner_id})`),
  );
  return { open, disputed, group_pct: group?.commission_pct ?? null };
}
