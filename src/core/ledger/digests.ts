/** Partners' earnings, e-mailed to them once a day (MAIL-13). */
import { and, eq, sql } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { amount, nullable, selectRows, text, whole } from "../../db/rows.ts";
import { partners, programs } from "../../db/schema.ts";
import { compareCurrencies } from "../../domain/amount.ts";
import { startOfDayIn, startOfLaterDayIn } from "../../domain/time-zone.ts";
import { firstIdAt } from "../../lib/id.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { forProgram, type BaseCtx, type Ctx, type ProgramCtx } from "../kernel/context.ts";
import type { Work } from "../kernel/work.ts";
import { MORNING, moveRound, roundsDue, selectRound, type DueRound, type MailRound } from "../mails/rounds.ts";
import type { MailsAbout, Notice } from "../kernel/notices.ts";
import { selectPrograms } from "../kernel/program-rows.ts";

/** Commissions in one transaction. */
const COMMISSIONS_AT_ONCE = 2_000;

/**
 * Stores partners' e-mails about earnings since the last, to the start of the zone's day. A round goes through its
 * commissions in bounded parts, with its position. Null if e-mail is not set up.
 */
export function storeDigests(ctx: Ctx): Work<DueRound> | null {
  if (!ctx.mailer) return null;
  return {
    cost: 6,
    due: (after) => roundsDue(ctx, "commissions_earned", after),
    async serve({ program }) {
      const own = forProgram(ctx, program);
      const [[round]] = await own.read(selectRound(own, "commissions_earned"));
      if (!round || round.next_at > iso(ctx.now)) return false;
      try {
        return await goOn(own, round);
      } catch (error) {
        // Another run has done this part.
        if (error instanceof CommitConflict) return false;
        throw error;
      }
    },
  };
}

/** Does one part; returns whether there are more. */
async function goOn(ctx: ProgramCtx, round: MailRound): Promise<boolean> {
  const { time_zone } = ctx.program;
  const today = startOfDayIn(time_zone, ctx.now);
  const tomorrow = iso(startOfLaterDayIn(time_zone, ctx.now, 1) + MORNING);
  const end = round.until ?? iso(today);
  if (round.since === null) return moveTo(ctx, round, { since: iso(today), next_at: tomorrow });
  // The zone has changed since this was due.
  if (round.until === null && ctx.now < today + MORNING) return moveTo(ctx, round, { next_at: iso(today + MORNING) });
  if (end <= round.since) return moveTo(ctx, round, { next_at: tomorrow });
  const { since } = round;
  const from = round.position ?? firstIdAt("event", Date.parse(since));
  const last = await endOfPart(ctx, from, firstIdAt("event", Date.parse(end)));
  const mailsAbout = last.id === null ? [] : [earnersBetween(ctx, from, last.id, `${since} ${end}`)];
  if (!last.isEnd) {
    await moveTo(ctx, round, { until: end, position: last.id }, mailsAbout);
    return true;
  }
  // A round that took more than a day is followed by the next at once.
  const next_at = end < iso(today) ? iso(today + MORNING) : tomorrow;
  return moveTo(ctx, round, { since: end, until: null, position: null, next_at }, mailsAbout);
}

async function moveTo(
  ctx: ProgramCtx,
  round: MailRound,
  set: Partial<MailRound>,
  mailsAbout: MailsAbout[] = [],
): Promise<false> {
  await commit(ctx, { writes: [moveRound(ctx, round, set)], occurrences: [], mailsAbout });
  return false;
}

const commissionsAfter = (ctx: ProgramCtx, id: string) => sql`from events indexed by events_type
  where program_id = ${ctx.program.id} and type = 'commission.created' and type <> 'click' and id > ${id}`;

/** The last event of one part, or null. */
async function endOfPart(
  ctx: ProgramCtx,
  from: string,
  before: string,
): Promise<{ id: string | null; isEnd: boolean }> {
  const [[part]] = await ctx.read(
    selectRows(
      ctx.db,
      { count: whole, id: nullable(text) },
      sql`select count(*) as count, max(id) as id from (
        select id ${commissionsAfter(ctx, from)} and id < ${before} order by id limit ${literal(COMMISSIONS_AT_ONCE)})`,
    ),
  );
  return { id: part?.id ?? null, isEnd: !part || part.count < COMMISSIONS_AT_ONCE };
}

/** An e-mail to each partner of these commissions; its subject is the partner and the stretch. */
function earnersBetween(ctx: ProgramCtx, from: string, last: string, stretch: string): MailsAbout {
  return {
    kind: "commissions_earned",
    from: sql`select distinct p.id as partner_id, p.email as recipient, p.id || ${` ${stretch}`} as subject_id
      from (select payload ->> 'partner_id' as id ${commissionsAfter(ctx, from)} and id <= ${last}) e
      cross join partners p on p.id = e.id where p.program_id = ${ctx.program.id} and p.status <> 'deactivated'`,
  };
}

/** The sources of money that a partner gets: earnings, and forgiven clawbacks (COM-4). */
const OF_PROGRAM = sql.raw("('expense', 'forgiven')");

/** The content for the partner: the stretch's sums in the journal, by currency; null if they are all 0. */
export async function readEarned(
  { db }: Pick<BaseCtx, "db">,
  program_id: string,
  subject_id: string,
): Promise<Notice | null> {
  const [partner_id = "", since = "", until = ""] = subject_id.split(" ");
  const idAt = (at: string) => firstIdAt("entry", Date.parse(at));
  const [[program], [partner], sums] = await runBatch(db, [
    selectPrograms(db).where(eq(programs.id, program_id)),
    db
      .select({ id: partners.id, email: partners.email })
      .from(partners)
      .where(and(eq(partners.id, partner_id), eq(partners.program_id, program_id))),
    selectRows(
      db,
      { currency: text, amount_cents: amount },
      sql`select currency, sum(iif(from_account in ${OF_PROGRAM}, amount_cents, -amount_cents)) as amount_cents
        from entries where program_id = ${program_id} and partner_id = ${partner_id} and id >= ${idAt(since)} and id < ${idAt(until)}
          and (from_account in ${OF_PROGRAM}) <> (to_account in ${OF_PROGRAM})
        group by currency`,
    ),
  ]);
  if (!program || !partner) return null;
  const earned = sums
    .filter(({ amount_cents }) => amount_cents !== 0)
    .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
  return earned.length > 0 ? { kind: "commissions_earned", program, partner, since, until, earned } : null;
}
