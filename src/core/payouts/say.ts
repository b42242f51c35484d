import { isHeldBy, mayBeLeased } from "../../domain/payout.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import type { Transfers } from "../../providers/connect.ts";
import { prove, type Caller } from "../kernel/context.ts";
import type { Payout } from "../kernel/rows.ts";
import { continueTransfer, type Word } from "./pay.ts";
import { requireMove, selectPayout } from "./payouts.ts";

/** The owner's statement about the vendor's records: the transfer, by its id, or that it does not exist. */
export interface Said {
  made: boolean;
  reference: string | null;
}

/**
 * Lets the owner resolve an open transfer (OUT-17), only if it cannot be looked up with the stored key. The service
 * tries the lookup again, and the vendor's answer takes precedence over the statement, as does the result of a
 * concurrent lookup. No transfer is sent. @throws `invalid_transition` if the service can look it up, or a lookup may
 * be running.
 */
export async function resolveTransfer(
  caller: Caller,
  id: string,
  { made, reference }: Said,
  transfers: Transfers,
): Promise<Payout> {
  if (made && reference === null) throw invalidField("reference", "Give the transfer's id at the payment provider.");
  const [ctx, [before]] = await prove(caller, selectPayout(caller, id));
  if (!before) throw notFound("payout");
  requireMove(before, made ? "said_made" : "said_not_made");
  if (!isHeldBy(before.failure_code ?? "")) throw new AppError("invalid_transition", LEARNS);
  if (mayBeLeased(Date.parse(before.reconcile_at ?? ""), ctx.now)) throw new AppError("invalid_transition", ASKING);
  const word: Word = made ? { outcome: "made", transfer_id: reference ?? "", said: true } : NOT_MADE;
  const after = await continueTransfer(ctx, before, transfers, { word });
  if (!after) throw new AppError("invalid_transition", ASKING);
  return after;
}

const NOT_MADE: Word = {
  outcome: "refused",
  code: "said_not_made",
  message: "The provider could not be asked. An owner confirmed that the transfer does not exist.",
};

const LEARNS = "The service can still look this transfer up at the provider.";
const ASKING = "A lookup of this transfer may be in progress. Try again in five minutes.";
