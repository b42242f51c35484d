import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import { programs } from "../db/schema.ts";
import { iso } from "../lib/time.ts";
import { laterStamp, updatedCommissions } from "./commission-rows.ts";
import { commit } from "./commit.ts";
import { forProgram, type Ctx, type Program, type ProgramCtx } from "./context.ts";
import { untilWon } from "./races.ts";
import { shareOf } from "./shards.ts";
import { logLine, reasonOf } from "../lib/log.ts";

/** A chunk is one read and one transaction, eight statements. */
const COMMISSIONS_PER_CHUNK = 2_000;
/** Statements of a run stay well below the platform's 1,000 an invocation; the next run does what is left. */
const CHUNKS_PER_RUN = 100;

/**
 * "With `auto_approve_days` set, a pending, unflagged commission approves itself that many days after its payment"
 * (contract §6). Idempotent; two runs at once approve each commission once. Gives how many were approved.
 */
export async function approveDueCommissions(ctx: Ctx, goOn: () => boolean = () => true): Promise<number> {
  const limit = shareOf(ctx, CHUNKS_PER_RUN);
  let approved = 0;
  let chunks = 0;
  for (;;) {
    const [due] = await runBatch(ctx.db, [
      ctx.db
        .select()
        .from(programs)
        .where(sql`${programs.auto_approve_days} is not null and exists (select 1 from commissions c
          where c.program_id = ${programs.id} and ${isDue(ctx.now, sql`${programs.auto_approve_days}`)})`)
        .orderBy(programs.id)
        .limit(limit),
    ]);
    let failed = 0;
    for (const program of due) {
      if (chunks++ >= limit || !goOn()) return approved;
      try {
        approved += await approveChunk(forProgram(ctx, program), program);
      } catch (error) {
        // One program's trouble keeps no other waiting.
        failed += 1;
        logLine("error", { what: "not auto-approved", program: program.id, reason: reasonOf(error) });
      }
    }
    if (due.length === failed) return approved;
  }
}

/** Old enough: dated `days` of UTC or more before now. */
function isDue(now: number, days: SQL): SQL {
  return sql`c.status = 'pending' and c.flagged = 0
    and c.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', ${iso(now)}, '-' || ${days} || ' days')`;
}

async function approveChunk(ctx: ProgramCtx, program: Program): Promise<number> {
  return untilWon(async () => {
    const [rows] = await ctx.read(
      ctx.db.all<{ id: string }>(sql`select c.id as id from commissions c where c.program_id = ${program.id}
        and ${isDue(ctx.now, sql`${program.auto_approve_days}`)} order by c.id limit ${literal(COMMISSIONS_PER_CHUNK)}`),
    );
    if (rows.length === 0) return 0;
    const stamp = iso(ctx.now);
    const chosen = sql`(select value from json_each(${JSON.stringify(rows.map(({ id }) => id))}))`;
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db.run(sql`update commissions set status = 'approved', approved_at = ${stamp},
            updated_at = ${laterStamp(sql`updated_at`, stamp)}
            where id in ${chosen} and program_id = ${program.id} and status = 'pending' and flagged = 0`),
          expect: rows.length,
        },
      ],
      occurrences: [],
      selected: [updatedCommissions(ctx, sql`c.id in ${chosen}`, true)],
    });
    return rows.length;
  });
}
