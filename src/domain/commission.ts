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

/** True of what a payment or a lead earned itself: of each there is one for a partner. */
export function isEarned({ kind }: { kind: CommissionKind }): boolean {
  return kind === "sale" || kind === "lead";
}

/** Why a commission waits for a person, the gravest first: the first that applies is the one shown. */
export const REVIEW_REASONS = [
  "disputed",
  "possible_duplicate",
  "self_referral",
  "mostly_refunded",
  "subscription_canceled",
] as const;
export type ReviewReason = (typeof REVIEW_REASONS)[number];

/** What says on a commission why it waits, and what the owner has said to that. */
export interface ReviewState {
  flagged: boolean;
  review_reason: string | null;
  /** All that flag it, the gravest first, the owner's own (`manual`) last; comma-separated. */
  review_reasons: string;
  /** What the owner has cleared, comma-separated: it does not flag again. */
  dismissed_reasons: string;
}

/** All that flags a commission, the gravest first. */
export function heldReasons({ review_reasons }: Pick<ReviewState, "review_reasons">): string[] {
  return review_reasons.split(",").filter(Boolean);
}

/** What follows from the facts' reasons: one that the owner cleared stays so, the owner's own flag stays until taken away. */
export function reviewed(before: Omit<ReviewState, "flagged">, reasons: readonly ReviewReason[]) {
  const dismissed = before.dismissed_reasons.split(",");
  const manual = heldReasons(before).filter((reason) => reason === "manual");
  return flaggedBy([...reasons.filter((reason) => !dismissed.includes(reason)), ...manual]);
}

/** The columns of a commission that these reasons flag. */
export function flaggedBy(reasons: readonly string[]): Omit<ReviewState, "dismissed_reasons"> {
  return { flagged: reasons.length > 0, review_reason: reasons[0] ?? null, review_reasons: reasons.join(",") };
}

/** What a rule gives: a percentage of the payment, or an amount. */
export type Action =
  | { action_type: "percentage"; action_value: Percent }
  | { action_type: "flat"; action_value: Cents };

/** The rule a commission was decided by, kept on it so that later refunds apply the same rule. */
export type Rate = { source: "flow" | "partner" | "program" | "manual" } & Action;

/** What may follow a status by the owner's hand; paying is the payout's business (COM-1). */
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
 * What a rule gives for a payment: the percentage of the base less its adjustments, half up; a flat amount stays unless
 * the payment is fully refunded, then 0 (PAY-7). Smallest units.
 */
export function amountFor(rate: Rate, base_cents: Cents, adjusted_cents: Cents): Cents {
  const rest = larger(subtract(base_cents, adjusted_cents), NOTHING);
  if (rate.action_type === "flat") return rest > 0 ? rate.action_value : NOTHING;
  return percentageOf(rest, rate.action_value);
}

/** When a hold that began at this instant has lasted so many days (COM-6): ISO 8601. */
export function endOfHold(began_at: string, auto_approve_days: number): string {
  return new Date(Date.parse(began_at) + auto_approve_days * 86_400_000).toISOString();
}

interface Held {
  status: CommissionStatus;
  flagged: boolean;
  created_at: string;
  seen_at: string;
}

/**
 * Until when a commission is on hold before it approves itself (COM-6): ISO 8601, null if time does not approve it. The hold
 * begins when the payment was made, or first seen if that is later: who reports a sale chooses its date.
 */
export function holdUntil(
  { status, flagged, created_at, seen_at }: Held,
  auto_approve_days: number | null,
): string | null {
  if (status !== "pending" || flagged || auto_approve_days === null) return null;
  return endOfHold(seen_at > created_at ? seen_at : created_at, auto_approve_days);
}

/** A commission row of a payment, as far as the ledger needs it. */
export interface LedgerRow {
  id: string;
  partner_id: string;
  kind: CommissionKind;
  status: CommissionStatus;
  payout_id: string | null;
  amount_cents: Cents;
  currency: string;
}

