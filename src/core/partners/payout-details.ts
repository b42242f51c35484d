import { PAYOUT_METHODS, TRANSFER_METHOD, type PayoutMethod } from "../../domain/partner.ts";
import { maskFields, type PayoutDetails } from "../../domain/payout-details.ts";
import { notFound } from "../../lib/errors.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type BaseCtx, type Caller } from "../kernel/context.ts";
import { selectPartner } from "../kernel/partner-rows.ts";
import type { Partner } from "../kernel/rows.ts";
import { openDetails } from "../kernel/sealed-details.ts";

/** The details of one method, without its name. */
type Fields<M extends PayoutMethod> = Omit<Extract<PayoutDetails, { method: M }>, "method">;

/** A partner's payout method, and the stored details of each method. */
export type StoredDetails = { [M in PayoutMethod]: Fields<M> | null } & {
  partner_id: string;
  method: PayoutMethod | null;
};

/**
 * Reads a partner's payout details (OUT-23): in full for a caller with the scope `payouts`, which is an event
 * `payout_details.read`, otherwise masked.
 */
export async function readPayoutDetails(
  caller: Caller,
  id: string,
): Promise<{ partner: Partner; details: StoredDetails }> {
  const [ctx, [partner]] = await prove(caller, selectPartner(caller, id));
  if (!partner) throw notFound("partner");
  if (!ctx.may("payouts")) return { partner, details: await maskedDetails(ctx, partner) };
  await commit(ctx, { writes: [], occurrences: [{ type: "payout_details.read", payload: { partner_id: id } }] });
  return { partner, details: await storedDetails(ctx, partner, (details) => details) };
}

/** The stored details, masked: not an event. */
export async function maskedDetails(ctx: Pick<BaseCtx, "sealer">, partner: Partner): Promise<StoredDetails> {
  return storedDetails(ctx, partner, maskFields);
}

async function storedDetails(
  ctx: Pick<BaseCtx, "sealer">,
  partner: Partner,
  shown: (details: PayoutDetails) => PayoutDetails,
): Promise<StoredDetails> {
  const entries = PAYOUT_METHODS.map(async (method) => {
    const details = await detailsOf(ctx, partner, method);
    if (details === null) return [method, null] as const;
    const { method: _, ...fields } = shown(details);
    return [method, fields] as const;
  });
  return {
    partner_id: partner.id,
    method: partner.payout_method,
    ...Object.fromEntries(await Promise.all(entries)),
  } as StoredDetails;
}

async function detailsOf(
  ctx: Pick<BaseCtx, "sealer">,
  partner: Partner,
  method: PayoutMethod,
): Promise<PayoutDetails | null> {
  const { payout_email: email, provider_a_account_id: account } = partner;
  if (method === "wallet") return email === null ? null : { method, email };
  if (method === TRANSFER_METHOD) return account === null ? null : { method, account };
  return openDetails(ctx, partner.id, partner, method);
}
