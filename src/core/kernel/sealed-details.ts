/** The payout details that a partner's row contains sealed (OUT-23). */
import type { SealedPlace } from "../../db/sealed.ts";
import { COLUMN_OF, maskDetails, type PayoutDetails } from "../../domain/payout-details.ts";
import type { BaseCtx } from "./context.ts";
import type { Partner } from "./rows.ts";

type Sealable = Extract<PayoutDetails, { method: "bank_transfer" | "crypto" }>;

type SealedColumns = `${(typeof COLUMN_OF)[Sealable["method"]]}_sealed`;
export type SealedDetails = Pick<Partner, "payout_method" | SealedColumns>;

function placeOf(partner_id: string, method: Sealable["method"]): SealedPlace {
  return { table: "partners", column: `${COLUMN_OF[method]}_sealed`, row: partner_id };
}

/** The columns that store these details. */
export async function sealDetails(
  { sealer }: Pick<BaseCtx, "sealer">,
  partner_id: string,
  details: Sealable,
): Promise<Partial<Partner>> {
  const column = COLUMN_OF[details.method];
  const sealed = await sealer.seal(JSON.stringify(details), placeOf(partner_id, details.method));
  return { [column]: maskDetails(details), [`${column}_sealed`]: sealed };
}

/** The stored details of a method; null without them, and if no key opens them any more. */
export async function openDetails(
  { sealer }: Pick<BaseCtx, "sealer">,
  partner_id: string,
  partner: SealedDetails,
  method = partner.payout_method,
): Promise<PayoutDetails | null> {
  if (method !== "bank_transfer" && method !== "crypto") return null;
  const sealed = partner[`${COLUMN_OF[method]}_sealed`];
  const text = sealed === null ? null : await sealer.openOrNull(sealed, placeOf(partner_id, method));
  return text === null ? null : (JSON.parse(text) as PayoutDetails);
}
