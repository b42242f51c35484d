import { and, asc, eq, gt, sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { commissions, payouts } from "../../db/schema.ts";
import { notFound } from "../../lib/errors.ts";
import type { Reader } from "../kernel/context.ts";
import type { Commission, Payout } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";

/** The most lines on the page of a statement. */
export const MOST_LINES = 5_000;

const LINES_PER_READ = 1_000;

/** A payout with its oldest `MOST_LINES` commissions; a canceled one has lost them. @throws `not_found` unless this partner's */
export async function readStatement(
  ctx: Reader,
  partner_id: string,
  id: string,
): Promise<{ payout: Payout; lines: Commission[] }> {
  return readLines(ctx, partner_id, id, { after: "", most: MOST_LINES });
}

/**
 * All of a statement's commissions, one part in memory. The first are read before this returns, so that a refusal is an
 * answer. @throws as `readStatement`
 */
export async function statementLines(
  ctx: Reader,
  partner_id: string,
  id: string,
): Promise<AsyncIterable<Commission[]>> {
  const read = async (after: string) => (await readLines(ctx, partner_id, id, { after, most: LINES_PER_READ })).lines;
  const first = await read("");
  return (async function* all() {
    for (let lines = first; ;) {
      yield lines;
      const last = lines.at(-1);
      if (!last || lines.length < LINES_PER_READ) return;
      lines = await read(last.id);
    }
  })();
}

async function readLines(
  ctx: Reader,
  partner_id: string,
  id: string,
  { after, most }: { after: string; most: number },
) {
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
          gt(commissions.id, after),
          alsoOfProgram(ctx, commissions.program_id),
          sql`+${commissions.partner_id} = ${partner_id}`,
        ),
      )
      .orderBy(asc(commissions.id))
      .limit(atMost(most)),
  );
  if (!payout) throw notFound("payout");
  return { payout, lines };
}
