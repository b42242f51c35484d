/**
 * Payouts through a payment provider's connected accounts. Implementations contain the vendor's wire format, which the
 * code outside `providers/` never uses. These functions never throw: a failure is part of the answer.
 */
import type { Cents } from "../domain/money.ts";

/** A transfer to be made exactly once, for one payout. */
export interface TransferOrder {
  payout_id: string;
  program_id: string;
  partner_id: string;
  /** Smallest units, positive. */
  amount_cents: Cents;
  /** ISO 4217, upper case. */
  currency: string;
  account_id: string;
}

/** The vendor's latest error or missing answer for the owner; `code` is the vendor's own, if any. */
export interface Trouble {
  code: string;
  message: string;
}

export type SendAnswer =
  /** `is_past`: the vendor only repeats an earlier answer, or some of the money was taken back since. */
  | { outcome: "made"; transfer_id: string; is_past: boolean }
  /** The vendor has not made this transfer, and will not. */
  | ({ outcome: "refused" } & Trouble)
  /** It may have been made, now or later. Only the same request under the same key may be sent again. */
  | ({
      outcome: "unknown";
      /** The vendor's requested delay, or null. */
      retry_after_ms: number | null;
      /** The vendor answered with a failure, which it may repeat for the key's lifetime, so a lookup is better. */
      worth_looking: boolean;
    } & Trouble);

/** A transfer as stored by the vendor. */
export interface MadeTransfer {
  transfer_id: string;
  /** Smallest units. */
  amount_cents: Cents;
  /** ISO 4217, upper case. */
  currency: string;
  /** The receiving connected account; null if the vendor does not name it. */
  account_id: string | null;
  /** The amount reversed, in smallest units. */
  reversed_cents: Cents;
}

/** A transfer that the vendor reports as reversed in full. */
export interface ReversedTransfer {
  payout_id: string;
  transfer_id: string;
}

export type FindAnswer =
  /** Every transfer of the payout at the vendor, including reversed ones. */
  | { outcome: "made"; transfers: readonly MadeTransfer[] }
  | { outcome: "none" }
  | ({ outcome: "unknown"; retry_after_ms: number | null } & Trouble);

export type IdentifyAnswer =
  | { outcome: "known"; account: string }
  | ({ outcome: "unknown"; retry_after_ms: number | null } & Trouble);

/** Available money in smallest units, by ISO 4217 code in upper case. */
export type Balances = ReadonlyMap<string, Cents>;

/** The mode of an API key. */
export interface KeyModes {
  /** Whether the key belongs to the vendor's test mode, in which no money moves and live data is not visible. */
  isTestKey(api_key: string): boolean;
}

export interface Transfers extends KeyModes {
  /** Dates the answers, in ms: calls take time. */
  now: () => number;
  /** The amount transferred: the nearest that the vendor can move in currencies without every smallest unit. */
  transferableAmount(of: Pick<TransferOrder, "amount_cents" | "currency">): Cents;
  /** The exact request of a transfer, to be stored before the first call and never changed afterwards. */
  freeze(order: TransferOrder): string;
  send(api_key: string, request: string, idempotency_key: string): Promise<SendAnswer>;
  /** The money that transfers can use now; null if the vendor does not answer, or not to this key. */
  balances(api_key: string): Promise<Balances | null>;
  /** Looks up a transfer of the payout by any attempt. */
  find(api_key: string, payout_id: string): Promise<FindAnswer>;
  /** The vendor account of the key; a live account and its test mode are two accounts. */
  identify(api_key: string): Promise<IdentifyAnswer>;
}

export interface AccountOrder {
  program_id: string;
  partner_id: string;
  email: string;
  display_name: string;
  /** ISO 3166-1 alpha-2, upper case; null leaves the choice to the vendor. */
  country: string | null;
  /** How many accounts of the partner were disconnected: after each the same order creates a new account. */
  forgotten: number;
}

export interface OnboardingLink {
  url: string;
  /** ISO 8601. */
  expires_at: string;
}

/** `refused`: the vendor refuses the request; `unavailable`: it could not be reached, or requests a later retry. */
export type AccountAnswer<T> = { outcome: "done"; value: T } | ({ outcome: "refused" | "unavailable" } & Trouble);

export interface ConnectedAccounts extends KeyModes {
  /** Creates a connected account that can receive transfers; repeating the same order returns the same account. */
  createAccount(api_key: string, order: AccountOrder): Promise<AccountAnswer<{ account_id: string }>>;
  /** Creates a single-use link to the vendor's hosted onboarding of the account. */
  createLink(
    api_key: string,
    link: { account_id: string; return_url: string; refresh_url: string },
  ): Promise<AccountAnswer<OnboardingLink>>;
}
