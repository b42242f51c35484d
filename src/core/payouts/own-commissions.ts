/** The commissions in a payout with their calculations, for the partner (PORTAL-3). */
import { and, asc, eq, gt, sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { commissions } from "../../db/schema.ts";
import type { Reader } from "../kernel/context.ts";
import type { Commission, Payout } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";

const ROWS_PER_READ = 1_000;

/** The payout's oldest `most` commissions after the id `after`; not those that a canceled or returned one had. */
export async function readCommissionsIn(
  ctx: Reader,
  { id, partner_id }: Pick<Payout, "id" | "partner_id">,
  { after = "", most }: { after?: string; most: number },
): Promise<Commission[]> {
  const [rows] = await ctx.read(
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
  return rows;
}

/** All of them, one part in memory. */
export async function* commissionsIn(
  ctx: Reader,
  payout: Pick<Payout, "id" | "partner_id">,
): AsyncGenerator<Commission[], void, undefined> {
  for (let after = ""; ;) {
    const rows = await readCommissionsIn(ctx, payout, { after, most: ROWS_PER_READ });
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ) return;
    after = last.id;
  }
}
