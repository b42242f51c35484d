import { and, eq, isNull, sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows } from "../../db/rows.ts";
import { providerEvents } from "../../db/schema.ts";
import { codeKey } from "../../domain/code.ts";
import { isEarned } from "../../domain/commission.ts";
import type { Fact } from "../../domain/fact.ts";
import { slugKey, type PartnerStatus } from "../../domain/partner.ts";
import {
  CLAIMED_ELSEWHERE,
  decidePayment,
  refuseTooLarge,
  type Decision,
  type EventOutcome,
  type Outcome,
  type PaymentDecision,
} from "../../domain/payment.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { isUnavailable } from "../../lib/errors.ts";
import { OWNER_PROVIDER } from "../../providers/registry.ts";
import { newId } from "../../lib/id.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { iso } from "../../lib/time.ts";
import type { ProviderEvent } from "../../providers/provider.ts";
import { commit, type CommitPlan, type Occurrence, type Write } from "../kernel/commit.ts";
import { BalanceTooLarge, CommitConflict } from "../kernel/conflict.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { OwnerMail } from "../kernel/notices.ts";
import { MAX_RACES, refuseWhere } from "../kernel/races.ts";
import type { Commission, Payment, Program } from "../kernel/rows.ts";
import { CODE_SOURCE, OF_UNKNOWN_CODES, unknownCodes } from "../kernel/seen-codes.ts";
import { PAYMENT_KEY, type PaymentKey, type Recorded } from "./facts.ts";
import { planSettlement } from "./plan.ts";
import { firstSeen, parseRules, rulesOf, seenOf, type KnownRules } from "./rules.ts";
import { readState, type LedgerState } from "./state.ts";

/** Why a test event is not used; stored with it. */
export const TEST_MODE = "test_mode";

export type OpenEvent = Pick<ProviderEvent, "event_id" | "event_type" | "facts" | "ignored"> & Pick<Recorded, "found">;

/** A vendor event to be closed by its audit event, which is written once, by the first process to settle it. */
export interface Closing {
  provider: ProviderName;
  event: OpenEvent;
  /** The number of payments that it left unsettled. */
  concerned: number;
}

/** An event's outcome, given the outcome of its payment. */
export function eventOutcome({ event, concerned }: Closing, outcome: Outcome | null): EventOutcome {
  if (event.ignored === TEST_MODE) return TEST_MODE;
  const has = (kind: Fact["kind"]) => event.facts.some((fact) => fact.kind === kind);
  if (has("payment")) return outcome ?? "unpaid";
  if (has("lead") && outcome !== null) return leadOutcome(outcome);
  if (has("elsewhere")) return CLAIMED_ELSEWHERE;
  const isOpen = event.facts.some((fact) => fact.kind === "adjustment" && fact.open);
  if (isOpen || has("cancellation")) return concerned > 0 ? "flagged" : "waiting";
  if (has("adjustment")) return concerned > 0 ? "adjusted" : "waiting";
  if (has("attribution") || has("code_use") || has("customer")) return event.found ? "remembered" : "unknown_ref";
  return has("link") || has("code") ? "linked" : "ignored";
}

/** A lead whose reference leads to a partner is stored, even if an erasure left no address for it. */
function leadOutcome(outcome: Outcome): EventOutcome {
  return outcome === "commission" || outcome === "unknown_ref" ? outcome : "remembered";
}

/** The closing as a part of a commit, which fails if another process has closed the event. */
export function planClosing(ctx: ProgramCtx, { provider, event }: Closing, outcome: EventOutcome): CommitPlan {
  const id = newId("event", ctx.now);
  return {
    writes: [
      {
        statement: ctx.db
          .update(providerEvents)
          .set({ outcome, audit_event_id: id })
          .where(
            and(
              eq(providerEvents.program_id, ctx.program.id),
              eq(providerEvents.provider, provider),
              eq(providerEvents.event_id, event.event_id),
              isNull(providerEvents.audit_event_id),
            ),
          ),
        expect: 1,
      },
    ],
    occurrences: [
      {
        id,
        type: `webhook.${provider}`,
        payload: { event_id: event.event_id, event_type: event.event_type, outcome },
      },
    ],
  };
}

/**
 * The most payments that are settled in one request; a job settles the others within a minute. Each takes 7 to 9
 * statements, so they use 450 of D1's 1,000 an invocation. The largest request, an import of 5,000 customers, sends 400
 * of its own, and repetitions after lost races fit in as well.
 */
