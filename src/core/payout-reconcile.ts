import { sql } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import { payouts, programs } from "../db/schema.ts";
import { iso } from "../lib/time.ts";
import type { Transfers } from "../providers/connect.ts";
import { forProgram, type Ctx } from "./context.ts";
import { takeUpTransfer } from "./payout-pay.ts";
import { shareOf } from "./shards.ts";
import { logLine, reasonOf } from "../lib/log.ts";

/** So many of a run's statements and calls stay within the platform's limits; the next run takes more. */
const PAYOUTS_PER_RUN = 20;
/** Calls to the vendor at the same time. */
const AT_ONCE = 4;

/**
 * "Cron reconciles what is left in `processing`" (contract §7): every open transfer whose time has come is asked about
 * or sent again under its own key, until the vendor has an answer. Idempotent; two runs at once never work on the same
 * payout. Gives the number taken up.
 */
export async function reconcileTransfers(
  ctx: Ctx,
  transfers: Transfers,
  goOn: () => boolean = () => true,
): Promise<number> {
  const limit = shareOf(ctx, PAYOUTS_PER_RUN);
  const due = sql`${payouts.status} = 'processing' and ${payouts.reconcile_at} <= ${iso(ctx.now)}`;
  const [rows, owners] = await runBatch(ctx.db, [
    ctx.db.select().from(payouts).where(due).orderBy(payouts.reconcile_at).limit(limit),
    ctx.db.select().from(programs).where(sql`${programs.id} in (select program_id from payouts where ${due}
        order by reconcile_at limit ${literal(limit)})`),
  ]);
  const programOf = new Map(owners.map((program) => [program.id, program]));
  const waiting = rows.values();
  let taken = 0;
  const work = async () => {
    for (const payout of waiting) {
      const program = programOf.get(payout.program_id);
      if (!program || !goOn()) continue;
      try {
        if (await takeUpTransfer(forProgram(ctx, program), payout, transfers)) taken += 1;
      } catch (error) {
        // The lease runs out and the next run tries again; one payout's trouble keeps no other waiting.
        logLine("error", { what: "transfer not reconciled", payout: payout.id, reason: reasonOf(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return taken;
}
