import {
  add,
  addUp,
  larger,
  negate,
  NOTHING,
  percentageOf,
  smaller,
  subtract,
  type Cents,
  type Percent,
} from "./money.ts";

export const COMMISSION_STATUSES = ["pending", "approved", "paid", "rejected"] as const;
export type CommissionStatus = (typeof COMMISSION_STATUSES)[number];

export const COMMISSION_KINDS = ["sale", "clawback", "manual", "lead"] as const;
export type CommissionKind = (typeof COMMISSION_KINDS)[number];

/** True for a commission that a payment or a lead earned itself: a partner has at most one for each. */
export function isEarned({ kind }: { kind: CommissionKind }): boolean {
  return kind === "sale" || kind === "lead";
}

/** Reasons to hold a commission for review, the gravest first: the first that applies is shown. */
export const REVIEW_REASONS = [
  "disputed",
  "possible_duplicate",
  "self_referral",
  "mostly_refunded",
  "subscription_canceled",
] as const;
export type ReviewReason = (typeof REVIEW_REASONS)[number];

/** The review columns of a commission: the reasons that hold it, and the dismissed ones. */
export interface ReviewState {
  flagged: boolean;
  review_reason: string | null;
  /** Every current reason, comma-separated: the gravest first, the owner's own flag (`manual`) last. */
  review_reasons: string;
  /** Reasons that the owner dismissed, comma-separated: they do not flag again. */
  dismissed_reasons: string;
}

/** Every reason that currently flags a commission, the gravest first. */
export function currentReasons({ review_reasons }: Pick<ReviewState, "review_reasons">): string[] {
  return review_reasons.split(",").filter(Boolean);
}

/** The review columns by the facts' reasons: dismissed ones stay so, and the owner's flag stays until removed. */
export function mergeReview(before: Omit<ReviewState, "flagged">, reasons: readonly ReviewReason[]) {
  const dismissed = before.dismissed_reasons.split(",");
  const manual = currentReasons(before).filter((reason) => reason === "manual");
  return reviewColumnsOf([...reasons.filter((reason) => !dismissed.includes(reason)), ...manual]);
}

export function reviewColumnsOf(reasons: readonly string[]): Omit<ReviewState, "dismissed_reasons"> {
  return { flagged: reasons.length > 0, review_reason: reasons[0] ?? null, review_reasons: reasons.join(",") };
}

/** The result of a rule: a percentage of the payment, or an amount. */
export type Action =
  | { action_type: "percentage"; action_value: Percent }
  | { action_type: "flat"; action_value: Cents };

/** The rule that decided a commission, stored with it so that later refunds use the same rule. */
export type Rate = { source: "flow" | "partner" | "group" | "program" | "manual" } & Action;

/** Status changes that the owner may make; only a payout sets `paid` (COM-1). */
const TRANSITIONS: Record<CommissionStatus, readonly CommissionStatus[]> = {
  pending: ["approved", "rejected"],
  approved: ["rejected"],
  rejected: ["pending"],
  paid: [],
};

export function canBecome(from: CommissionStatus, to: CommissionStatus): boolean {
  return TRANSITIONS[from].includes(to);
}

/**
 * The amount a rule gives for a payment, in smallest units: the percentage of the base less its adjustments, rounded
 * half up; a flat amount is unchanged unless the payment is fully refunded, then 0 (PAY-7).
 */
export function amountFor(rate: Rate, base_cents: Cents, adjusted_cents: Cents): Cents {
  const rest = larger(subtract(base_cents, adjusted_cents), NOTHING);
  if (rate.action_type === "flat") return rest > 0 ? rate.action_value : NOTHING;
  return percentageOf(rest, rate.action_value);
}

/** The days of a commission's hold, and whose they are (COM-6). */
export interface Hold {
  source: "flow" | "group" | "program";
  days: number;
}

interface HeldFrom {
  created_at: string;
  /** Empty for a commission without a payment. */
  seen_at: string;
}

/**
 * The end of a commission's hold (COM-6): ISO 8601; null without one. The hold begins when the payment was made, or when
 * it was first seen if that is later, because the reporter of a sale chooses its date.
 */
export function holdUntil({ created_at, seen_at }: HeldFrom, days: number | null): string | null {
  if (days === null) return null;
  const began_at = seen_at > created_at ? seen_at : created_at;
  return new Date(Date.parse(began_at) + days * 86_400_000).toISOString();
}

/** The columns of a commission row that the ledger needs. */
export interface LedgerRow {
  id: string;
  partner_id: string;
  kind: CommissionKind;
  status: CommissionStatus;
  payout_id: string | null;
  amount_cents: Cents;
  currency: string;
}

/** The target for a payment's rows: this partner has earned this amount, and every other partner 0. */
export interface Desired {
  partner_id: string;
  amount_cents: Cents;
}

export interface RowPlan {
  /** Open sale rows that stay. */
  sales: { id: string; amount_cents: Cents }[];
  /** Open rows to delete: they would not exist if all facts had arrived first. */
  withdrawn: string[];
  /** A new sale row is needed for the desired partner. */
  insert_sale: boolean;
  /** Open clawback rows whose amount changes. */
  clawbacks: { id: string; amount_cents: Cents }[];
  /** Differences on rows that may no longer be edited, to be carried by new clawback rows. */
  insert_clawbacks: { partner_id: string; amount_cents: Cents; currency: string; source_commission_id: string }[];
}

