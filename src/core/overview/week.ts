/** The weekly summary of an owner's open work, e-mailed on Monday mornings (MAIL-12). */
import { eq, sql } from "drizzle-orm";
import { runBatch } from "../../db/client.ts";
import { amount, selectRows, text, whole } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import { compareCurrencies } from "../../domain/amount.ts";
import { startOfLaterDayIn, startOfWeekIn } from "../../domain/time-zone.ts";
import { DAY, iso, utcDay } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { forProgram, type BaseCtx, type Ctx } from "../kernel/context.ts";
import type { Work } from "../kernel/work.ts";
import { MORNING, moveRound, roundsDue, type DueRound } from "../mails/rounds.ts";
import type { MailsAbout, AmountOf, Notice } from "../kernel/notices.ts";
import { COUNTS, listed } from "../mails/owner-subjects.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import { seenCodes } from "../kernel/seen-codes.ts";
import { accountSums, type AccountSum } from "../ledger/journal.ts";

/** Weeks that begin closer than this are one week in different zones: it has one summary. */
const SAME_WEEK = 5 * DAY;

/** Stores the summary of each program whose Monday has begun in its zone. Null if the deployment sends no e-mail. */
export function storeSummaries(ctx: Ctx): Work<DueRound> | null {
  if (!ctx.mailer) return null;
  return {
    cost: 5,
    due: (after) => roundsDue(ctx, "weekly_summary", after),
    async serve({ program, round }) {
      const { time_zone } = program;
      const monday = startOfWeekIn(time_zone, ctx.now);
      const at = monday + MORNING;
      const next = ctx.now < at ? at : startOfLaterDayIn(time_zone, monday, 7) + MORNING;
      const since = round.since === null ? at - 7 * DAY : Date.parse(round.since);
      // A program's first round only schedules the next one.
      const isDue = round.next_at !== "" && ctx.now >= at && at - since >= SAME_WEEK;
      const about: MailsAbout = {
        kind: "weekly_summary",
        from: sql`select owner_email as recipient, null as partner_id, ${`${utcDay(since)} ${utcDay(at)}`} as subject_id
          from programs where id = ${program.id}`,
      };
      try {
        await commit(forProgram(ctx, program), {
          writes: [
            moveRound(forProgram(ctx, program), round, { next_at: iso(next), ...(isDue ? { since: iso(at) } : {}) }),
          ],
          occurrences: [],
          mailsAbout: isDue ? [about] : [],
        });
      } catch (error) {
        // Another run has stored it.
        if (!(error instanceof CommitConflict)) throw error;
      }
      return false;
    },
  };
}

const WAITING = { applications: whole, claims: whole, held: whole, commissions: whole, payouts: whole };

/** Reads the current content of the summary of these days; null without a program. One round trip. */
export async function readWeek(
  { db }: Pick<BaseCtx, "db">,
  program_id: string,
  subject_id: string,
): Promise<Notice | null> {
  const [from = "", until = ""] = subject_id.split(" ");
  const reader = { db, programId: sql`${program_id}` };
  const [[program], [waiting], codes, sums, earned] = await runBatch(db, [
    selectPrograms(db).where(eq(programs.id, program_id)),
    selectRows(
      db,
      WAITING,
      sql`select ${COUNTS.applications_waiting(program_id)} as applications, ${COUNTS.claims_waiting(program_id)} as claims,
        ${COUNTS.payouts_held(program_id)} as held, ${COUNTS.commissions_waiting(program_id)} as commissions,
        ${listed("payouts", "pending")(program_id)} as payouts`,
    ),
    seenCodes(reader),
    accountSums(reader, ""),
    selectRows(
      db,
      { currency: text, commissions: whole, amount_cents: amount },
      sql`select currency, sum(commissions) as commissions, sum(amount_cents) as amount_cents
        from earning_days where program_id = ${program_id} and day >= ${from} and day < ${until}
        group by currency having sum(commissions) > 0`,
    ),
  ]);
  if (!program || !waiting) return null;
  const inOrder = <T extends { currency: string }>(rows: readonly T[]) =>
    rows.toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
  const at = (account: AccountSum["account"]): AmountOf[] =>
    inOrder(sums.filter((row) => row.account === account)).filter(({ amount_cents }) => amount_cents !== 0);
  return {
    kind: "weekly_summary",
    program,
    ...{ from, until },
    waiting: { ...waiting, codes: codes.length },
    pending: program.auto_approve_days === null ? at("pending") : [],
    in_payout: at("in_payout"),
    earned: inOrder(earned),
  };
}
