import { maskAccount, maskAddress } from "./mask.ts";
import { TRANSFER_METHOD, type PayoutMethod } from "./partner.ts";

/** A payout's recipient as of its generation, sealed (OUT-5). The method is a separate column. */
export interface Recipient {
  name: string;
  /** The address of a wallet. */
  payout_email: string | null;
  provider_a_account_id: string | null;
}

/** The partner's columns that are copied. */
export interface RecipientSource {
  first_name: string | null;
  last_name: string | null;
  payout_email: string | null;
  provider_a_account_id: string | null;
}

export function recipientOf(partner: RecipientSource): Recipient {
  const { first_name, last_name, payout_email, provider_a_account_id } = partner;
  return { name: [first_name, last_name].filter(Boolean).join(" "), payout_email, provider_a_account_id };
}

/** The detail that a payout method needs, or null. */
export function detailOf(method: PayoutMethod | null, recipient: Recipient): string | null {
  if (method === "wallet") return recipient.payout_email;
  return method === TRANSFER_METHOD ? recipient.provider_a_account_id : null;
}

/** Whether a payout lacks its method's details; for bank and crypto the owner asks the partner. */
export function lacksDetails(method: PayoutMethod | null, recipient: Recipient): boolean {
  return takesDetails({ method, recipient: detailOf(method, recipient) });
}

/** Whether an unpaid payout receives the partner's details when they are added (OUT-18). */
export function takesDetails(payout: { method: PayoutMethod | null; recipient: string | null }): boolean {
  const { method, recipient } = payout;
  return recipient === null && (method === null || method === "wallet" || method === TRANSFER_METHOD);
}

/** The masked detail, for people who do not pay by it. */
export function shownRecipient(method: PayoutMethod | null, recipient: Recipient): string | null {
  const detail = detailOf(method, recipient);
  return detail === null ? null : maskDetail(method, detail);
}

export function maskDetail(method: PayoutMethod | null, detail: string): string {
  return method === "wallet" ? maskAddress(detail) : maskAccount(detail);
}
