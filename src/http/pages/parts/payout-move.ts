import type { Payout, Program } from "../../../core/kernel/rows.ts";
import { connectionOf } from "../../../core/kernel/connections.ts";
import { amountOf } from "../../../domain/amount.ts";
import { TRANSFER_METHOD } from "../../../domain/partner.ts";
import { canMove, isHeldBy } from "../../../domain/payout.ts";
import type { Transfers } from "../../../providers/connect.ts";
import { moneyText } from "./figures.tsx";
import { recipientText } from "./payout-method.ts";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";

/** The owner's actions on a payout's page. */
export type OwnersMove = "pay" | "mark_paid" | "cancel" | "return" | "said_made" | "said_not_made";

type Movable = Pick<Payout, "status" | "method" | "recipient"> & Partial<Pick<Payout, "failure_code" | "held_until">>;
type Payer = Program;

/** The obstacle to this move in words; null if it is possible. Every page offers only possible moves. */
export function payoutObstacle(move: OwnersMove, payout: Movable, payer: Payer): string | null {
  if (!canMove(payout.status, move)) return `This payout is already ${payout.status}.`;
  if (move.startsWith("said_") && !isHeldBy(payout.failure_code ?? ""))
    return "We can still look the transfer up at the provider.";
  if ((move === "pay" || move === "mark_paid") && payout.held_until) return ON_HOLD;
  return move === "pay" ? missingForTransfer(payout, payer) : null;
}

const ON_HOLD =
  "The partner's payouts are held, because their destination changed. The partner's page has the details.";

/** The missing requirement of a transfer. Method and recipient were fixed when the payout was generated. */
export function missingForTransfer(payout: Omit<Movable, "status">, payer: Payer): string | null {
  if (payout.method !== TRANSFER_METHOD)
    return `It cannot be paid through ${TRANSFER_SERVICE} (${recipientText(payout)}).`;
  if (payout.recipient === null) {
    return `The partner has no connected account at ${TRANSFER_SERVICE} yet. This payout goes there as soon as there is one.`;
  }
  return connectionOf(payer, TRANSFER_METHOD).api_key === null
    ? `The program has no API key of ${TRANSFER_SERVICE} yet. Paste it in the settings, then pay.`
    : null;
}

/** The transferred amount if it differs from the payout's amount by rounding; else null. */
export function nearestText(payout: Pick<Payout, "amount_cents" | "currency">, transfers: Transfers): string | null {
  const sent = transfers.transferableAmount(payout);
  if (sent === payout.amount_cents) return null;
  return `${TRANSFER_SERVICE} transfers ${moneyText(amountOf(payout, sent))}, the nearest amount that it can.`;
}

export function isOffered(move: OwnersMove, payout: Movable, payer: Payer): boolean {
  return payoutObstacle(move, payout, payer) === null;
}