export const MAX_INLINE = 50;

export interface SettleOptions {
  closing?: Closing | undefined;
  /** The owner requests it: a refused `partner_deactivated` payment is decided by the present status (PART-4). */
  isRequested?: boolean;
  /** The payment as it was read together with the event, which was open then. */
  known?: LedgerState | null | undefined;
}

/**
 * Makes the ledger of one payment match the set of its facts, and commits the difference: the payment with its trace,
 * its commission rows, their audit events and deliveries. Idempotent and independent of order: any process may run it,
 * at any time, concurrently (architecture, invariant 2). If its commissions would exceed the limit of a balance, they
 * do not change and the outcome is `too_large`, until it is settled again (PAY-22). Returns the payment's outcome.
 */
export async function settle(
  ctx: ProgramCtx,
  key: PaymentKey,
  { closing, isRequested = false, known }: SettleOptions = {},
): Promise<Outcome | null> {
  let isTooLarge = false;
  for (let attempt = 0; ; attempt++) {
    const { state, isClosed } =
      attempt === 0 && known ? { state: known, isClosed: false } : await readState(ctx, key, closing);
    if (!state) return null;
    const decided = decide(ctx.program, state, isRequested);
    const decision = isTooLarge && decided ? refuseTooLarge(decided) : decided;
    const { outcome, writes, occurrences } = planSettlement(ctx, state, decision, isTooLarge);
    const closed = isClosed || !closing ? undefined : planClosing(ctx, closing, eventOutcome(closing, outcome));
    if (writes.length === 0 && !closed) return outcome;
    const guards = writes.length > 0 ? guardsOf(ctx, state, decision) : [];
    try {
      await commit(ctx, {
        writes: [...guards, ...writes, ...(closed?.writes ?? [])],
        occurrences: [...(closed?.occurrences ?? []), ...occurrences],
        ownerMails: writes.length > 0 ? unknownCodeMails(ctx, state.payments[0], decision) : [],
      });
      return outcome;
    } catch (error) {
      if (error instanceof BalanceTooLarge && !isTooLarge) isTooLarge = true;
      else if (!(error instanceof CommitConflict) || attempt >= MAX_RACES) throw error;
    }
  }
}

export interface Tried {
  outcome: Outcome | null;
  failure?: { error: unknown };
}

/** Settles one of several: a defect in one delays no other, and is left to the job. @throws if the storage is away */
export async function trySettle(ctx: ProgramCtx, key: PaymentKey, options: SettleOptions = {}): Promise<Tried> {
  try {
    return { outcome: await settle(ctx, key, options) };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    const [{ id: program_id }, { id: payment_id }, reason] = [ctx.program, key, reasonOf(error)];
    logLine("error", { what: "a payment is left unsettled", program_id, payment_id, reason });
    return { outcome: null, failure: { error } };
  }
}

/** Settles several individually, at most `MAX_INLINE`; returns the first failure. @throws if the storage is away */
export async function settleEach(ctx: ProgramCtx, keys: readonly PaymentKey[]): Promise<Tried["failure"]> {
  let first: Tried["failure"];
  for (const key of keys.slice(0, MAX_INLINE)) {
    const { failure } = await trySettle(ctx, key);
    first ??= failure;
  }
  return first;
}

/** A change is answered once it is settled (COM-8), outside the part that is repeated after a lost race. */
export function throwFailure(failure: Tried["failure"]): void {
  if (failure) throw failure.error;
}

/**
 * The settling is valid only if its inputs are unchanged, apart from the facts, which its writes check themselves:
 * every commission of the payment, because canceling a payout or a rejection changes the target of the others; and the
 * partner that the payment will wait for, because turning active meanwhile would not wake a payment that does not wait
 * yet.
 */
function guardsOf(ctx: ProgramCtx, { commissions: rows, partners }: LedgerState, decision: Decision | null): Write[] {
  const guards: Write[] = [];
  if (rows.length > 0) {
    const read = JSON.stringify(rows.map(({ id, updated_at }) => [id, updated_at]));
    guards.push(
      refuseWhere(
        ctx,
        sql`exists (select 1 from json_each(${read}) r left join commissions c on c.id = r.value ->> 0
          where c.updated_at is not r.value ->> 1)`,
      ),
    );
  }
  if (decision?.outcome === "partner_not_active") {
    const { id, status } = partners.find((partner) => partner.id === decision.record.partner_id)!;
    guards.push(refuseWhere(ctx, sql`exists (select 1 from partners where id = ${id} and status <> ${status})`));
  }
  return guards;
}

