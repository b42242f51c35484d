import { and, eq, gte, isNull, lt, sql } from "drizzle-orm";
import type { PageOfTexts, PageRequest } from "../db/page.ts";
import { commissions, partners } from "../db/schema.ts";
import type { CommissionStatus } from "../domain/commission.ts";
import { judgeChange, type ChangeableCommission, type CommissionChange } from "../domain/commission-change.ts";
import type { ProviderName } from "../domain/provider-name.ts";
import { AppError, invalidField, notFound } from "../lib/errors.ts";
import { newId } from "../lib/id.ts";
import { iso } from "../lib/time.ts";
import { commit, type Write } from "./commit.ts";
import type { ProgramCtx } from "./context.ts";
import { commissionOccurrence } from "./ledger-rows.ts";
import type { Commission } from "./ledger.ts";
import { isTimed, pagedList, readPage } from "./list-page.ts";
import { refuseWhere, untilWon } from "./races.ts";
import { nextStamp } from "./stamps.ts";
import { alsoOfProgram } from "./tenant.ts";
import { viewCommission, type CommissionView } from "./views.ts";

export interface CommissionFilter extends PageRequest {
  status?: CommissionStatus | undefined;
  partner_id?: string | undefined;
  payout_id?: string | undefined;
  provider?: ProviderName | undefined;
  flagged?: boolean | undefined;
  /** Milliseconds; `to` is the first instant no longer included. */
  from?: number | undefined;
  to?: number | undefined;
}

export interface ManualCommission {
  partner_id: string;
  /** Smallest units; negative takes from the partner's next payout; never 0. */
  amount_cents: number;
  currency?: string | undefined;
  note: string;
}

/** What became of one id of a bulk change. */
export type BulkResult =
  | { id: string; ok: true; status: CommissionStatus }
  | { id: string; ok: false; error: { code: "not_found" | "invalid_transition"; message: string } };

const LIST = pagedList("commissions", commissions, viewCommission);

/** The program's commissions, newest first: an id carries the time of the payment. */
export async function listCommissions(ctx: ProgramCtx, filter: CommissionFilter): Promise<PageOfTexts<CommissionView>> {
  const conditions = and(
    filter.partner_id || filter.payout_id
      ? alsoOfProgram(ctx, commissions.program_id)
      : sql`${commissions.program_id} = ${ctx.programId}`,
    // The flagged ones are few, and have an index of their own where the query says so by itself.
    filter.status ? sql`${filter.flagged ? sql`+` : sql``}${commissions.status} = ${filter.status}` : undefined,
    filter.partner_id ? eq(commissions.partner_id, filter.partner_id) : undefined,
    filter.payout_id ? eq(commissions.payout_id, filter.payout_id) : undefined,
    filter.provider ? eq(commissions.provider, filter.provider) : undefined,
    filter.flagged === undefined ? undefined : sql`${commissions.flagged} = ${sql.raw(filter.flagged ? "1" : "0")}`,
    filter.from === undefined ? undefined : gte(commissions.created_at, iso(filter.from)),
    filter.to === undefined ? undefined : lt(commissions.created_at, iso(filter.to)),
  );
  const narrowed = Boolean(
    filter.partner_id || filter.payout_id || filter.provider || filter.flagged !== undefined || isTimed(filter),
  );
  return readPage(ctx, LIST, filter, { conditions, state: filter.status, narrowed });
}

export async function getCommission(ctx: ProgramCtx, id: string): Promise<Commission> {
  const [[commission]] = await ctx.read(ctx.db.select().from(commissions).where(owned(ctx, id)));
  if (!commission) throw notFound("commission");
  return commission;
}

/**
 * Changes a commission by hand. Of two opposite changes at once one wins; the other is refused, since what it was
 * decided on is no more. A change that changes nothing writes nothing.
 * @throws `invalid_transition` for an illegal move, or while a payout holds the commission (contract §6).
 */
export async function updateCommission(ctx: ProgramCtx, id: string, change: CommissionChange): Promise<Commission> {
  let seen: CommissionStatus | undefined;
  return untilWon(async () => {
    const before = await getCommission(ctx, id);
    seen ??= before.status;
    if (change.status !== undefined && before.status !== seen) throw changedMeanwhile(before);
    const judged = judgeChange(before, change, iso(ctx.now));
    if (!judged.ok) throw new AppError("invalid_transition", judged.message);
    if (Object.keys(judged.changes).length === 0) return before;
    const after = changed(ctx, before, judged.changes);
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(commissions)
            .set({ ...judged.changes, updated_at: after.updated_at })
            .where(
              and(
                owned(ctx, id),
                eq(commissions.status, before.status),
                eq(commissions.updated_at, before.updated_at),
                isNull(commissions.payout_id),
              ),
            ),
          expect: 1,
        },
      ],
      occurrences: [commissionOccurrence("commission.updated", after)],
      result: after,
    });
    return after;
  });
}

