import { sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { shaped, text } from "../../db/rows.ts";
import { HOLD_BEGINS, programs } from "../../db/schema.ts";
import { iso } from "../../lib/time.ts";
import { commit, eventIds } from "../kernel/commit.ts";
import { forProgram, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/job.ts";
import { untilWon } from "../kernel/races.ts";
import type { Program } from "../kernel/rows.ts";
import { laterStamp, movedCommissions } from "../ledger/commission-rows.ts";
import { daysBefore, isSettled, recordApprovals } from "../ledger/decisions.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/** What one transaction takes. */
const COMMISSIONS_AT_ONCE = 2_000;
const PROGRAMS_AT_ONCE = 50;

interface Due extends Owner {
  program: Program;
}

/**
 * With `auto_approve_days` set, a pending, unflagged commission approves itself that many days after its payment was made
 * and first seen (COM-6). Two runs at once approve each commission once.
 */
export function approveDueCommissions(ctx: Ctx): Work<Due> {
  return {
    cost: 8,
    async due(after) {
      const rows = await selectPrograms(ctx.db)
        .where(sql`${programs.id} > ${after} and ${programs.auto_approve_days} is not null
          and exists (select 1 from commissions c
            where c.program_id = ${programs.id} and ${isDue(ctx.now, sql`${programs.auto_approve_days}`)})`)
        .orderBy(programs.id)
        .limit(atMost(PROGRAMS_AT_ONCE));
      return rows.map((program) => ({ key: program.id, program }));
    },
    async serve({ program }) {
      return (await approveSome(forProgram(ctx, program), program)) === COMMISSIONS_AT_ONCE;
    },
  };
}

/**
 * Old enough: its hold began `days` of UTC or more before now. What is not settled waits: a fact that came, a dispute, may be
 * about to flag it.
 */
function isDue(now: number, days: SQL): SQL {
  return sql`c.status = 'pending' and c.flagged = 0 and ${isSettled(sql`c.payment_id`)}
    and ${HOLD_BEGINS} <= ${daysBefore(iso(now), days)}`;
}

/** By the setting of that moment: the program was read when the run began. */
async function approveSome(ctx: ProgramCtx, program: Program): Promise<number> {
  const days = sql`(select auto_approve_days from programs where id = ${program.id})`;
  return untilWon(async () => {
    const [rows] = await ctx.read(
      shaped(
        ctx.db,
        { id: text },
        sql`select c.id as id from commissions c where c.program_id = ${program.id}
        and ${isDue(ctx.now, days)} order by c.id limit ${literal(COMMISSIONS_AT_ONCE)}`,
      ),
    );
    if (rows.length === 0) return 0;
    const stamp = laterStamp(sql`updated_at`, iso(ctx.now));
    const chosen = sql`(select value from json_each(${JSON.stringify(rows.map(({ id }) => id))}))`;
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db.run(sql`update commissions set status = 'approved', approved_at = ${stamp},
            updated_at = ${stamp}, event_id = ${eventIds(ctx.now)(sql`id`)}
            where id in ${chosen} and program_id = ${program.id} and status = 'pending' and flagged = 0
              and ${isSettled(sql`commissions.payment_id`)} and ${HOLD_BEGINS} <= ${daysBefore(iso(ctx.now), days)}`),
          expect: rows.length,
        },
        recordApprovals(ctx, sql`c.id in ${chosen}`),
      ],
      occurrences: [],
      selected: [movedCommissions(ctx, sql`c.id in ${chosen}`, ["pending", "approved"], true)],
    });
    return rows.length;
  });
}
