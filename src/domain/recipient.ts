import { maskAccount, maskAddress } from "./mask.ts";
import { TRANSFER_METHOD, type PayoutMethod } from "./partner.ts";
import { maskDetails, type PayoutDetails } from "./payout-details.ts";

/** A payout's recipient as of its generation, sealed (OUT-5). The method is a separate column. */
export interface Recipient {
  name: string;
  /** The address of a wallet. */
  payout_email: string | null;
  provider_a_account_id: string | null;
  /** The details of `bank_transfer` or `crypto`, if that was the method; absent in payouts made before these existed. */
  details?: PayoutDetails | null;
}

/** The partner's columns that are copied. */
export interface RecipientSource {
  first_name: string | null;
  last_name: string | null;
  payout_email: string | null;
  provider_a_account_id: string | null;
}

/** `details`: those that are sealed, of the partner's method. */
export function recipientOf(partner: RecipientSource, details: PayoutDetails | null): Recipient {
  const { first_name, last_name, payout_email, provider_a_account_id } = partner;
  return { name: [first_name, last_name].filter(Boolean).join(" "), payout_email, provider_a_account_id, details };
}

/** The detail that a payout method needs, as a text to compare; null without it. */
export function detailOf(method: PayoutMethod | null, recipient: Recipient): string | null {
  if (method === null) return null;
  if (method === "wallet") return recipient.payout_email;
  if (method === TRANSFER_METHOD) return recipient.provider_a_account_id;
  return recipient.details?.method === method ? JSON.stringify(recipient.details) : null;
}

/** The masked detail, for people who do not pay by it. */
export function shownRecipient(method: PayoutMethod | null, recipient: Recipient): string | null {
  const detail = detailOf(method, recipient);
  return detail === null ? null : maskDetail(method, detail);
}

export function maskDetail(method: PayoutMethod | null, detail: string): string {
  if (method === "wallet") return maskAddress(detail);
  return method === TRANSFER_METHOD ? maskAccount(detail) : maskDetails(JSON.parse(detail) as PayoutDetails);
}
