/** The budget of recorded clicks of a program on a UTC day (TRACK-26). Clicks beyond it are only counted. */
import { eq, gt, sql, type SQL } from "drizzle-orm";
import { atMost, literal } from "../../db/client.ts";
import { clickDrops, programs } from "../../db/schema.ts";
import { CLICK_BUDGET } from "../../domain/click.ts";
import { firstIdAt } from "../../lib/id.ts";
import { DAY } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { forProgram, type Ctx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { programFields } from "../kernel/program-rows.ts";
import type { Program } from "../kernel/rows.ts";
import { countUncountedIn } from "../kernel/uncounted-clicks.ts";

/** Clicks of one program in one flush from which on the flush also counts those that no roll-up has counted yet. */
const MANY = 100;
/** Smaller flushes count only if they contain such an id, about one click in a thousand: counting reads a row each. */
const SAMPLED = /00$/;
/** The days that define the usual number: their median, including days without a click. */
const USUAL_DAYS = 28;

interface DayOfClicks {
  program_id: string;
  day: string;
  /** The range of the day's ids. */
  first: string;
  end: string;
  /** Whether clicks that no roll-up has counted are counted as well. */
  exact: boolean;
}

/** The programs and days of the clicks in a flush, for `closeDays`. `at` is the start of a timestamp. */
export function daysOf(
  groups: readonly { program_id: string; at: string; clicks: readonly { id: string }[] }[],
): DayOfClicks[] {
  return [...Map.groupBy(groups, ({ program_id, at }) => `${program_id} ${at.slice(0, 10)}`).values()].map((own) => {
    const { program_id, at } = own[0]!;
    const start = Date.parse(at.slice(0, 10));
    const count = own.reduce((sum, { clicks }) => sum + clicks.length, 0);
    return {
      program_id,
      day: at.slice(0, 10),
      first: firstIdAt("event", start),
      end: firstIdAt("event", start + DAY),
      exact: count >= MANY || own.some(({ clicks }) => clicks.some(({ id }) => SAMPLED.test(id))),
    };
  });
}

/**
 * Closes the days of programs whose budget is used up, in a flush; `days` is the JSON of `daysOf`. The flush that
 * reaches the budget is recorded whole.
 */
export function closeDays(days: string): SQL {
  const program_id = sql`d.value ->> 'program_id'`;
  const uncounted = countUncountedIn(program_id, sql`d.value ->> 'first'`, sql`d.value ->> 'end'`);
  const usual = sql`coalesce((select c.count from event_counts c where c.program_id = n.program_id and c.type = 'click'
    and c.day >= date(n.day, ${`-${USUAL_DAYS} days`}) and c.day < n.day
    order by c.count desc limit 1 offset ${literal(USUAL_DAYS / 2 - 1)}), 0)`;
  return sql`insert into click_drops (program_id, day, reason, count)
    with n as materialized (
      select ${program_id} as program_id, d.value ->> 'day' as day,
        coalesce(c.count, 0) + iif(d.value ->> 'exact', ${uncounted}, 0) as recorded
      from json_each(${days}) d left join event_counts c on c.program_id = ${program_id} and c.type = 'click'
        and c.day = d.value ->> 'day'
      where not ${isClosed(program_id, sql`d.value ->> 'day'`)})
    select program_id, day, 'over_budget', 0 from n
    where recorded >= ${literal(CLICK_BUDGET.least)} and recorded >= ${literal(CLICK_BUDGET.times)} * ${usual}`;
}

/** Whether a program's budget of a day is used up. */
export function isClosed(program_id: SQL, day: SQL): SQL {
  return sql`exists (select 1 from click_drops o where o.program_id = ${program_id} and o.day = ${day}
    and o.reason = 'over_budget')`;
}

const PROGRAMS_AT_ONCE = 50;
const UNMAILED = sql`reason = 'over_budget' and mailed is null`;

interface ClosedDays extends Owner {
  program: Program;
  days: number;
}

/** Stores the e-mail to the owner about closed days: one for each, and one a day. Null if e-mail is not set up. */
export function mailClosedDays(ctx: Ctx): Work<ClosedDays> | null {
  if (!ctx.mailer) return null;
  return {
    cost: 6,
    async due(after) {
      const rows = await ctx.db
        .select({ program: programFields(), days: sql<number>`count(*)` })
        .from(sql`click_drops indexed by click_drops_unmailed`)
        .innerJoin(programs, eq(programs.id, clickDrops.program_id))
        .where(sql`${gt(clickDrops.program_id, after)} and ${UNMAILED}`)
        .groupBy(clickDrops.program_id)
        .orderBy(clickDrops.program_id)
        .limit(atMost(PROGRAMS_AT_ONCE));
      return rows.map((row) => ({ ...row, key: row.program.id }));
    },
    async serve({ program, days }) {
      const mark = sql`update click_drops set mailed = 1 where program_id = ${program.id} and ${UNMAILED}`;
      try {
        await commit(forProgram(ctx, program), {
          writes: [{ statement: ctx.db.run(mark), expect: days }],
          occurrences: [],
          ownerMails: [{ kind: "clicks_over_budget" }],
        });
      } catch (error) {
        // Another run has stored it.
        if (!(error instanceof CommitConflict)) throw error;
      }
      return false;
    },
  };
}
