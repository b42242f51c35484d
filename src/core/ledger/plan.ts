import { and, eq, isNull, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { commissions, payments } from "../../db/schema.ts";
import { holdUntil, isEarned, isLocked, planRows, mergeReview, type ReviewState } from "../../domain/commission.ts";
import { resultOfDecisions } from "../../domain/decision.ts";
import { NOTHING, type Cents } from "../../domain/money.ts";
import type { Decision, Outcome } from "../../domain/payment.ts";
import { UNPAID_SEEN } from "../../domain/rules.ts";
import { newId } from "../../lib/id.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import type { Occurrence, Write } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import type { Commission, Payment } from "../kernel/rows.ts";
import { commissionPayload, viewCommissionData } from "../kernel/views.ts";
import { askLines } from "./ask-lines.ts";
import { markLater } from "./counted-payments.ts";
import { firstSeen } from "./rules.ts";
import type { LedgerState } from "./state.ts";

/** A commission after a change, which names its audit event. */
export interface ChangedCommission extends Commission {
  event_id: string;
}

/** `commission.created` with its outbound event (HOOK-15). */
export function commissionCreated(commission: ChangedCommission): Occurrence {
  return { type: "commission.created", id: commission.event_id, ...toldOf("commission.created", commission) };
}

/** `commission.updated` with its outbound event. */
export function commissionChanged(before: Commission, after: ChangedCommission) {
  const changes = changesOf("commission", before, after);
  return { type: "commission.updated" as const, id: after.event_id, changes, ...toldOf("commission.updated", after) };
}

function toldOf<E extends "commission.created" | "commission.updated">(event: E, commission: Commission) {
  return { payload: commissionPayload(commission), outbound: { event, data: viewCommissionData(commission) } };
}

/** The writes and occurrences that match a payment's ledger to its decision. `keepsRows` leaves commissions alone. */
export function planSettlement(
  ctx: ProgramCtx,
  state: LedgerState,
  decision: Decision | null,
  keepsRows = false,
): { outcome: Outcome | null; writes: Write[]; occurrences: Occurrence[] } {
  const [payment, ...merged] = state.payments;
  if (!decision) return { outcome: payment.outcome, writes: [], occurrences: [] };
  const after = { ...settledPayment(payment, decision), rules_seen: seenAfter(state, decision) };
  const rows: Planned = keepsRows ? { writes: [], occurrences: [] } : planCommissions(ctx, state, decision, after);
  const isSettled =
    state.payments.every((row) => row.settled_revision === row.facts_revision) &&
    rows.writes.length === 0 &&
    merged.every((row) => row.outcome === "merged") &&
    JSON.stringify(comparable(payment)) === JSON.stringify(comparable(after));
  if (isSettled) return { outcome: decision.outcome, writes: [], occurrences: [] };
  const guards = [
    guardedUpdate(ctx, payment, after),
    ...merged.map((row) =>
      guardedUpdate(ctx, row, { ...after, id: row.id, outcome: "merged", partner_id: null, ref: null, decision: null }),
    ),
  ];
  // After the payment's own rows: they are settled by then, and not marked again.
  const later = markLater(ctx, state, [
    { before: payment, after },
    ...merged.map((row) => ({ before: row, after: { ...row, outcome: "merged" as const } })),
  ]);
  return {
    outcome: decision.outcome,
    writes: [...guards, ...rows.writes, ...later, ...askLines(ctx, state, decision)],
    occurrences: rows.occurrences,
  };
}

/**
 * The compare-and-set of settling, which increments `facts_revision`: of two only one commits, and never one with old facts.
 */
function guardedUpdate(ctx: ProgramCtx, before: Payment, after: Payment): Write {
  const revision = before.facts_revision + 1;
  return {
    statement: ctx.db
      .update(payments)
      .set({
        ...changedOf(before, after),
        facts_revision: revision,
        settled_revision: revision,
        updated_at: nextStamp(before.updated_at, ctx.now),
      })
      .where(and(eq(payments.id, before.id), eq(payments.facts_revision, before.facts_revision))),
    expect: 1,
  };
}

/** The newest change of rules that may decide it. An unpaid payment has `UNPAID_SEEN`. */
function seenAfter(state: LedgerState, { state: { paid } }: Decision): number {
  return paid ? firstSeen(state) : UNPAID_SEEN;
}

function settledPayment(payment: Payment, { state, outcome, adjusted_cents, record }: Decision): Payment {
  return {
    ...payment,
    outcome,
    partner_id: record.partner_id,
    ref: record.ref,
    currency: state.currency,
    txn_amount_cents: state.base_cents,
    gross_cents: state.gross_cents,
    adjusted_cents,
    customer_email: state.customer_email,
    customer_id: state.customer_id,
    subscription_id: state.subscription_id,
    decision: record,
    code_id: record.code_id ?? null,
    created_at: state.occurred_at,
  };
}

/** The columns of a payment row that settling decides. */
function comparable(payment: Payment) {
  const { outcome, partner_id, ref, currency, txn_amount_cents, gross_cents, adjusted_cents } = payment;
  const { customer_email, customer_id, subscription_id, decision, code_id, created_at, rules_seen } = payment;
  return {
    outcome,
    partner_id,
    ref,
    currency,
    txn_amount_cents,
    gross_cents,
    adjusted_cents,
    customer_email,
    customer_id,
    subscription_id,
    decision,
    code_id,
    created_at,
    rules_seen,
  };
}

/** The changed columns: setting a column writes to each of its indexes, even if its value is the same. */
function changedOf(before: Payment, after: Payment): Partial<Payment> {
  const said = Object.entries(comparable(after));
  const isNew = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(before[name as keyof Payment]);
  return Object.fromEntries(said.filter(isNew));
}

interface Planned {
  writes: Write[];
  occurrences: Occurrence[];
}

/** The input for planning the rows of a payment. */
interface Settling {
  ctx: ProgramCtx;
  state: LedgerState;
  decision: Decision;
  payment: Payment;
  /** The commission's partner and amount; null without a commission. */
  desired: { partner_id: string; amount_cents: Cents } | null;
}

function planCommissions(ctx: ProgramCtx, state: LedgerState, decision: Decision, payment: Payment): Planned {
  const { partner_id, amount_cents } = decision.record;
  const isEarned = decision.outcome === "commission" && partner_id !== null && amount_cents !== null;
  const settling: Settling = { ctx, state, decision, payment, desired: isEarned ? { partner_id, amount_cents } : null };
  const plan = planRows(state.commissions, settling.desired, payment.currency);
  const withdrawn = state.commissions.filter(({ id }) => plan.withdrawn.includes(id));
  const planned = [
    // Withdrawn rows go first: they make room in the unique index for one that moves here from a joined payment.
    ...withdrawn.map((row) => withdrawRow(settling, row)),
    ...state.commissions.flatMap((row) => changesOfRow(settling, plan, row)),
    ...(plan.insert_sale ? newSale(settling) : []),
    ...plan.insert_clawbacks.flatMap((clawback) => newClawback(settling, clawback)),
  ];
  return {
    writes: planned.flatMap(({ writes }) => writes),
    occurrences: planned.flatMap(({ occurrences }) => occurrences),
  };
}

type RowsPlan = ReturnType<typeof planRows>;

/** Columns that every row of the payment shares with it. */
function sharedOf(payment: Payment) {
  const { currency, provider, provider_transaction_id, subscription_id, customer_email } = payment;
  return { payment_id: payment.id, currency, provider, provider_transaction_id, subscription_id, customer_email };
}

/** A difference in the partner's favor waits while the money is disputed; one against the partner does not. */
function held({ decision }: Settling, row: Omit<ReviewState, "flagged">, amount_cents: Cents) {
  const disputed = decision.review_reasons.filter((reason) => reason === "disputed");
  return mergeReview(row, amount_cents > 0 ? disputed : []);
}

function changesOfRow(settling: Settling, plan: RowsPlan, row: Commission): Planned[] {
  const { decision, payment } = settling;
  const { record } = decision;
  const planned: Planned[] = [];
  // The decision is about the payment's partner: a sale of a former partner keeps its rule and is not flagged (PAY-11).
  const isOwn = row.partner_id === record.partner_id;
  const reasons = isOwn ? decision.review_reasons : [];
  const rule = isOwn ? record : null;
  const sale = plan.sales.find(({ id }) => id === row.id);
  if (sale) {
    const patch = {
      ...sharedOf(payment),
      amount_cents: sale.amount_cents,
      txn_amount_cents: payment.txn_amount_cents,
      base_cents: rule?.rate ? (rule.base_cents ?? null) : row.base_cents,
      flow_id: rule?.rate ? rule.flow_id : row.flow_id,
      rate: rule?.rate ?? row.rate,
      ...datesOf(settling),
      ...(rule?.hold ? { hold_until: holdUntil(datesOf(settling), rule.hold.days) } : {}),
      ...mergeReview(row, reasons),
    };
    planned.push(changeRow(settling, row, patch));
  } else if (isInPayout(row)) {
    // A payout pays its commissions unchanged; the flag shows later reasons, and applies if it is canceled.
    planned.push(changeRow(settling, row, mergeReview(row, reasons)));
  }
  if (row.kind === "clawback" && !plan.withdrawn.includes(row.id)) {
    const clawback = plan.clawbacks.find(({ id }) => id === row.id);
    // A rejected one needs no review; if reopened, it is settled again.
    const idle = isLocked(row) ? {} : mergeReview(row, []);
    const patch = clawback
      ? { amount_cents: clawback.amount_cents, ...held(settling, row, clawback.amount_cents) }
      : idle;
    // A decision about the sale finds it by its payment (`decisions.ts`), also if two payments turned out to be one.
    planned.push(changeRow(settling, row, { payment_id: payment.id, ...patch }));
  }
  return planned;
}

function changeRow({ ctx }: Settling, row: Commission, patch: Partial<Commission>): Planned {
  const after: Commission = { ...row, ...patch };
  if (JSON.stringify(row) === JSON.stringify(after)) return { writes: [], occurrences: [] };
  const stamp = { updated_at: nextStamp(row.updated_at, ctx.now) };
  const news = isNews(row, after) ? { ...stamp, event_id: newId("event", ctx.now) } : null;
  const statement = ctx.db
    .update(commissions)
    .set({ ...patch, ...(news ?? stamp) })
    .where(
      and(
        eq(commissions.id, row.id),
        sql`${commissions.status} = ${literal(row.status)}`,
        eq(commissions.updated_at, row.updated_at),
        row.payout_id === null ? isNull(commissions.payout_id) : eq(commissions.payout_id, row.payout_id),
      ),
    );
  return {
    writes: [{ statement, expect: 1 }],
    occurrences: news ? [commissionChanged(row, { ...after, ...news })] : [],
  };
}

/**
 * Late facts removed the reason of an unpaid commission: in any order there is no row. A rejection is logged and sent.
 */
function withdrawRow({ ctx, decision }: Settling, row: Commission): Planned {
  // The row's amount leaves the journal as of now; the row that is then deleted is worth 0.
  const stamp = { updated_at: nextStamp(row.updated_at, ctx.now), event_id: newId("event", ctx.now) };
  const statement = ctx.db
    .update(commissions)
    .set({ amount_cents: NOTHING, ...stamp })
    .where(and(eq(commissions.id, row.id), eq(commissions.updated_at, row.updated_at), isNull(commissions.payout_id)));
  const gone = { status: "rejected" as const, amount_cents: NOTHING, rejected_reason: decision.outcome };
  const change = commissionChanged(row, { ...row, ...gone, event_id: stamp.event_id });
  return {
    writes: [
      { statement, expect: 1 },
      { statement: ctx.db.delete(commissions).where(eq(commissions.id, row.id)), expect: 1 },
    ],
    occurrences: [{ ...change, payload: { ...change.payload, withdrawn: true as const, reason: decision.outcome } }],
  };
}

function addRow(ctx: ProgramCtx, commission: ChangedCommission): Planned {
  return {
    writes: [{ statement: ctx.db.insert(commissions).values(commission) }],
    occurrences: [commissionCreated(commission)],
  };
}

function newSale(settling: Settling): Planned[] {
  const { ctx, state, decision, payment, desired } = settling;
  const { rate, flow_id, hold } = decision.record;
  if (!desired || !rate) return [];
  const decisions = state.decisions.filter(({ partner_id }) => partner_id === desired.partner_id);
  const judged = resultOfDecisions(decisions);
  return [
    addRow(ctx, {
      ...blank(ctx, newId("commission", Date.parse(payment.created_at))),
      ...sharedOf(payment),
      ...judged,
      ...mergeReview(judged, decision.review_reasons),
      ...desired,
      flow_id,
      kind: decision.state.event === "lead_created" ? "lead" : "sale",
      txn_amount_cents: payment.txn_amount_cents,
      base_cents: decision.record.base_cents ?? null,
      rate,
      ...datesOf(settling),
      hold_until: holdUntil(datesOf(settling), hold?.days ?? null),
      // Later decisions are dated after this, and so after the recorded ones.
      updated_at: iso(Math.max(ctx.now, ...decisions.map((one) => Date.parse(one.created_at)))),
    }),
  ];
}

function newClawback(settling: Settling, clawback: RowsPlan["insert_clawbacks"][number]): Planned[] {
  const { ctx, state, payment } = settling;
  const source = state.commissions.find(({ id }) => id === clawback.source_commission_id);
  if (!source) return [];
  const row = blank(ctx, newId("commission", ctx.now));
  return [
    addRow(ctx, {
      ...row,
      ...sharedOf(payment),
      ...clawback,
      ...held(settling, row, clawback.amount_cents),
      flow_id: source.flow_id,
      kind: "clawback",
      // Approved from the start, so that the partner's next payout includes it (COM-4).
      status: "approved",
      approved_at: iso(ctx.now),
      txn_amount_cents: NOTHING,
      rate: source.rate,
    }),
  ];
}

/** A sale in a payout. */
function isInPayout(row: Commission): boolean {
  return isEarned(row) && row.status !== "paid" && row.payout_id !== null;
}

/** A change that needs an event: the amount, the partner, the rule or the flag; not a name that arrived late. */
function isNews(before: Commission, after: Commission): boolean {
  const published = ({
    partner_id,
    amount_cents,
    txn_amount_cents,
    base_cents,
    currency,
    status,
    flagged,
    review_reason,
  }: Commission) =>
    JSON.stringify([partner_id, amount_cents, txn_amount_cents, base_cents, currency, status, flagged, review_reason]);
  return published(before) !== published(after);
}

function blank(ctx: ProgramCtx, id: string) {
  return {
    id,
    program_id: ctx.program.id,
    payout_id: null,
    source_commission_id: null,
    flagged: false,
    review_reason: null,
    review_reasons: "",
    dismissed_reasons: "",
    rejected_reason: null,
    note: null,
    base_cents: null,
    event_id: newId("event", ctx.now),
    created_at: iso(ctx.now),
    seen_at: "",
    hold_until: null,
    approved_at: null,
    paid_at: null,
    updated_at: iso(ctx.now),
  };
}

/**
 * When the payment was made, and when the service first saw it: the earliest of its rows, the same in any order of its
 * events.
 */
function datesOf({ state, payment }: Settling) {
  const [seen_at = ""] = state.payments.map((row) => row.seen_at).toSorted();
  return { created_at: payment.created_at, seen_at };
}
