import type { Payout } from "../../../core/payout-rows.ts";
import { canMove } from "../../../domain/payout.ts";

/** What the owner can do to a payout from its page. */
export type OwnersMove = "pay" | "mark_paid" | "cancel";

/**
 * True where the owner can make this move now. Provider A pays only those that are to be paid through it; one without a
 * method follows what its partner has chosen since.
 */
export function isOffered(payout: Pick<Payout, "status" | "method">, move: OwnersMove): boolean {
  return canMove(payout.status, move) && (move !== "pay" || payout.method === "provider_a" || payout.method === null);
}

/** True where the payout is still to be paid one way or the other. */
export function isPayable(payout: Pick<Payout, "status" | "method">): boolean {
  return isOffered(payout, "pay") || isOffered(payout, "mark_paid");
}
