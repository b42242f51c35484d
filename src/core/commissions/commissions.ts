import { and, eq, gte, isNull, lt, sql, type SQL } from "drizzle-orm";
import { isOneOf, literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { selectRows } from "../../db/rows.ts";
import { commissions } from "../../db/schema.ts";
import {
  checkChange,
  favorsPartner,
  type ChangeableCommission,
  type CommissionChange,
} from "../../domain/commission-change.ts";
import { COMMISSION_STATUSES, holdUntil, type CommissionStatus } from "../../domain/commission.ts";
import { NOTHING, type Cents } from "../../domain/money.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import { byAmount, byPartner, byState, isTimed, pagedList, readPage } from "../kernel/list-page.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Commission } from "../kernel/rows.ts";
import { requireScope } from "../kernel/scopes.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { viewCommission, type CommissionView } from "../kernel/views.ts";
import { hasDifferences, recordDecisions, unsettleDifferences } from "../ledger/decisions.ts";
import { PAYMENT_KEY, type PaymentKey } from "../ledger/facts.ts";
import { commissionChanged, commissionCreated, type ChangedCommission } from "../ledger/plan.ts";
import { throwFailure, settleEach } from "../ledger/settle.ts";

/** Selects commissions, as the query of the list does. */
export interface CommissionMatch {
  status?: CommissionStatus | undefined;
  partner_id?: string | undefined;
  payout_id?: string | undefined;
  provider?: ProviderName | undefined;
  flagged?: boolean | undefined;
  /** Milliseconds; `to` is exclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

export interface CommissionFilter extends CommissionMatch, PageRequest {}

export interface ManualCommission {
  partner_id: string;
  /** Smallest units; negative takes from the partner's next payout; never 0. */
  amount_cents: Cents;
  currency?: string | undefined;
  note: string;
}

const LIST = pagedList("commissions", "commission", commissions, viewCommission);
const FLAGGED = { ...LIST, name: "flagged" as const };

/** The program's commissions, newest first: an id carries the time of the payment. */
export async function listCommissions(ctx: Reader, filter: CommissionFilter): Promise<PageOfTexts<CommissionView>> {
  const { partner_id, payout_id, provider } = filter;
  const isNarrowed = [partner_id, payout_id, provider].some((value) => value !== undefined);
  const narrowed = isNarrowed || filter.flagged === false || isTimed(filter);
  return readPage(ctx, filter.flagged ? FLAGGED : LIST, filter, {
    conditions: matchCommissions(ctx, filter),
    state: filter.status,
    narrowed,
    sorts: {
      partner: byPartner(commissions.partner_id),
      amount: byAmount(ctx, commissions.amount_cents, commissions.currency),
      status: byState(commissions.status, COMMISSION_STATUSES),
    },
  });
}

/** The condition for the program's commissions that match. */
export function matchCommissions(ctx: Reader, match: CommissionMatch): SQL | undefined {
  return and(
    match.partner_id === undefined && match.payout_id === undefined
      ? sql`${commissions.program_id} = ${ctx.programId}`
      : alsoOfProgram(ctx, commissions.program_id),
    // The few flagged ones have their own index, which needs its condition in the query.
    match.status === undefined
      ? undefined
      : sql`${match.flagged ? sql`+` : sql``}${commissions.status} = ${literal(match.status)}`,
    match.partner_id === undefined ? undefined : eq(commissions.partner_id, match.partner_id),
    match.payout_id === undefined ? undefined : eq(commissions.payout_id, match.payout_id),
    match.provider === undefined ? undefined : eq(commissions.provider, match.provider),
    match.flagged === undefined ? undefined : sql`${commissions.flagged} = ${sql.raw(match.flagged ? "1" : "0")}`,
    match.from === undefined ? undefined : gte(commissions.created_at, iso(match.from)),
    match.to === undefined ? undefined : lt(commissions.created_at, iso(match.to)),
  );
}

export async function getCommission(caller: Caller, id: string): Promise<CommissionView> {
  const [[commission]] = await caller.read(caller.db.select().from(commissions).where(owned(caller, id)));
  if (!commission) throw notFound("commission");
  return viewCommission(commission);
}

/**
 * Changes a commission by hand. Of two opposite changes at once one wins; the other is refused, because the state it
 * was decided on has changed (`hasChanged`). A change without effect does not write. It answers once the dependent
 * differences are settled (COM-8): if settling fails, it throws, but the change is stored.
 * @throws `forbidden` for a key that may not make the change (ACCESS-13); `invalid_transition` for an illegal move, or
 * while a payout holds the commission (COM-1, COM-2).
 */
