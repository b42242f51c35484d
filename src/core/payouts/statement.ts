import { and, asc, eq, sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { commissions, payouts } from "../../db/schema.ts";
import { notFound } from "../../lib/errors.ts";
import type { Reader } from "../kernel/context.ts";
import type { Commission, Payout } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";

/** Lines of one statement: what a reply of the database holds. */
export const MOST_LINES = 5_000;

/**
 * A payout of a partner with the commissions that it consists of, the oldest first and at most `MOST_LINES`; one that was
 * canceled has none. @throws `not_found` where it is not this partner's.
 */
export async function readStatement(
  ctx: Reader,
  partner_id: string,
  id: string,
): Promise<{ payout: Payout; lines: Commission[] }> {
  const [[payout], lines] = await ctx.read(
    ctx.db
      .select()
      .from(payouts)
      .where(
        and(eq(payouts.id, id), sql`+${payouts.program_id} = ${ctx.programId}`, eq(payouts.partner_id, partner_id)),
      ),
    ctx.db
      .select()
      .from(commissions)
      .where(
        and(
          eq(commissions.payout_id, id),
          alsoOfProgram(ctx, commissions.program_id),
          sql`+${commissions.partner_id} = ${partner_id}`,
        ),
      )
      .orderBy(asc(commissions.id))
      .limit(atMost(MOST_LINES)),
  );
  if (!payout) throw notFound("payout");
  return { payout, lines };
}
