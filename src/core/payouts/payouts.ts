import { and, desc, eq, gte, lt, sql, type SQL } from "drizzle-orm";
import { atMost, isOneOf, literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { commissions, payouts } from "../../db/schema.ts";
import type { PayoutMethod } from "../../domain/partner.ts";
import {
  canMove,
  PAYABLE,
  PAYOUT_MOVES,
  PAYOUT_STATUSES,
  type PayoutMove,
  type PayoutStatus,
} from "../../domain/payout.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { commit, type CommitPlan, type Write } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { byAmount, byPartner, byState, isTimed, readPage } from "../kernel/list-page.ts";
import { untilWon } from "../kernel/races.ts";
import type { Commission, Payout, Program } from "../kernel/rows.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import type { PayoutView } from "../kernel/views.ts";
import { laterStamp } from "../ledger/commission-rows.ts";
import { unsettleReleased, unsettleReturned } from "../ledger/decisions.ts";
import { MAX_INLINE, settleChanged, type Room } from "../ledger/settle.ts";
import { isHeld, payoutJson, refuseHeld, selectPayouts } from "./hold.ts";
import { mailsAboutPayouts, payCommissions, payoutMoved, returnCommissions } from "./rows.ts";

/** Selects payouts: those of the program that have all of these. */
export interface PayoutMatch {
  status?: PayoutStatus | undefined;
  method?: PayoutMethod | undefined;
  currency?: string | undefined;
  partner_id?: string | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

export interface PayoutFilter extends PageRequest, PayoutMatch {}

export interface PayoutWithCommissions {
  payout: Payout;
  /** Newest first, at most `MAX_COMMISSIONS`; `commission_count` is exact, and the commissions list pages through all. */
  commissions: Commission[];
  /** The current program and partner of the payout. */
  program: Program;
}

const MAX_COMMISSIONS = 1_000;

const LIST = { name: "payouts", kind: "payout", table: payouts } as const;

/** The program's payouts, newest first. */
export async function listPayouts(ctx: Reader, filter: PayoutFilter): Promise<PageOfTexts<PayoutView>> {
  const { status, method, currency, partner_id } = filter;
  const narrowed = [method, currency, partner_id].some((one) => one !== undefined) || isTimed(filter);
  return readPage<PayoutView>(ctx, { ...LIST, row: payoutJson(ctx) }, filter, {
    ...{ conditions: matchPayouts(ctx, filter), state: status, narrowed },
    sorts: {
      partner: byPartner(payouts.partner_id),
      amount: byAmount(ctx, payouts.amount_cents, payouts.currency),
      method: { by: sql`coalesce(${payouts.method}, '')` },
      status: byState(payouts.status, PAYOUT_STATUSES),
    },
  });
}

export function matchPayouts(
  ctx: Reader,
  { status, method, currency, partner_id, from, to }: PayoutMatch,
): SQL | undefined {
  return and(
    partner_id === undefined ? sql`${payouts.program_id} = ${ctx.programId}` : alsoOfProgram(ctx, payouts.program_id),
    status === undefined ? undefined : sql`${payouts.status} = ${literal(status)}`,
    method === undefined ? undefined : sql`${payouts.method} = ${literal(method)}`,
    currency === undefined ? undefined : eq(payouts.currency, currency),
    partner_id === undefined ? undefined : eq(payouts.partner_id, partner_id),
    from === undefined ? undefined : gte(payouts.created_at, iso(from)),
    to === undefined ? undefined : lt(payouts.created_at, iso(to)),
  );
}

/** One payout with its commissions; a canceled or returned one has no commissions. */
export async function getPayout(caller: Caller, id: string): Promise<PayoutWithCommissions> {
  const [{ program }, [payout], rows] = await prove(
    caller,
    selectPayout(caller, id),
    caller.db
      .select()
      .from(commissions)
      .where(and(eq(commissions.payout_id, id), alsoOfProgram(caller, commissions.program_id)))
      .orderBy(desc(commissions.id))
      .limit(atMost(MAX_COMMISSIONS)),
  );
  if (!payout) throw notFound("payout");
  return { payout, commissions: rows, program };
}

/** Those of these payouts that the program has, without their commissions, oldest first. */
export async function findPayouts(ctx: Reader, ids: readonly string[]): Promise<Payout[]> {
  const [rows] = await ctx.read(
    selectPayouts(ctx)
      .where(sql`${isOneOf(payouts.id, ids)} and ${alsoOfProgram(ctx, payouts.program_id)}`)
      .orderBy(payouts.id)
      .limit(atMost(ids.length)),
  );
  return rows;
}

/** `pending → paid` by hand (OUT-4), paid in another way; `reference` is the owner's reference of that payment. */
export function markPayoutPaid(caller: Caller, id: string, reference: string | null): Promise<Payout> {
  return movePayout(caller, id, "mark_paid", ({ ctx, before }) => {
    const paid = payCommissions(ctx, [before]);
    return {
      changes: { paid_at: iso(ctx.now), reference },
      writes: [paid.write],
      selected: [paid.selected],
      type: "payout.paid",
      mailsAbout: [mailsAboutPayouts("payout_paid", sql`p.id = ${id}`)],
    };
  });
}

/**
 * `pending|failed → canceled` releases its commissions to the next run (OUT-4). One and its differences merge: unpaid
 * money is never owed back.
 */
export function cancelPayout(caller: Caller, id: string, room?: Room): Promise<Payout> {
  const plan = (move: Move): MovePlan => ({
    changes: {},
    writes: [
      unsettleReleased(move.ctx, heldBy(move), move.before.created_at),
      {
        statement: move.ctx.db.run(sql`update commissions set payout_id = null, event_id = ${move.event_id},
          updated_at = ${laterStamp(sql`updated_at`, iso(move.ctx.now))}
          where payout_id = ${id} and program_id = ${move.ctx.program.id} and status = 'approved'`),
      },
    ],
    selected: [],
    type: "payout.updated",
    released: move.event_id,
  });
  return movePayout(caller, id, "cancel", plan, room);
}

/** The `failure_code` of a payout that the owner reports as returned. */
const RETURNED = "returned";

/**
 * `paid → returned`: the money came back, so its commissions are approved again and go into the next run (OUT-20). They
 * and their differences merge, as those of a canceled payout, and their flags are set again.
 */
export function returnPayout(
  caller: Caller,
  id: string,
  { code = RETURNED, message }: { code?: string; message: string },
  room?: Room,
): Promise<Payout> {
  const plan = (move: Move): MovePlan => {
    const returned = returnCommissions(move.ctx, move.before);
    return {
      changes: { failure_code: code, failure_message: message },
      writes: [unsettleReturned(move.ctx, heldBy(move)), returned.write],
      selected: [returned.selected],
      type: "payout.returned",
      mailsAbout: [mailsAboutPayouts("payout_returned", sql`p.id = ${id}`)],
      released: returned.event_id,
    };
  };
  return movePayout(caller, id, "return", plan, room);
}

/** The payments that one call settles if it cancels or returns many payouts: half of the statements are the payouts'. */
export function roomForMany(): Room {
  return { payments: MAX_INLINE / 2 };
}

interface Move {
  ctx: ProgramCtx;
  before: Payout;
  event_id: string;
}

function heldBy({ ctx, before }: Move): SQL {
  return sql`c.payout_id = ${before.id} and ${alsoOfProgram(ctx, sql`c.program_id`)}`;
}

interface MovePlan extends Required<Pick<CommitPlan, "writes" | "selected">> {
  changes: Partial<Payout>;
  type: "payout.updated" | "payout.paid" | "payout.returned";
  mailsAbout?: CommitPlan["mailsAbout"];
  /** The `event_id` of each commission `c` that the payout releases; their payments are settled next. */
  released?: string | SQL;
}

/** One move of a payout with all its effects; several of a call share the `room`. @throws `invalid_transition` if its status does not allow it. */
async function movePayout(
  caller: Caller,
  id: string,
  move: PayoutMove,
  plan: (move: Move) => MovePlan,
  room: Room = { payments: MAX_INLINE },
): Promise<Payout> {
  const { ctx, after, released } = await untilWon(async () => {
    const [ctx, [before]] = await prove(caller, selectPayout(caller, id));
    if (!before) throw notFound("payout");
    requireMove(before, move);
    if (move === "mark_paid") refuseHeld(before);
    const event_id = newId("event", ctx.now);
    const { changes, writes, selected, type, mailsAbout = [], released } = plan({ ctx, before, event_id });
    const payout_changes = { status: PAYOUT_MOVES[move].to, ...changes };
    const { write, after } = changePayout(ctx, before, payout_changes, { unlessHeld: move === "mark_paid" });
    await commit(ctx, {
      writes: [write, ...writes],
      occurrences: [{ ...payoutMoved(type, before, after), id: event_id }],
      selected,
      mailsAbout,
      result: after,
    });
    return { ctx, after, released };
  });
  if (released !== undefined) await settleChanged(ctx, released, room);
  return after;
}

export function requireMove(payout: Payout, move: PayoutMove): void {
  if (canMove(payout.status, move)) return;
  throw new AppError(
    "invalid_transition",
    `This payout is ${payout.status}. Only ${PAYOUT_MOVES[move].from.join(" or ")} payouts can be changed to ${PAYOUT_MOVES[move].to}.`,
  );
}

/**
 * The compare-and-set of every change of a payout, on its status and the instant of its last change. With `unlessHeld` it
 * loses its race if the partner's hold begins before it.
 */
export function changePayout(
  ctx: ProgramCtx,
  before: Payout,
  changes: Partial<Payout>,
  { unlessHeld }: { unlessHeld: boolean },
): { write: Write; after: Payout } {
  const patch = { ...changes, updated_at: nextStamp(before.updated_at, ctx.now) };
  const held_until = PAYABLE.some((status) => status === (patch.status ?? before.status)) ? before.held_until : null;
  const write = {
    statement: ctx.db
      .update(payouts)
      .set(patch)
      .where(
        and(
          ownedPayout(ctx, before.id),
          sql`${payouts.status} = ${literal(before.status)}`,
          eq(payouts.updated_at, before.updated_at),
          unlessHeld ? sql`not ${isHeld(ctx)}` : undefined,
        ),
      ),
    expect: 1,
  };
  return { write, after: { ...before, ...patch, held_until } };
}

/** Selects one payout of the program, with its hold. */
export function selectPayout(ctx: Reader, id: string) {
  return selectPayouts(ctx).where(ownedPayout(ctx, id));
}

export function ownedPayout(ctx: Reader, id: string) {
  return and(eq(payouts.id, id), sql`${payouts.program_id} = ${ctx.programId}`);
}