/** The changes that settling a payment would make in its commissions. */
export interface Unsettled {
  /** The rows as they are. */
  rows: Commission[];
  /** The events that would be written about them. */
  occurrences: Occurrence[];
}

/** The changes of money that settling again would make; null if it would not, or if a settling is due. Does not write. */
export async function reviewSettled(ctx: ProgramCtx, key: PaymentKey): Promise<Unsettled | null> {
  const { state } = await readState(ctx, key);
  if (!state || state.payments.some((row) => row.settled_revision !== row.facts_revision)) return null;
  // The time at which `live_only` changed is not stored: the payment may have been settled with either value.
  const planned = [ctx.program.live_only, !ctx.program.live_only].map(
    (live_only) => planSettlement(ctx, state, decide({ ...ctx.program, live_only }, state, false)).occurrences,
  );
  if (planned.some((occurrences) => occurrences.length === 0)) return null;
  const [{ id }] = state.payments;
  const [isNext] = await ctx.read(
    ctx.db.all(sql`select 1 from rule_applications where program_id = ${ctx.program.id}
      and marked_id > ${id} limit 1`),
  );
  if (isNext.length > 0) return null;
  return { rows: state.commissions, occurrences: planned[0]! };
}

/**
 * The decision under a rule `changed` before the payment, as settling would make it; null without a payment. Writes
 * nothing. `payments_compared` is the number of a customer's payments that the changed rule compares.
 */
export async function decideAs(
  ctx: ProgramCtx,
  key: PaymentKey,
  changed: (state: LedgerState) => LedgerState,
  payments_compared = 0,
): Promise<Decision | null> {
  const { state } = await readState(ctx, key, undefined, payments_compared);
  if (!state) return null;
  const most = Math.max(state.payments_compared, payments_compared);
  return decide(ctx.program, changed({ ...state, payments_compared: most }), false);
}

/**
 * The slugs that led to no partner when the payment was decided: they may be the shop's own numbers, and a partner who
 * has the slug since gets the payment only at the owner's request (PAY-15). An unpaid payment is not decided. A
 * reference inserted by an erasure did lead to a partner.
 */
function nobodysIn({ payments: rows }: LedgerState): Set<string> {
  const tried = rows.flatMap(({ outcome, decision, erased_at }) => {
    if (decision === null || outcome === "unpaid") return [];
    const { candidates, partner_id, ref: led } = decision;
    const putIn = erased_at !== null && partner_id !== null ? led : null;
    const nobodys = candidates.filter((one) => one.partner_id === null && one.source !== "promotion_code");
    return nobodys.flatMap(({ ref }) => (ref === putIn ? [] : [ref]));
  });
  return new Set(tried.map(slugKey));
}

/** Settles the payments that waited for a partner to turn active; the sweep settles the rest. */
export async function settleWaiting(ctx: ProgramCtx, partner_id: string): Promise<void> {
  await settleUnsettled(ctx, sql`from payments where partner_id = ${partner_id}`);
}

/**
 * Settles the payments of the same customer that settling this one has marked, because flows compare their place among
 * the customer's payments; the job settles those beyond the limit of one request.
 */
export async function settleOfCustomer(ctx: ProgramCtx, { id }: PaymentKey): Promise<void> {
  if (ctx.program.payments_compared === 0) return;
  await settleUnsettled(
    ctx,
    // A backlog of other payments is not read.
    sql`from payments indexed by payments_unsettled where updated_at = ${iso(ctx.now)} and program_id = ${ctx.program.id}
      and exists (select 1 from payments own where own.id = ${id} and (own.customer_id = payments.customer_id
        or lower(own.customer_email) = lower(payments.customer_email)))`,
  );
}

/** How many payments a call may still settle: shared by its changes. */
export interface Room {
  payments: number;
}

/**
 * Settles the payments of commissions that this event's change left unsettled, as far as there is room; a job settles the
 * others. @throws the first failure, at the end
 */
export async function settleChanged(ctx: ProgramCtx, event_id: string | SQL, room: Room): Promise<void> {
  const from = sql`from payments indexed by payments_unsettled where program_id = ${ctx.program.id}
    and exists (select 1 from commissions c where c.payment_id = payments.id and c.event_id = ${event_id})`;
  throwFailure(await settleUnsettled(ctx, from, room));
}

