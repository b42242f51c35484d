import type { Recipient } from "../../domain/recipient.ts";
import type { Sealed } from "../../lib/seal.ts";
import type { BaseCtx } from "../kernel/context.ts";
import type { Payout } from "../kernel/rows.ts";

const placeOf = (payout_id: string) => ({ table: "payouts", column: "recipient_sealed", row: payout_id }) as const;

export async function sealRecipient(
  { sealer }: Pick<BaseCtx, "sealer">,
  payout_id: string,
  recipient: Recipient,
): Promise<Sealed> {
  return sealer.seal(JSON.stringify(recipient), placeOf(payout_id));
}

/** The recipient of a payout: nothing else says it. Null where it was never recorded, or no key opens it any more. */
export async function openRecipient(
  { sealer }: Pick<BaseCtx, "sealer">,
  { id, recipient_sealed }: Pick<Payout, "id" | "recipient_sealed">,
): Promise<Recipient | null> {
  if (recipient_sealed === null) return null;
  const text = await sealer.openOrNull(recipient_sealed, placeOf(id));
  return text === null ? null : (JSON.parse(text) as Recipient);
}
