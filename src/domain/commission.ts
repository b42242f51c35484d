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
  /** The sale's row to write into: an open row kept or handed to another partner; null when none is open. */
  sale: { id: string; amount_cents: number; partner_id: string } | null;
  /** A new sale row is needed for the desired partner. */
  insert_sale: boolean;
  /** Open clawback rows whose amount changes. */
  clawbacks: { id: string; amount_cents: number }[];
  /** Differences on rows that may not be edited any more, to be carried by new clawback rows. */
  insert_clawbacks: { partner_id: string; amount_cents: number; source_commission_id: string }[];
}

/**
 * How the rows of one payment become `desired`: a row that is paid or sits in a payout is never edited, a rejected
 * clawback stays as the owner left it, and for each partner the rows afterwards sum to what the rule gives.
 */
export function planRows(rows: readonly LedgerRow[], desired: Desired | null): RowPlan {
  const plan: RowPlan = { sale: null, insert_sale: false, clawbacks: [], insert_clawbacks: [] };
  const owners = new Map(rows.map((row) => [row.id, row.partner_id]));
  const hasRows = (partner_id: string) => [...owners.values()].includes(partner_id);

  if (desired && !hasRows(desired.partner_id)) {
    const movable = rows.find(
      (row) =>
        row.kind === "sale" &&
        isOpen(row) &&
        rows.every((other) => other === row || other.partner_id !== row.partner_id || isOpen(other)),
    );
    if (movable) {
      for (const row of rows) if (row.partner_id === movable.partner_id) owners.set(row.id, desired.partner_id);
    } else {
      plan.insert_sale = true;
    }
  }

  for (const partner_id of new Set(owners.values())) {
    const own = rows.filter((row) => owners.get(row.id) === partner_id);
    const target = desired?.partner_id === partner_id ? desired.amount_cents : 0;
    const fixed = own.filter((row) => !isOpen(row)).reduce((sum, row) => sum + row.amount_cents, 0);
    const sale = own.find((row) => row.kind === "sale");
    const [firstOpen, ...moreOpen] = own.filter((row) => row.kind === "clawback" && isOpen(row));
    if (sale && isOpen(sale)) {
      plan.sale = { id: sale.id, partner_id, amount_cents: target - fixed };
      for (const row of [firstOpen, ...moreOpen]) if (row) plan.clawbacks.push({ id: row.id, amount_cents: 0 });
      continue;
    }
    for (const row of moreOpen) plan.clawbacks.push({ id: row.id, amount_cents: 0 });
    if (firstOpen) plan.clawbacks.push({ id: firstOpen.id, amount_cents: target - fixed });
    else if (target !== fixed && sale) {
      plan.insert_clawbacks.push({ partner_id, amount_cents: target - fixed, source_commission_id: sale.id });
    }
  }
  return plan;
}

/** True while the ledger may edit the row in place. */
export function isOpen(row: LedgerRow): boolean {
  if (row.status === "paid" || row.payout_id !== null) return false;
  return row.kind === "sale" || row.status !== "rejected";
}
