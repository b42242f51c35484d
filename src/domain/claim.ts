/** "Missing sale?": a partner says that a sale is theirs, and the owner decides (CLAIM-1). */
import { COUNTED_ELSEWHERE, type Outcome } from "./payment.ts";

export const CLAIM_STATUSES = ["open", "granted", "declined"] as const;
export type ClaimStatus = (typeof CLAIM_STATUSES)[number];

/** Claims of one partner that wait at once, and those that a partner makes within a day (CLAIM-4). */
export const MAX_OPEN_CLAIMS = 20;
export const MAX_CLAIMS_A_DAY = 10;

/** The longest id of an order, and the longest note about a decision. */
export const MAX_ORDER_ID = 255;
export const MAX_CLAIM_NOTE = 1_000;

/** How many payments are shown beside a claim, and how many of a partner's claims. */
export const MAX_CLAIM_PAYMENTS = 20;
export const MAX_CLAIMS_SHOWN = 50;

/**
 * What a partner reads of a claim: the outcome of the payment, or why it is not said. `waiting`: nobody has decided.
 * `granted`, `declined`: nothing more is said. `not_found`: no payment has this order id. `of_another`: it is another partner's.
 */
export type ClaimAnswer = Outcome | "waiting" | "granted" | "declined" | "not_found" | "of_another";

/** What an answer depends on. */
export interface AnsweredClaim {
  partner_id: string;
  status: ClaimStatus;
  /** Null of a claim by day and domain, and where the customer was erased. */
  order_id: string | null;
}

/** What a claim says of its sale where the customer was erased. */
export const NO_SALE = { order_id: null, day: null, email_domain: null };

/** Of the payment that was decided on. */
export interface ClaimedPayment {
  partner_id: string | null;
  outcome: Outcome | null;
}

/**
 * What the partner reads (CLAIM-3). Before a person has decided it is the same whether or not there is such a payment. Of a
 * claim by day and domain that was declined nothing is said: it would show who bought. One that was granted is the partner's,
 * also before its payment is settled, unless that turned out to be another partner's, or to count elsewhere.
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

/** How an e-mail's domain is written by a partner, and compared: in lower case, without what comes before an `@`. */
export function claimDomain(text: string): string {
  return text
    .slice(text.lastIndexOf("@") + 1)
    .trim()
    .toLowerCase();
}
