import { desc, sql } from "drizzle-orm";
import { atMost } from "../../db/client.ts";
import { payouts } from "../../db/schema.ts";
import { maskDistinctly } from "../../domain/mask.ts";
import { detailOf, maskDetail, recipientOf, type Recipient, type RecipientSource } from "../../domain/recipient.ts";
import type { Sealed } from "../../lib/seal.ts";
import type { BaseCtx, Reader } from "../kernel/context.ts";
import type { Payout } from "../kernel/rows.ts";
import { selectPayouts } from "./hold.ts";
import { openDetails, type SealedDetails } from "../kernel/sealed-details.ts";

const placeOf = (payout_id: string) => ({ table: "payouts", column: "recipient_sealed", row: payout_id }) as const;

/** The recipient of a payout that the partner gets now. */
export async function currentRecipient(
  ctx: Pick<BaseCtx, "sealer">,
  partner_id: string,
  partner: RecipientSource & SealedDetails,
): Promise<Recipient> {
  return recipientOf(partner, await openDetails(ctx, partner_id, partner));
}

export async function sealRecipient(
  { sealer }: Pick<BaseCtx, "sealer">,
  payout_id: string,
  recipient: Recipient,
): Promise<Sealed> {
  return sealer.seal(JSON.stringify(recipient), placeOf(payout_id));
}

/** The recipient of a payout, from the only place that stores it. Null if no key opens it any more. */
export async function openRecipient(
  { sealer }: Pick<BaseCtx, "sealer">,
  { id, recipient_sealed }: Pick<Payout, "id" | "recipient_sealed">,
): Promise<Recipient | null> {
  const text = await sealer.openOrNull(recipient_sealed, placeOf(id));
  return text === null ? null : (JSON.parse(text) as Recipient);
}

/** The previous recipient, and both masked so that they differ. */
export interface RecipientChange {
  before: Payout;
  from: string;
  to: string;
}

/** The partner's previous payout, if its recipient differs; null otherwise. Compared whole, or masked without a key. */
export async function readRecipientChange(ctx: Reader, payout: Payout): Promise<RecipientChange | null> {
  if (payout.recipient === null) return null;
  const [[before]] = await ctx.read(
    selectPayouts(ctx)
      .where(
        sql`${payouts.partner_id} = ${payout.partner_id} and ${payouts.id} < ${payout.id} and ${payouts.recipient} is not null
          and ${payouts.status} <> 'canceled' and +${payouts.program_id} = ${ctx.programId}`,
      )
      .orderBy(desc(payouts.id))
      .limit(atMost(1)),
  );
  if (!before || before.recipient === null) return null;
  const [was, is] = await Promise.all([openRecipient(ctx, before), openRecipient(ctx, payout)]);
  const [from, to] = [was && detailOf(before.method, was), is && detailOf(payout.method, is)];
  const isSameWay = before.method === payout.method;
  if (from === null || to === null) {
    const isSame = isSameWay && before.recipient === payout.recipient;
    return isSame ? null : { before, from: before.recipient, to: payout.recipient };
  }
  if (isSameWay && from === to) return null;
  const apart = maskDistinctly(([method, detail]: readonly [Payout["method"], string]) => maskDetail(method, detail));
  return { before, from: apart([before.method, from]), to: apart([payout.method, to]) };
}