/** What the payment's rows must come to: this partner has earned this amount, everybody else nothing. */
export interface Desired {
  partner_id: string;
  amount_cents: Cents;
}

export interface RowPlan {
  /** Open sale rows that stay. */
  sales: { id: string; amount_cents: Cents }[];
  /** Open rows that have no ground any more: had all facts come first, they would not exist. */
  withdrawn: string[];
  /** A new sale row is needed for the desired partner. */
  insert_sale: boolean;
  /** Open clawback rows whose amount changes. */
  clawbacks: { id: string; amount_cents: Cents }[];
  /** Differences on rows that may not be edited any more, to be carried by new clawback rows. */
  insert_clawbacks: { partner_id: string; amount_cents: Cents; currency: string; source_commission_id: string }[];
}

/**
 * How the rows of one payment become `desired`, in the payment's `currency`. A row that is paid or in a payout is never
 * edited. For each partner the rows that count afterwards, which are those that are not rejected, sum to `worth`. A row
 * belongs to its partner: when the payment turns out to be another's, the open rows go and the other partner's begins as new.
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
 * One partner's rows, each currency separately: where the payment turns out to be in another than what was paid out, that is
 * taken back in its own, and given in the other. An open sale follows its payment.
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
  /** Null: nothing. */
  target: Cents | null;
  currency: string;
  /** The sale that stays because it may not be edited. */
  source: LedgerRow | undefined;
  /** What a difference is of, where there is no sale. */
  anchor: LedgerRow | undefined;
}

/**
 * The locked rows of a currency stay, the open ones make up what is missing to `worth`. Whether anything was given to the
 * partner at all is asked of every currency (`anchor`).
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
  const kept = !source && (target !== null || anchor) ? keptOf(openSales) : undefined;
  // Nothing is forgiven where nothing was given of the currency, and nothing denied where nothing was given.
  const isIdle = (row: LedgerRow) => (row.amount_cents < 0 ? locked.length === 0 : !anchor);
  const idle = own.filter((row) => isWaived(row) && isIdle(row));
  const waived = own.filter((row) => isWaived(row) && !isIdle(row));
  const due = kept?.status === "rejected" ? null : target;
  const missing = subtract(worth(locked, waived, due), sumOf(locked));
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

/**
 * The sale that stays, of several of which the payments turned out to be one: to reject one of two is to say that it is
 * earned once.
 */
function keptOf(openSales: readonly LedgerRow[]): LedgerRow | undefined {
  const of = (status: CommissionStatus) => openSales.find((row) => row.status === status);
  return of("approved") ?? of("pending") ?? openSales[0];
}

/**
 * What a partner's rows of one payment and currency must come to: the target (null: nothing, as where the owner rejected
 * the sale); with what the owner forgave, as far as it was given; without what the owner denied of what would be given.
 * Never below 0: money that was never paid is never owed back.
 */
function worth(locked: readonly LedgerRow[], waived: readonly LedgerRow[], target: Cents | null): Cents {
  const forgiven = negate(sumOf(waived.filter((row) => row.amount_cents < 0)));
  const denied = sumOf(waived.filter((row) => row.amount_cents > 0));
  const due = target === null ? NOTHING : larger(subtract(target, denied), NOTHING);
  return larger(due, smaller(add(due, forgiven), sumOf(locked)));
}

function sumOf(rows: readonly LedgerRow[]): Cents {
  return addUp(rows.map((row) => row.amount_cents));
}

/** True where the row may not be edited: it is paid, or a payout holds it. */
export function isLocked(row: LedgerRow): boolean {
  return row.status === "paid" || row.payout_id !== null;
}

/** A difference that the owner rejected: it counts nowhere, and neither does what it would have taken or given. */
function isWaived(row: LedgerRow): boolean {
  return row.kind === "clawback" && row.status === "rejected" && !isLocked(row);
}

/** True while the ledger may edit the row in place. */
export function isOpen(row: LedgerRow): boolean {
  return !isLocked(row) && !isWaived(row);
}
