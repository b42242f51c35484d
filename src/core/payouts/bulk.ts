/** Many payouts at once: those that match a filter, or are named (PAGE-37). */
import { and, sql, type SQL } from "drizzle-orm";
import { atMost, isOneOf, literal, literals } from "../../db/client.ts";
import { amount, nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { payouts } from "../../db/schema.ts";
import type { Changes } from "../../domain/actor.ts";
import type { Cents } from "../../domain/money.ts";
import { TRANSFER_METHOD, type PayoutMethod } from "../../domain/partner.ts";
import { PAYOUT_MOVES } from "../../domain/payout.ts";
import { iso } from "../../lib/time.ts";
import { commit, eventIds } from "../kernel/commit.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import type { Payout } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { firstStep, movePayouts } from "./export-steps.ts";
import { isHeld, selectPayouts } from "./hold.ts";
import { matchPayouts, type PayoutMatch } from "./payouts.ts";
import { mailsAboutPayouts, movedPayouts, payCommissions } from "./rows.ts";

export type BulkMove = "pay" | "mark_paid" | "cancel";

/** All that match, or the named ones. */
export type BulkMatch = PayoutMatch | { ids: readonly string[] };

/** Payouts that a move would change, by method and currency. */
export interface BulkGroup {
  method: PayoutMethod | null;
  currency: string;
  count: number;
  amount_cents: Cents;
}

/** Payouts in one step before its weight is known. */
const ROWS_PER_STEP = 1_000;

/** Counts the payouts that the move would change, and reads the oldest `most` of them. Changes no row. */
export async function previewMove(
  ctx: Reader,
  match: BulkMatch,
  move: BulkMove,
  most: number,
): Promise<{ groups: BulkGroup[]; rows: Payout[] }> {
  const which = movable(ctx, match, move);
  const [groups, rows] = await ctx.read(
    selectRows(
      ctx.db,
      { method: nullable(textOf<PayoutMethod>()), currency: text, count: whole, amount_cents: amount },
      sql`select method, currency, count(*) as count, sum(amount_cents) as amount_cents
        from ${payouts} where ${which} group by 1, 2 order by 1, 2`,
    ),
    selectMovable(ctx, which, most),
  );
  return { groups, rows };
}

/** The oldest payouts that the move can change and that are unchanged since `seen_at`. */
export async function readMovable(
  ctx: Reader,
  match: BulkMatch,
  move: BulkMove,
  { seen_at, most }: { seen_at: string; most: number },
): Promise<Payout[]> {
  const [rows] = await ctx.read(selectMovable(ctx, movable(ctx, match, move, seen_at), most));
  return rows;
}

/**
 * Marks as paid by hand the matching payouts that are unchanged since `seen_at`, oldest first, in steps that are each complete:
 * after an interruption the same call does the rest. Returns the ids.
 */
export async function markMatchingPaid(
  caller: Caller,
  match: BulkMatch,
  { reference, seen_at }: { reference: string | null; seen_at: string },
): Promise<string[]> {
  const paid: string[] = [];
  for (let isMore = true; isMore;) {
    isMore = await untilWon(async () => {
      const [ctx, rows] = await prove(
        caller,
        selectMovable(caller, movable(caller, match, "mark_paid", seen_at), ROWS_PER_STEP),
      );
      const step = firstStep(rows);
      if (step.length === 0) return false;
      const ids = step.map(({ id }) => id);
      const which = isOneOf(sql`p.id`, ids);
      const commissions = payCommissions(ctx, step);
      const changes: Changes = { status: ["pending", "paid"] };
      if (reference !== null) changes["reference"] = [null, reference];
      await commit(ctx, {
        writes: [
          movePayouts(ctx, ids, ["pending", "paid"], {
            changes: sql`paid_at = ${iso(ctx.now)}, reference = ${reference},`,
            unlessHeld: true,
          }),
          commissions.write,
        ],
        occurrences: [],
        selected: [
          movedPayouts(ctx, "payout.paid", which, changes, eventIds(ctx.now)(sql`p.id`)),
          commissions.selected,
        ],
        mailsAbout: [mailsAboutPayouts("payout_paid", which)],
      });
      paid.push(...ids);
      return step.length < rows.length || rows.length === ROWS_PER_STEP;
    });
  }
  return paid;
}

function selectMovable(ctx: Reader, which: SQL, most: number) {
  return selectPayouts(ctx).where(which).orderBy(payouts.id).limit(atMost(most));
}

/**
 * Payouts whose status, method, recipient and hold allow the move. A filter does not mark those as paid that have no payout
 * details: a person names them.
 */
function movable(ctx: Reader, match: BulkMatch, move: BulkMove, seen_at?: string): SQL {
  const isNamed = "ids" in match;
  return and(
    isNamed
      ? sql`${isOneOf(payouts.id, match.ids)} and ${alsoOfProgram(ctx, payouts.program_id)}`
      : matchPayouts(ctx, match),
    sql`${payouts.status} in ${literals(PAYOUT_MOVES[move].from)}`,
    move === "pay" ? sql`${payouts.method} = ${literal(TRANSFER_METHOD)}` : undefined,
    move === "cancel" ? undefined : sql`not ${isHeld(ctx)}`,
    move === "pay" || (move === "mark_paid" && !isNamed) ? sql`${payouts.recipient} is not null` : undefined,
    seen_at === undefined ? undefined : sql`${payouts.updated_at} <= ${seen_at}`,
  )!;
}
