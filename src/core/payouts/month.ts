import { sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { payoutRuns, programs } from "../../db/schema.ts";
import { previousMonth } from "../../domain/payout.ts";
import { DAY, iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { forProgram, type Ctx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import type { Program } from "../kernel/rows.ts";
import { chunksOf, generateNext } from "./generate.ts";
import { dueOf, isOfPeriod, type Chunk, type GenerationInput } from "./payable.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

const PROGRAMS_AT_ONCE = 50;

interface Due extends Owner {
  program: Program;
  /** The remaining chunks; null before the first. */
  chunks: Chunk[] | null;
}

/**
 * Generates the past calendar month on the first of each month (OUT-3), for every program that had a commission due on
 * that day, disputed or not, and is not done yet: so a day without a cron, or a program that failed, is caught up.
 * Commissions approved later wait for the next first, unless time was to approve them by then; so do those that a
 * payout canceled since the month ended can have contained, so that they are not generated twice. Debts never wait,
 * because the amounts paid without them may be the last from which they could be deducted. The last payouts are written
 * together with the mark that the month is done, because once they are made no row may remain by which the month would
 * be found again.
 */
export function generateMonthlyPayouts(ctx: Ctx): Work<Due> {
  const { period_start, period_end } = previousMonth(ctx.now);
  const input: GenerationInput = { period_start, period_end, dry_run: false, spare_canceled: true };
  const dayOver = iso(period_end + DAY);
  return {
    cost: 15,
    async due(after) {
      const rows = await selectPrograms(ctx.db)
        .where(sql`${programs.id} > ${after} and ${programs.created_at} < ${dayOver}
          and not exists (select 1 from payout_runs r
            where r.program_id = ${programs.id} and r.period_end = ${iso(period_end)})
          and exists (select 1 from commissions c where ${dueOf(sql`${programs.id}`, "c", input)}
            and c.amount_cents > 0 and ${isOfPeriod("c", period_end)} and (coalesce(c.approved_at, c.created_at) < ${dayOver}
              or (c.flagged = 0 and c.hold_until < ${dayOver} and ${programs.auto_approve_days} is not null)))`)
        .orderBy(programs.id)
        .limit(atMost(PROGRAMS_AT_ONCE));
      return rows.map((program) => ({ key: program.id, program, chunks: null }));
    },
    async serve(due) {
      const own = forProgram(ctx, due.program);
      due.chunks ??= await chunksOf(own, input);
      if (due.chunks.length > 1) {
        await generateNext(own, input, due.chunks);
        return true;
      }
      const run = { program_id: due.key, period_end: iso(period_end), finished_at: iso(ctx.now) };
      const done = { statement: ctx.db.insert(payoutRuns).values(run).onConflictDoNothing() };
      const made = await generateNext(own, input, due.chunks, [done]);
      if (due.chunks.length > 0) return true;
      // Another run has made the last payouts since, or they were too large.
      if (made === null) await commit(own, { writes: [done], occurrences: [] });
      return false;
    },
  };
}