/**
 * Moves up to 100 commissions, each for itself: what is refused for one changes nothing for the others. One read and
 * one commit, however many they are; again only for as long as others change the same rows in between.
 */
export async function updateCommissions(
  ctx: ProgramCtx,
  ids: readonly string[],
  change: Pick<CommissionChange, "reason"> & { status: CommissionStatus },
): Promise<BulkResult[]> {
  const seen = new Map<string, CommissionStatus>();
  return untilWon(async () => {
    const [rows] = await ctx.read(
      ctx.db
        .select()
        .from(commissions)
        .where(
          sql`${commissions.id} in (select value from json_each(${JSON.stringify(ids)}))
            and ${commissions.program_id} = ${ctx.programId}`,
        ),
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    const changes: { before: Commission; after: Commission }[] = [];
    const results = ids.map((id): BulkResult => {
      const before = byId.get(id);
      if (!before) return { id, ok: false, error: { code: "not_found", message: "No such commission." } };
      const refused = (message: string): BulkResult => ({
        id,
        ok: false,
        error: { code: "invalid_transition", message },
      });
      if (before.status !== (seen.get(id) ?? before.status)) return refused(changedMeanwhile(before).message);
      seen.set(id, before.status);
      const judged = judgeChange(before, change, iso(ctx.now));
      if (!judged.ok) return refused(judged.message);
      const after = changed(ctx, before, judged.changes);
      changes.push({ before, after });
      return { id, ok: true, status: after.status };
    });
    if (changes.length === 0) return results;
    await commit(ctx, {
      writes: [bulkUpdate(ctx, changes)],
      occurrences: changes.map(({ after }) => commissionOccurrence("commission.updated", after)),
      result: results,
    });
    return results;
  });
}

/**
 * A commission by the owner's hand: a bonus, or with a negative amount a correction. It waits as `pending` and passes
 * the same approval as any other. "Only `active` partners get commissions" (contract §4).
 */
export async function createManualCommission(ctx: ProgramCtx, input: ManualCommission): Promise<Commission> {
  return untilWon(async () => {
    const [[partner]] = await ctx.read(
      ctx.db
        .select()
        .from(partners)
        .where(and(eq(partners.id, input.partner_id), sql`${partners.program_id} = ${ctx.programId}`)),
    );
    if (!partner) throw invalidField("partner_id", "No such partner.");
    if (partner.status !== "active") throw invalidField("partner_id", "Only active partners get commissions.");
    const stamp = iso(ctx.now);
    const commission: Commission = {
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
      dismissed_reasons: "",
      rejected_reason: null,
      amount_cents: input.amount_cents,
      txn_amount_cents: 0,
      currency: input.currency ?? ctx.program.currency,
      provider: null,
      provider_transaction_id: null,
      subscription_id: null,
      customer_email: null,
      rate: { source: "manual", action_type: "flat", action_value: input.amount_cents },
      note: input.note,
      created_at: stamp,
      approved_at: null,
      paid_at: null,
      updated_at: stamp,
    };
    await commit(ctx, {
      writes: [
        { statement: ctx.db.insert(commissions).values(commission) },
        refuseWhere(ctx, sql`not exists (select 1 from partners where id = ${partner.id} and status = 'active')`),
      ],
      occurrences: [commissionOccurrence("commission.created", commission)],
      result: commission,
    });
    return commission;
  });
}

function changed(ctx: ProgramCtx, before: Commission, changes: Partial<ChangeableCommission>): Commission {
  return { ...before, ...changes, updated_at: nextStamp(before.updated_at, ctx.now) };
}

/** One compare-and-set over all the rows of a bulk change: all of them or, where one was changed meanwhile, none. */
function bulkUpdate(ctx: ProgramCtx, changes: { before: Commission; after: Commission }[]): Write {
  const rows = changes.map(({ before, after }) => ({
    id: before.id,
    was: before.updated_at,
    status: after.status,
    approved_at: after.approved_at,
    rejected_reason: after.rejected_reason,
    updated_at: after.updated_at,
  }));
  return {
    statement: ctx.db.run(sql`update commissions set status = j.value ->> 'status',
        approved_at = j.value ->> 'approved_at', rejected_reason = j.value ->> 'rejected_reason',
        updated_at = j.value ->> 'updated_at'
      from json_each(${JSON.stringify(rows)}) j
      where commissions.id = j.value ->> 'id' and ${alsoOfProgram(ctx, commissions.program_id)}
        and commissions.updated_at = j.value ->> 'was' and commissions.payout_id is null`),
    expect: rows.length,
  };
}

function changedMeanwhile(now: { status: CommissionStatus }): AppError {
  return new AppError("invalid_transition", `The commission became ${now.status} meanwhile.`);
}

function owned(ctx: ProgramCtx, id: string) {
  return and(eq(commissions.id, id), sql`${commissions.program_id} = ${ctx.programId}`);
}
