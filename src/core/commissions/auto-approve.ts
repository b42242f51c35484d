import { sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import { LARGEST_BALANCE } from "../../domain/money.ts";
import { logLine } from "../../lib/log.ts";
import { iso } from "../../lib/time.ts";
import { commit, eventIds } from "../kernel/commit.ts";
import { BalanceTooLarge } from "../kernel/conflict.ts";
import { forProgram, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { untilWon } from "../kernel/races.ts";
import type { Program } from "../kernel/rows.ts";
import { laterStamp, movedCommissions } from "../ledger/commission-rows.ts";
import { isSettled, recordApprovals } from "../ledger/decisions.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/** Commissions in one transaction. */
const COMMISSIONS_AT_ONCE = 2_000;
const PROGRAMS_AT_ONCE = 50;

interface Due extends Owner {
  program: Program;
}

/**
 * Approves each pending, unflagged commission once its hold ends, in programs with `auto_approve_days` (COM-6). Two
 * concurrent runs approve each commission once.
 */
export function approveDueCommissions(ctx: Ctx): Work<Due> {
  return {
    cost: 16,
    async due(after) {
      const rows = await selectPrograms(ctx.db)
        .where(sql`${programs.id} > ${after} and ${programs.auto_approve_days} is not null
          and (exists (select 1 from commissions c where c.program_id = ${programs.id} and ${isDue(ctx.now)})
            or exists (select 1 from commissions c where c.program_id = ${programs.id} and ${HAS_NO_HOLD}))`)
        .orderBy(programs.id)
        .limit(atMost(PROGRAMS_AT_ONCE));
      return rows.map((program) => ({ key: program.id, program }));
    },
    async serve({ program }) {
      const own = forProgram(ctx, program);
      const held = await holdSome(own);
      return held || (await approveSome(own, program)) === COMMISSIONS_AT_ONCE;
    },
  };
}

/**
 * Due: the hold is over. An unsettled payment waits, because a new fact, such as a dispute, may be about to flag its
 * commission.
 */
function isDue(now: number): SQL {
  return sql`c.status = 'pending' and c.flagged = 0 and c.hold_until <= ${iso(now)} and ${isSettled(sql`c.payment_id`)}`;
}

/** Commissions from before time began to approve. */
const HAS_NO_HOLD = sql`c.status = 'pending' and c.flagged = 0 and c.hold_until is null`;

/** The current setting, because the program was read when the run began. */
const daysOf = (program_id: string) => sql`(select auto_approve_days from programs where id = ${program_id})`;

/** Gives commissions without a hold the program's. Returns whether there can be more. */
async function holdSome(ctx: ProgramCtx): Promise<boolean> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { id: text },
      sql`select c.id from commissions c where c.program_id = ${ctx.program.id} and ${HAS_NO_HOLD}
        limit ${literal(COMMISSIONS_AT_ONCE)}`,
    ),
  );
  if (rows.length === 0) return false;
  const begins = sql`iif(seen_at > created_at, seen_at, created_at)`;
  const end = sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${begins}, '+' || ${daysOf(ctx.program.id)} || ' days')`;
  const chosen = sql`(select value from json_each(${JSON.stringify(rows.map(({ id }) => id))}))`;
  const statement = ctx.db.run(sql`update commissions set hold_until = ${end}
    where id in ${chosen} and program_id = ${ctx.program.id} and hold_until is null`);
  await commit(ctx, { writes: [{ statement }], occurrences: [] });
  return rows.length === COMMISSIONS_AT_ONCE;
}

async function approveSome(ctx: ProgramCtx, program: Program): Promise<number> {
  const due = sql`from commissions c where c.program_id = ${program.id} and ${isDue(ctx.now)}
    and ${daysOf(program.id)} is not null`;
  let fitting = sql`select c.id as id ${due}`;
  const approve = async () => {
    const [rows] = await ctx.read(
      selectRows(ctx.db, { id: text }, sql`${fitting} order by id limit ${literal(COMMISSIONS_AT_ONCE)}`),
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
              and ${isSettled(sql`commissions.payment_id`)} and hold_until <= ${iso(ctx.now)}
              and ${daysOf(program.id)} is not null`),
          expect: rows.length,
        },
        recordApprovals(ctx, sql`c.id in ${chosen}`),
      ],
      occurrences: [],
      selected: [movedCommissions(ctx, sql`c.id in ${chosen}`, ["pending", "approved"], true)],
    });
    return rows.length;
  };
  try {
    return await untilWon(approve);
  } catch (error) {
    if (!(error instanceof BalanceTooLarge)) throw error;
    logLine("error", { what: "approvals are too large for a balance", program_id: program.id });
    fitting = fittingOf(due);
    return untilWon(approve);
  }
}

/**
 * Due commissions that fit into the balances in any order: the accounts that have room for all of theirs, as many as
 * the program's balance can take. The other accounts wait, and do not delay others (PAY-22).
 */
function fittingOf(due: SQL): SQL {
  const kept = (partner: SQL) => sql`coalesce((select abs(b.amount_cents) from balances b
    where b.program_id = a.program_id and b.partner_id = ${partner} and b.currency = a.currency and b.account = 'payable'), 0)`;
  return sql`with accounts as (
      select c.program_id, c.partner_id, c.currency, sum(abs(c.amount_cents)) as amount_cents ${due} group by 1, 2, 3),
    roomy as (select * from accounts a where a.amount_cents + ${kept(sql`a.partner_id`)} <= ${literal(LARGEST_BALANCE)}),
    placed as (select *, sum(amount_cents) over (partition by currency order by amount_cents, partner_id) as reached
      from roomy)
    select c.id as id ${due} and (c.partner_id, c.currency) in (
      select a.partner_id, a.currency from placed a where a.reached + ${kept(sql`''`)} <= ${literal(LARGEST_BALANCE)})`;
}
