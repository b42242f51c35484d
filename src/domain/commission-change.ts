import type { Cents } from "./money.ts";
import { canBecome, reviewColumnsOf, currentReasons, type CommissionStatus, type ReviewState } from "./commission.ts";

/** A change of a commission that the owner requests. */
export interface CommissionChange {
  status?: CommissionStatus | undefined;
  /** Only with `rejected`. */
  reason?: string | undefined;
  flagged?: boolean | undefined;
}

/** Whether a change lets a commission be paid or forgives a debt: a key needs `payouts` (ACCESS-13), else `write`. */
export function favorsPartner(
  { amount_cents }: { amount_cents: Cents },
  { status, flagged }: CommissionChange,
): boolean {
  if (status === "rejected") return amount_cents < 0 || flagged === false;
  return status === "approved" || status === "pending" || flagged === false;
}

/** The columns that such a change reads and writes. */
export interface ChangeableCommission extends ReviewState {
  status: CommissionStatus;
  payout_id: string | null;
  rejected_reason: string | null;
  approved_at: string | null;
}

export type CheckedChange = { ok: true; changes: Partial<ChangeableCommission> } | { ok: false; message: string };

/**
 * The columns that a manual change writes, or the reason why it is refused: an illegal move is 409 `invalid_transition`
 * and changes no column (COM-1). A commission in a payout that is not canceled cannot change (COM-2). Canceling a
 * payout releases its commissions, so a commission with a `payout_id` is in a payout that is not canceled. `changes` is
 * empty if the request has no effect.
 */
export function checkChange(before: ChangeableCommission, change: CommissionChange, now: string): CheckedChange {
  const { status } = change;
  if (status === "paid") return { ok: false, message: "A commission is paid by its payout." };
  if (status !== undefined && !canBecome(before.status, status)) {
    return { ok: false, message: `This commission is ${before.status}. Its status cannot change to ${status}.` };
  }
  const changes = { ...statusChanges(status, change.reason, now), ...flagChanges(before, change.flagged) };
  if (Object.keys(changes).length > 0 && before.payout_id !== null) {
    return { ok: false, message: "A commission inside a payout cannot change." };
  }
  return { ok: true, changes };
}

function statusChanges(
  status: CommissionStatus | undefined,
  reason: string | undefined,
  now: string,
): Partial<ChangeableCommission> {
  if (status === undefined) return {};
  return {
    status,
    approved_at: status === "approved" ? now : null,
    rejected_reason: status === "rejected" ? (reason ?? null) : null,
  };
}

/** Clearing a flag dismisses every current reason for good (`dismissed_reasons`); the owner's own is `manual`. */
function flagChanges(before: ChangeableCommission, flagged: boolean | undefined): Partial<ChangeableCommission> {
  if (flagged === undefined || flagged === before.flagged) return {};
  if (flagged) return reviewColumnsOf(["manual"]);
  const dismissed = [...before.dismissed_reasons.split(","), ...currentReasons(before)];
  const kept = new Set(dismissed.filter((reason) => reason !== "" && reason !== "manual"));
  return { ...reviewColumnsOf([]), dismissed_reasons: [...kept].join(",") };
}