/**
 * Plans how the rows of one payment, in its `currency`, become `desired`. A row that is paid or in a payout is never
 * edited. For each partner the rows that count afterwards, all but the rejected ones, sum to `sumDue`. A row never
 * changes its partner: if the payment turns out to belong to another partner, the open rows are deleted and the other
 * partner gets a new one.
 */
export function planRows(rows: readonly LedgerRow[], desired: Desired | null, currency: string): RowPlan {
  const plan: RowPlan = { sales: [], withdrawn: [], insert_sale: false, clawbacks: [], insert_clawbacks: [] };
  const byPartner = Map.groupBy(rows, (row) => row.partner_id);
  if (desired && !byPartner.has(desired.partner_id)) plan.insert_sale = true;
  for (const [partner_id, own] of byPartner) {
    planPartner(plan, own, desired?.partner_id === partner_id ? desired.amount_cents : null, currency);
  }
  return plan;
}

/**
 * Plans one partner's rows, each currency separately: if the payment turns out to be in another currency than the one
 * paid out, the old amount is taken back in its currency and the new one given in the other. An open sale follows its
 * payment.
 */
function planPartner(plan: RowPlan, own: readonly LedgerRow[], target: Cents | null, currency: string): void {
  const locked = own.filter(isLocked);
  const source = locked.find(isEarned);
  const openSales = own.filter((row) => isOpen(row) && isEarned(row));
  const others = Map.groupBy(
    own.filter((row) => !openSales.includes(row)),
    (row) => row.currency,
  );
  const about = { source, anchor: source ?? locked[0] };
  planCurrency(plan, [...openSales, ...(others.get(currency) ?? [])], { ...about, target, currency });
  others.delete(currency);
  for (const [other, rows] of others) planCurrency(plan, rows, { ...about, target: null, currency: other });
}

interface PartnerPlan {
  /** Null if the partner is owed no amount. */
  target: Cents | null;
  currency: string;
  /** The sale that stays because it may not be edited. */
  source: LedgerRow | undefined;
  /** The row that a difference names if there is no sale. */
  anchor: LedgerRow | undefined;
}

/**
 * Keeps locked rows of a currency; open ones make up `sumDue`. `anchor` covers all: was the partner given any amount?
 */
function planCurrency(
  plan: RowPlan,
  own: readonly LedgerRow[],
  { target, currency, source, anchor }: PartnerPlan,
): void {
  const locked = own.filter(isLocked);
  const open = own.filter(isOpen);
  const openSales = open.filter(isEarned);
  const [carrier, ...spare] = open.filter((row) => row.kind === "clawback");
  const kept = !source && (target !== null || anchor) ? chooseKeptSale(openSales) : undefined;
  // A waiver has no effect if there is no locked amount to forgive, or no grant to deny.
  const isIdle = (row: LedgerRow) => (row.amount_cents < 0 ? locked.length === 0 : !anchor);
  const idle = own.filter((row) => isWaived(row) && isIdle(row));
  const waived = own.filter((row) => isWaived(row) && !isIdle(row));
  const due = kept?.status === "rejected" ? null : target;
  const missing = subtract(sumDue(locked, waived, due), sumOf(locked));
  plan.withdrawn.push(...[...openSales.filter((row) => row !== kept), ...spare, ...idle].map((row) => row.id));
  if (kept) plan.sales.push({ id: kept.id, amount_cents: kept.status === "rejected" ? (target ?? NOTHING) : missing });
  const carried = kept && kept.status !== "rejected" ? NOTHING : missing;
  const of = source ?? kept ?? anchor;
  if (carried === NOTHING || !of) {
    if (carrier) plan.withdrawn.push(carrier.id);
  } else if (carrier) plan.clawbacks.push({ id: carrier.id, amount_cents: carried });
  else {
    const { partner_id, id: source_commission_id } = of;
    plan.insert_clawbacks.push({ partner_id, amount_cents: carried, currency, source_commission_id });
  }
}

/** The sale that stays if several payments are one: one rejection of two means that it is earned once. */
function chooseKeptSale(openSales: readonly LedgerRow[]): LedgerRow | undefined {
  const of = (status: CommissionStatus) => openSales.find((row) => row.status === status);
  return of("approved") ?? of("pending") ?? openSales[0];
}

/**
 * The sum to which a partner's rows of one payment and currency must come: the target (null counts as 0, for example if
 * the owner rejected the sale), plus the amounts that the owner forgave, as far as they were given, less the amounts
 * that the owner denied. Never below 0: money that was never paid is never owed back.
 */
function sumDue(locked: readonly LedgerRow[], waived: readonly LedgerRow[], target: Cents | null): Cents {
  const forgiven = negate(sumOf(waived.filter((row) => row.amount_cents < 0)));
  const denied = sumOf(waived.filter((row) => row.amount_cents > 0));
  const due = target === null ? NOTHING : larger(subtract(target, denied), NOTHING);
  return larger(due, smaller(add(due, forgiven), sumOf(locked)));
}

function sumOf(rows: readonly LedgerRow[]): Cents {
  return addUp(rows.map((row) => row.amount_cents));
}

/** True if the row may not be edited: it is paid, or in a payout. */
export function isLocked(row: LedgerRow): boolean {
  return row.status === "paid" || row.payout_id !== null;
}

/** A difference that the owner rejected: neither it nor the amount it would have moved counts. */
function isWaived(row: LedgerRow): boolean {
  return row.kind === "clawback" && row.status === "rejected" && !isLocked(row);
}

/** True while the ledger may edit the row in place. */
export function isOpen(row: LedgerRow): boolean {
  return !isLocked(row) && !isWaived(row);
}
