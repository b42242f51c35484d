/** "Missing sale?": a partner claims a sale, and the owner decides (CLAIM-1). */
import { COUNTED_ELSEWHERE, type Outcome } from "./payment.ts";

export const CLAIM_STATUSES = ["open", "granted", "declined"] as const;
export type ClaimStatus = (typeof CLAIM_STATUSES)[number];

/** Open claims that a partner may have at once, and claims that a partner may make within a day (CLAIM-4). */
export const MAX_OPEN_CLAIMS = 20;
export const MAX_CLAIMS_A_DAY = 10;

/** The longest id of an order, and the longest note about a decision. */
export const MAX_ORDER_ID = 255;
export const MAX_CLAIM_NOTE = 1_000;

/** Payments shown beside a claim, and a partner's claims shown in a list. */
export const MAX_CLAIM_PAYMENTS = 20;
export const MAX_CLAIMS_SHOWN = 50;

/**
 * The answer that a partner reads: the payment's outcome, or the reason why it is not shown. `waiting`: not decided
 * yet. `granted`, `declined`: only the decision is shown. `not_found`: no payment has this order id. `of_another`: the
 * payment belongs to another partner.
 */
export type ClaimAnswer = Outcome | "waiting" | "granted" | "declined" | "not_found" | "of_another";

/** The part of a claim on which its answer depends. */
export interface AnsweredClaim {
  partner_id: string;
  status: ClaimStatus;
  /** Null for a claim by day and domain, and once the customer is erased. */
  order_id: string | null;
}

/** The sale's columns once the customer is erased. */
export const NO_SALE = { order_id: null, day: null, email_domain: null };

/** The payment to which the decision applies. */
export interface ClaimedPayment {
  partner_id: string | null;
  outcome: Outcome | null;
}

/**
 * The partner's answer (CLAIM-3). Until a person decides, it is the same whether or not the payment exists. A declined
 * claim by day and domain shows only the decision: more would reveal who bought. A granted one belongs to the partner
 * even before its payment is settled, unless the payment turned out to be another partner's or to count elsewhere.
 */
export function claimAnswer(claim: AnsweredClaim, payment: ClaimedPayment | null): ClaimAnswer {
  const { partner_id, status, order_id } = claim;
  if (status === "open") return "waiting";
  if (payment?.partner_id === partner_id) return payment.outcome ?? status;
  const isGranted = status === "granted";
  if (!isGranted && order_id === null) return status;
  if (payment === null) return isGranted ? status : "not_found";
  if (payment.partner_id !== null) return "of_another";
  const { outcome } = payment;
  return outcome === null || (isGranted && !COUNTED_ELSEWHERE.includes(outcome)) ? status : outcome;
}

/** Normalizes an e-mail domain for comparison: lower case, without anything before an `@`. */
export function claimDomain(text: string): string {
  return text
    .slice(text.lastIndexOf("@") + 1)
    .trim()
    .toLowerCase();
}
