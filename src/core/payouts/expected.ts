/** A partner's open payouts, the approved sums that the next monthly run skips, and the rates (PORTAL-5). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { flows, groups } from "../../db/schema.ts";
import { amount, selectRows, text } from "../../db/rows.ts";
import type { Amount } from "../../domain/amount.ts";
import { offerOf, type Offer } from "../../domain/offer.ts";
import { iso } from "../../lib/time.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Partner } from "../kernel/rows.ts";
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
  /** The rates of the partner's later payments. */
  offer: Offer;
}

const NEWEST = 12;

const OPEN = { currency: text, due_at: text, amount_cents: amount };

/** Reads a partner's expected payments, in one round trip and bounded by `NEWEST`, the disputed commissions and the flows. */
export async function readExpected(
  ctx: ProgramCtx,
  { id: partner_id, commission_pct: own_pct }: Pick<Partner, "id" | "commission_pct">,
): Promise<Expected> {
  const own = sql`partner_id = ${partner_id} and ${alsoOfProgram(ctx, sql`program_id`)}`;
  const [open, disputed, [group], active] = await ctx.read(
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
    ctx.db
      .select({ slug: groups.slug, commission_pct: groups.commission_pct, hold_days: groups.hold_days })
      .from(groups).where(sql`${groups.program_id} = ${ctx.programId}
        and ${groups.id} = (select group_id from partners where id = ${partner_id})`),
    ctx.db
      .select()
      .from(flows)
      .where(sql`${flows.program_id} = ${ctx.programId} and ${flows.active} = 1`),
  );
  const its = group ?? { slug: "", commission_pct: null, hold_days: null };
  const rates = { ...its, commission_pct: own_pct ?? its.commission_pct };
  return { open, disputed, offer: offerOf(ctx.program, rates, active, iso(ctx.now)) };
}