export async function updateCommission(
  caller: Caller,
  id: string,
  change: CommissionChange,
  unchanged_since?: string,
): Promise<CommissionView> {
  let seen: CommissionStatus | undefined;
  const { ctx, after, unsettled } = await untilWon(async () => {
    const {
      rows: [before],
      differing,
    } = await readAllJudged(caller, [id]);
    const [ctx] = await prove(caller);
    requireForChange(ctx, before, change);
    if (!before) throw notFound("commission");
    seen ??= before.status;
    const isStale = before.status !== seen || hasChanged(before, unchanged_since);
    if (change.status !== undefined && isStale) throw statusConflict(before);
    const checked = checkChange(before, change, nextStamp(before.updated_at, ctx.now));
    if (!checked.ok) throw new AppError("invalid_transition", checked.message);
    if (Object.keys(checked.changes).length === 0) return { ctx, after: before, unsettled: [] };
    const after = changeCommission(ctx, before, checked.changes);
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(commissions)
            .set({ ...checked.changes, updated_at: after.updated_at, event_id: after.event_id })
            .where(
              and(
                owned(ctx, id),
                sql`${commissions.status} = ${literal(before.status)}`,
                eq(commissions.updated_at, before.updated_at),
                isNull(commissions.payout_id),
              ),
            ),
          expect: 1,
        },
        recordDecisions(ctx, [{ before, after }]),
        ...(differing.length > 0 ? [unsettleDifferences(ctx, haveIds([id]))] : []),
      ],
      occurrences: [commissionChanged(before, after)],
      result: after,
    });
    return { ctx, after, unsettled: differing };
  });
  if (unsettled.length === 0) return viewCommission(after);
  throwFailure(await settleEach(ctx, unsettled));
  // A difference may have been folded into its sale.
  const { rows } = await readAllJudged(ctx, [id]);
  return viewCommission(rows[0] ?? after);
}

/** @throws `forbidden` for a key without `payouts` if the change favors the partner, or may for a missing row. */
export function requireForChange(ctx: ProgramCtx, before: Commission | undefined, change: CommissionChange): void {
  if (favorsPartner(before ?? { amount_cents: NOTHING }, change)) requireScope(ctx, "payouts");
}

/** Reads commissions, and those of their payments with dependent differences, which a decision changes too. */
export async function readAllJudged(
  ctx: Reader,
  ids: readonly string[],
): Promise<{ rows: Commission[]; differing: PaymentKey[] }> {
  const [rows, differing] = await ctx.read(
    ctx.db
      .select()
      .from(commissions)
      .where(
        sql`${isOneOf(commissions.id, ids)}
          and ${commissions.program_id} = ${ctx.programId}`,
      ),
    selectRows(
      ctx.db,
      PAYMENT_KEY,
      sql`select distinct p.id as id, p.provider as provider,
        p.provider_transaction_id as provider_transaction_id
      from commissions c cross join payments p on p.id = c.payment_id
      where ${haveIds(ids)} and ${alsoOfProgram(ctx, sql`c.program_id`)} and ${hasDifferences(sql`p.id`)}`,
    ),
  );
  return { rows, differing };
}

export function haveIds(ids: readonly string[]): SQL {
  return isOneOf(sql`c.id`, ids);
}

/**
 * Makes a bonus, or with a negative amount a correction, as `pending` (COM-3). @throws `forbidden` for a bonus by a key
 * without `payouts` (ACCESS-13)
 */
export async function createManualCommission(caller: Caller, input: ManualCommission): Promise<CommissionView> {
  return untilWon(async () => {
    const [ctx, [partner]] = await prove(caller, selectPartner(caller, input.partner_id));
    if (input.amount_cents > 0) requireScope(ctx, "payouts");
    if (!partner) throw invalidField("partner_id", "No such partner.");
    if (partner.status !== "active") throw invalidField("partner_id", "Only active partners get commissions.");
    const stamp = iso(ctx.now);
    const commission: ChangedCommission = {
      id: newId("commission", ctx.now),
      program_id: ctx.program.id,
      partner_id: partner.id,
      payment_id: null,
      flow_id: null,
      payout_id: null,
      kind: "manual",
      source_commission_id: null,
      status: "pending",
      flagged: false,
      review_reason: null,
      review_reasons: "",
      dismissed_reasons: "",
      rejected_reason: null,
      amount_cents: input.amount_cents,
      txn_amount_cents: NOTHING,
      base_cents: null,
      currency: input.currency ?? ctx.program.currency,
      provider: null,
      provider_transaction_id: null,
      subscription_id: null,
      customer_email: null,
      rate: { source: "manual", action_type: "flat", action_value: input.amount_cents },
      note: input.note,
      event_id: newId("event", ctx.now),
      created_at: stamp,
      seen_at: "",
      hold_until: holdUntil({ created_at: stamp, seen_at: "" }, ctx.program.auto_approve_days),
      approved_at: null,
      paid_at: null,
      updated_at: stamp,
    };
    await commit(ctx, {
      writes: [
        { statement: ctx.db.insert(commissions).values(commission) },
        refuseWhere(ctx, sql`not exists (select 1 from partners where id = ${partner.id} and status = 'active')`),
      ],
      occurrences: [commissionCreated(commission)],
      result: viewCommission(commission),
    });
    return viewCommission(commission);
  });
}

export function changeCommission(
  ctx: ProgramCtx,
  before: Commission,
  changes: Partial<ChangeableCommission>,
): ChangedCommission {
  const updated_at = nextStamp(before.updated_at, ctx.now);
  return { ...before, ...changes, updated_at, event_id: newId("event", ctx.now) };
}

export function statusConflict(now: { status: CommissionStatus }): AppError {
  return new AppError("invalid_transition", `The commission has changed in the meantime: it is now ${now.status}.`);
}

/** Whether a commission changed after a time; false without a time. */
export function hasChanged({ updated_at }: Pick<Commission, "updated_at">, since: string | undefined): boolean {
  return since !== undefined && updated_at > since;
}

function owned(ctx: Reader, id: string) {
  return and(eq(commissions.id, id), sql`${commissions.program_id} = ${ctx.programId}`);
}
