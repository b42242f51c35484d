import type { CommissionView } from "../../../core/kernel/views.ts";
import { amountFor } from "../../../domain/commission.ts";
import { amountOf } from "../../../domain/amount.ts";
import { NOTHING } from "../../../domain/money.ts";
import { moneyText, percentText } from "../parts/figures.tsx";
import { dateText } from "../locale.ts";
import type { OwnProgram } from "./self.ts";

const RATES = {
  flow: "a special rate",
  partner: "your rate",
  group: "your rate",
  program: "the program's rate",
  manual: "by hand",
};

/** The fields that the sentences use. */
type Said = Pick<
  CommissionView,
  | ("kind" | "rate" | "note" | "amount_cents" | "txn_amount_cents" | "base_cents" | "currency")
  | ("status" | "flagged" | "review_reason" | "rejected_reason" | "payout_id" | "hold_until")
>;

type Settings = Pick<OwnProgram, "sale_amounts" | "time_zone">;

/** Explains a commission to its partner (PORTAL-6). Hidden amounts hide the rate, which would reveal them. */
export function whyText(row: Said, { sale_amounts }: Settings): string {
  const { kind, rate, note } = row;
  if (kind === "manual") return note ?? "Added by hand";
  if (kind === "clawback") {
    return `${row.amount_cents < 0 ? "Refund or correction" : "Correction"} of a sale you were already paid for`;
  }
  if (kind === "lead") return "Flat amount for a sign-up through your link";
  const isHidden = sale_amounts === "hidden";
  const whole = isHidden ? "sale" : `sale of ${moneyText(amountOf(row, row.txn_amount_cents))}`;
  const part = row.base_cents === null || isHidden ? "" : `, ${moneyText(amountOf(row, row.base_cents))},`;
  const sale = row.base_cents === null ? `a ${whole}` : `the products that count${part} of a ${whole}`;
  const full = amountFor(rate, row.base_cents ?? row.txn_amount_cents, NOTHING);
  if (row.amount_cents === NOTHING && full !== NOTHING) {
    return `Fully refunded ${row.base_cents === null ? "" : "products of a "}${whole}`;
  }
  const base = row.amount_cents === full ? sale : `${sale} less refunds`;
  if (rate.action_type !== "percentage") return `Flat amount for ${base}, ${RATES[rate.source]}`;
  return `${isHidden ? "A percentage" : percentText(rate.action_value)} of ${base}, ${RATES[rate.source]}`;
}

/** Whether a person must check it before it is approved or, if it is disputed (PAY-10), enters a payout. */
export function isLookedAt({ status, flagged, review_reason, payout_id }: Said): boolean {
  if (!flagged) return false;
  return status === "pending" || (status === "approved" && payout_id === null && review_reason === "disputed");
}

/** The reason why a commission waits; null if its status or the pending check explains it. */
export function waitText(row: Said, { time_zone }: Settings): string | null {
  if (row.status === "rejected") return row.rejected_reason;
  if (isLookedAt(row)) return null;
  const isDebt = row.amount_cents < 0;
  if (row.status === "approved") {
    if (row.payout_id !== null) return isDebt ? "deducted from a payout" : "in a payout";
    return isDebt ? "deducted from your next payout" : "for the next payout";
  }
  return row.status === "paid" || row.hold_until === null
    ? null
    : `payable from ${dateText(row.hold_until, time_zone)}`;
}
