/** A partner's open payouts, the approved sums that the next monthly run skips, and the rates (PORTAL-5). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { amount, selectRows, text } from "../../db/rows.ts";
import type { Amount } from "../../domain/amount.ts";
import type { Offer } from "../../domain/offer.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { offerTo, selectOffer } from "../kernel/offer-rows.ts";
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
  partner: Pick<Partner, "id" | "commission_pct">,
): Promise<Expected> {
  const own = sql`partner_id = ${partner.id} and ${alsoOfProgram(ctx, sql`program_id`)}`;
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
        where program_id = ${ctx.programId} and flagged = 1 and partner_id = ${partner.id}
          and status = 'approved' and payout_id is null and review_reason = 'disputed' group by currency`,
    ),
    ...selectOffer(ctx, partner.id),
  );
  return { open, disputed, offer: offerTo(ctx, partner, group!, active) };
}