/** Settles the unsettled of the selected payments (`from`: a FROM clause with condition). Returns the first failure. */
export async function settleUnsettled(
  ctx: ProgramCtx,
  from: SQL,
  room: Room = { payments: MAX_INLINE },
): Promise<Tried["failure"]> {
  if (room.payments === 0) return undefined;
  const [unsettled] = await ctx.read(
    selectRows(
      ctx.db,
      PAYMENT_KEY,
      sql`select id, provider, provider_transaction_id ${from} and settled_revision < facts_revision
      order by id limit ${literal(MAX_INLINE)}`,
    ),
  );
  const keys = unsettled.slice(0, room.payments);
  room.payments -= keys.length;
  return settleEach(ctx, keys);
}

function decide(program: Program, state: LedgerState, isRequested: boolean) {
  const [payment] = state.payments;
  const bySlug = new Map(state.partners.map((partner) => [partner.slug_key, partner]));
  const byId = new Map(state.partners.map((partner) => [partner.id, partner]));
  const known = { ...state, past: parseRules(state.past) };
  const byRef = (ref: string) => bySlug.get(slugKey(ref)) ?? null;
  const nobodys = isRequested ? new Set() : nobodysIn(state);
  const decided = state.payments.find((row) => row.decision !== null && row.outcome !== "merged") ?? payment;
  return decidePayment({
    provider: payment.provider,
    isReported: payment.provider === OWNER_PROVIDER.name,
    provider_transaction_id: payment.provider_transaction_id,
    live_only: program.live_only,
    facts: state.facts,
    counted: state.counted,
    payments_compared: state.payments_compared,
    twins: state.twins,
    leads: {
      byRef,
      byOwnRef: (ref) => {
        const partner = byRef(ref);
        return partner && nobodys.has(slugKey(ref)) && !state.granted.includes(partner.id) ? null : partner;
      },
      byId: (id) => byId.get(id) ?? null,
      codes: state.codes,
    },
    rulesOf: ({ occurred_at }) => rulesOf(known, { occurred_at, seen: firstSeen(state) }),
    previous: {
      outcome: decided.outcome,
      decision: decided.decision,
      rules: () => {
        const time = { occurred_at: decided.created_at, seen: seenOf(decided, state.newest) };
        return rulesOf(known, time, decided.decision?.applied ?? 0);
      },
    },
    isRequested,
    granted: state.granted,
    commissionedPartners: state.commissions.filter(isEarned).map((row) => row.partner_id),
    admittedAs: (id) => admittedAs(known, decided, id),
  });
}

/** The partner's status at the decision of each payment, also under the id that a merged one turned out to have. */
function admittedAs(
  state: Omit<LedgerState, "past"> & KnownRules,
  decided: Payment,
  partner_id: string,
): PartnerStatus[] {
  const own = state.commissions.filter((row) => isEarned(row) && row.partner_id === partner_id);
  return own.flatMap(({ payment_id }) => {
    const row = state.payments.find(({ id, outcome }) => id === payment_id && outcome !== "merged") ?? decided;
    const isRefused = row.outcome === "partner_deactivated" || row.outcome === "partner_not_active";
    if (isRefused && row.partner_id === partner_id) return [];
    const time = { occurred_at: row.created_at, seen: seenOf(row, state.newest) };
    return rulesOf(state, time).ofPartner(partner_id).status;
  });
}

/** E-mails about codes that a payment waits for from now on, unless it or another already waits. */
export function unknownCodeMails(ctx: ProgramCtx, before: Payment, decision: Decision | null): OwnerMail[] {
  const known = codesIn(before.outcome, before.decision);
  const codes = codesIn(decision?.outcome, decision?.record);
  // A code whose name becomes known is still the same one.
  if (codes.length <= known.length) return [];
  const others = sql`select lower(code) from (${unknownCodes(ctx.programId, sql`id <> ${before.id}`)})
    where +provider = ${before.provider}`;
  const fresh = JSON.stringify(codes.filter((code) => !known.includes(code)));
  return [{ kind: "codes_unknown", where: sql`exists (select value from json_each(${fresh}) except ${others})` }];
}

/** The `codeKey`s of unassigned codes. */
function codesIn(outcome: Outcome | null = null, decision: PaymentDecision | null = null): string[] {
  if (outcome === null || !OF_UNKNOWN_CODES.includes(outcome)) return [];
  return (decision?.candidates ?? []).flatMap(({ ref, source }) => (source === CODE_SOURCE ? [codeKey(ref)] : []));
}
