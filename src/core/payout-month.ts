import { sql } from "drizzle-orm";
import { runBatch } from "../db/client.ts";
import { payoutRuns, programs } from "../db/schema.ts";
import { previousMonth } from "../domain/payout.ts";
import { iso } from "../lib/time.ts";
import { commit } from "./commit.ts";
import { forProgram, type Ctx, type ProgramCtx } from "./context.ts";
import { generatePayouts } from "./payout-generate.ts";
import { shareOf } from "./shards.ts";
import { logLine, reasonOf } from "../lib/log.ts";

/** No new program is begun after so many transactions: with the largest one the run stays below 1,000 statements. */
const CHUNKS_PER_RUN = 50;
const PROGRAMS_PER_RUN = 30;

/**
 * "Cron generates the past calendar month on the first of each month" (contract §7), for every program that has
 * something to pay and was not done yet. Does nothing on other days. Idempotent: what is left over, or was cut off, the
 * next run on that day does; a payout that the owner cancels meanwhile is not made again. Gives the programs done.
 */
export async function generateMonthlyPayouts(ctx: Ctx, goOn: () => boolean = () => true): Promise<number> {
  if (new Date(ctx.now).getUTCDate() !== 1) return 0;
  const period = previousMonth(ctx.now);
  const period_end = iso(period.period_end);
  const [due] = await runBatch(ctx.db, [
    ctx.db
      .select()
      .from(programs)
      .where(sql`exists (select 1 from commissions c where c.program_id = ${programs.id} and c.status = 'approved'
          and c.payout_id is null and c.created_at < ${period_end})
        and not exists (select 1 from payout_runs r where r.program_id = ${programs.id} and r.period_end = ${period_end})`)
      .orderBy(programs.id)
      .limit(shareOf(ctx, PROGRAMS_PER_RUN)),
  ]);
  let done = 0;
  let chunks = 0;
  for (const program of due) {
    if (chunks > shareOf(ctx, CHUNKS_PER_RUN) || !goOn()) break;
    try {
      chunks += 1 + (await generateMonth(forProgram(ctx, program), period));
      done += 1;
    } catch (error) {
      // One program's trouble keeps no other waiting.
      logLine("error", { what: "payouts not generated", program: program.id, reason: reasonOf(error) });
    }
  }
  return done;
}

/** Gives the number of transactions. */
async function generateMonth(ctx: ProgramCtx, period: { period_start: number; period_end: number }): Promise<number> {
  const { chunks } = await generatePayouts(ctx, { ...period, dry_run: false });
  const run = { program_id: ctx.program.id, period_end: iso(period.period_end), finished_at: iso(ctx.now) };
  await commit(ctx, {
    writes: [{ statement: ctx.db.insert(payoutRuns).values(run).onConflictDoNothing() }],
    occurrences: [],
  });
  return chunks;
}
