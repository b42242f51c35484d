import { unitsOf } from "./currency.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./duration.ts";
import { mulDivHalfUp, type Cents } from "./money.ts";
import type { MinPayouts } from "./program.ts";

export const PAYOUT_STATUSES = ["pending", "processing", "paid", "failed", "canceled", "returned"] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];

/** Moves of a payout: from which statuses, and to which one (OUT-4). */
export const PAYOUT_MOVES = {
  /** The owner pays through provider A. */
  pay: { from: ["pending", "failed"], to: "processing" },
  /** The owner has paid by hand. */
  mark_paid: { from: ["pending"], to: "paid" },
  cancel: { from: ["pending", "failed"], to: "canceled" },
  /** The money came back: the bank returned it, or the vendor reversed the whole transfer. */
  return: { from: ["paid"], to: "returned" },
  /** The vendor made the transfer, or will never make it in this attempt. */
  transfer_made: { from: ["processing"], to: "paid" },
  transfer_refused: { from: ["processing"], to: "failed" },
  /** The owner saw at the vendor that it was made or not made, if the service cannot look it up (OUT-17). */
  said_made: { from: ["processing"], to: "paid" },
  said_not_made: { from: ["processing"], to: "failed" },
} as const satisfies Record<string, { from: readonly PayoutStatus[]; to: PayoutStatus }>;
export type PayoutMove = keyof typeof PAYOUT_MOVES;

/** Statuses of payouts that a hold keeps from being paid (OUT-24). */
export const PAYABLE = PAYOUT_MOVES.pay.from;

/** Statuses of payouts that have released their commissions to a later payout. */
export const RELEASED = ["canceled", "returned"] as const satisfies PayoutStatus[];

export function hasReleased(status: PayoutStatus): boolean {
  return RELEASED.some((one) => one === status);
}

export function canMove(status: PayoutStatus, move: PayoutMove): boolean {
  const from: readonly PayoutStatus[] = PAYOUT_MOVES[move].from;
  return from.includes(status);
}

/**
 * Why a partner's approved commissions in one currency are not put into a payout and roll over, the first that applies:
 * an open dispute, which holds back only its own commissions (PAY-10); no exchange rate to the payout currency (OUT-36);
 * the partner is `invited` (OUT-1); the sum is not positive, or below the minimum of its currency (OUT-2); the partner
 * lacks tax data (OUT-33) or payout details that are required.
 */
export const SKIP_REASONS = [
  ...(["disputed", "rate_missing", "partner_invited", "not_positive", "too_large", "below_minimum"] as const),
  ...(["tax_data_missing", "details_missing"] as const),
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** The least amount of a payout in a currency, in its smallest units (OUT-19); `payable.ts` has the same in SQL. */
export function minimumIn({ currency: own, min_payout_cents, min_payouts }: Minimums, currency: string): Cents {
  if (currency === own) return min_payout_cents;
  if (Object.hasOwn(min_payouts, currency)) return min_payouts[currency]!;
  return mulDivHalfUp(min_payout_cents, unitsOf(currency), unitsOf(own));
}

export interface Minimums {
  readonly currency: string;
  readonly min_payout_cents: Cents;
  readonly min_payouts: MinPayouts;
}

/** `period_end` + payout term in UTC days, in milliseconds (OUT-3). */
export function dueAt(period_end: number, payout_term: string): number {
  const days = /^NET-(\d+)$/.exec(payout_term)?.[1];
  return period_end + Number(days ?? 0) * DAY_MS;
}

/** The UTC calendar month before the one of `now`: its first instant, and the first instant after it. */
export function previousMonth(now: number): { period_start: number; period_end: number } {
  const date = new Date(now);
  return {
    period_start: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1),
    period_end: Date.UTC(date.getUTCFullYear(), date.getUTCMonth()),
  };
}

/** The time of the next monthly run (OUT-3); null on the first of a month, because that day's run may not be over. */
export function nextRun(now: number): number | null {
  const date = new Date(now);
  return date.getUTCDate() === 1 ? null : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** Why a period is invalid, or null. It may not end in the future, which may still get commissions. Milliseconds. */
export function periodProblem(
  period: { period_start: number | null; period_end: number },
  now: number,
): { path: "period_start" | "period_end"; message: string } | null {
  if (period.period_end > now) return { path: "period_end", message: "A period cannot end in the future." };
  if (period.period_start !== null && period.period_start >= period.period_end) {
    return { path: "period_start", message: "A period starts before it ends." };
  }
  return null;
}

/** Why an open transfer continues only after the owner stores an API key of the provider: the right one, or any. */
export const HELD_BY = ["provider_not_configured", "api_key_refused", "other_account", "api_key_replaced"] as const;

export function isHeldBy(failure_code: string): boolean {
  return HELD_BY.some((code) => code === failure_code);
}

/** The vendor keeps idempotency keys for at least 24 hours; the hour in reserve exceeds any clock difference. */
const REPEATS_FOR_MS = DAY_MS - HOUR_MS;

/** Whether the vendor would still repeat its answer for a payout first sent at `created_at`, ms. */
export function isRepeated(created_at: number, now: number): boolean {
  return now - created_at < REPEATS_FOR_MS;
}

/** How long the process that starts or resumes a transfer holds it exclusively; longer than the calls can last. */
export const TRANSFER_LEASE_MS = 3 * MINUTE_MS;

/**
 * Whether a process may hold an open transfer at this moment, ms; its holder looks it up at the vendor. A lease ends
 * within its time, and clocks differ by less than a minute: a transfer whose next lookup is later than that is not
 * leased, and neither is one whose lease is over.
 */
export function mayBeLeased(reconcile_at: number, now: number): boolean {
  return reconcile_at > now && reconcile_at <= now + TRANSFER_LEASE_MS + MINUTE_MS;
}

/**
 * The next lookup of an open transfer, ms: after as long as it is open, 1 min to 1 h, not before the vendor's retry
 * time.
 */
export function nextReconcile(attempt_started_at: number, now: number, retry_after_ms: number | null): number {
  const wait = Math.max(now - attempt_started_at, retry_after_ms ?? 0);
  return now + Math.min(Math.max(wait, MINUTE_MS), HOUR_MS);
}
