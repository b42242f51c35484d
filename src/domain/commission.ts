import type { FlowActionType } from "./flow.ts";
import { percentageOf } from "./money.ts";

export const COMMISSION_STATUSES = ["pending", "approved", "paid", "rejected"] as const;
export type CommissionStatus = (typeof COMMISSION_STATUSES)[number];

export const COMMISSION_KINDS = ["sale", "clawback", "manual"] as const;
export type CommissionKind = (typeof COMMISSION_KINDS)[number];

/** Why a commission waits for a person, the gravest first: the first that applies is the one shown. */
export const REVIEW_REASONS = ["self_referral", "mostly_refunded", "subscription_canceled"] as const;
export type ReviewReason = (typeof REVIEW_REASONS)[number];

/** The rule a commission was decided by, kept on it so that later refunds apply the same rule. */
export interface Rate {
  source: "flow" | "partner" | "program" | "manual";
  action_type: FlowActionType;
  action_value: number;
}

/** What may follow a status by the owner's hand; paying is the payout's business (contract §6). */
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
 * the payment is fully refunded, then 0 (contract §5). Smallest units.
 */
export function amountFor(rate: Rate, base_cents: number, adjusted_cents: number): number {
  const rest = Math.max(base_cents - adjusted_cents, 0);
  if (rate.action_type === "flat") return rest > 0 ? rate.action_value : 0;
  return percentageOf(rest, rate.action_value);
}

/** A commission row of a payment, as far as the ledger needs it. */
export interface LedgerRow {
  id: string;
  partner_id: string;
  kind: CommissionKind;
  status: CommissionStatus;
  payout_id: string | null;
  amount_cents: number;
}

/** What the payment's rows must come to: this partner has earned this amount, everybody else nothing. */
export interface Desired {
  partner_id: string;
  amount_cents: number;
}

export interface RowPlan {
  /** Open sale rows that stay, perhaps handed to another partner. */
  sales: { id: string; partner_id: string; amount_cents: number }[];
  /** Open sale rows that have no ground any more and balance nothing: had all facts come first, they would not exist. */
  withdrawn: string[];
  /** A new sale row is needed for the desired partner. */
  insert_sale: boolean;
  /** Open clawback rows whose amount changes. */
  clawbacks: { id: string; amount_cents: number }[];
  /** Differences on rows that may not be edited any more, to be carried by new clawback rows. */
  insert_clawbacks: { partner_id: string; amount_cents: number; source_commission_id: string }[];
}

/**
 * How the rows of one payment become `desired`: a row that is paid or sits in a payout is never edited, a rejected
 * clawback stays as the owner left it, and for each partner the rows afterwards sum to what the rule gives. A partner
 * has more than one sale row only where a late event joined two payments into one.
 */
export function planRows(rows: readonly LedgerRow[], desired: Desired | null): RowPlan {
  const plan: RowPlan = { sales: [], withdrawn: [], insert_sale: false, clawbacks: [], insert_clawbacks: [] };
  const byPartner = Map.groupBy(rows, (row) => row.partner_id);
  if (desired && !byPartner.has(desired.partner_id)) {
    const movable = [...byPartner.values()].find((own) => own.every((row) => row.kind === "sale" && isOpen(row)));
    if (movable) {
      byPartner.delete(movable[0]!.partner_id);
      byPartner.set(desired.partner_id, movable);
    } else {
      plan.insert_sale = true;
    }
  }
  for (const [partner_id, own] of byPartner) {
    const isDesired = desired?.partner_id === partner_id;
    planPartner(plan, own, partner_id, isDesired ? desired.amount_cents : null);
  }
  return plan;
}

/** One partner's rows: the locked ones stand, the open ones make up what is missing to the target (null: nothing). */
function planPartner(plan: RowPlan, own: LedgerRow[], partner_id: string, target: number | null): void {
  const locked = own.filter((row) => !isOpen(row));
  const openSales = own.filter((row) => row.kind === "sale" && isOpen(row));
  const openClawbacks = own.filter((row) => row.kind === "clawback" && isOpen(row));
  const missing = (target ?? 0) - locked.reduce((sum, row) => sum + row.amount_cents, 0);
  const paidSale = locked.find((row) => row.kind === "sale");
  const keepsSale = !paidSale && (target !== null || own.length > openSales.length);
  const kept = keepsSale ? openSales[0] : undefined;
  plan.withdrawn.push(...openSales.filter((row) => row !== kept).map((row) => row.id));
  if (kept) plan.sales.push({ id: kept.id, partner_id, amount_cents: missing });
  const carrier = kept ? undefined : openClawbacks[0];
  const others = openClawbacks.filter((row) => row !== carrier);
  plan.clawbacks.push(...others.map((row) => ({ id: row.id, amount_cents: 0 })));
  if (carrier) plan.clawbacks.push({ id: carrier.id, amount_cents: missing });
  else if (!kept && paidSale && missing !== 0) {
    plan.insert_clawbacks.push({ partner_id, amount_cents: missing, source_commission_id: paidSale.id });
  }
}

/** True while the ledger may edit the row in place. */
export function isOpen(row: LedgerRow): boolean {
  if (row.status === "paid" || row.payout_id !== null) return false;
  return row.kind === "sale" || row.status !== "rejected";
}
