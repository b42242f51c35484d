/**
 * Paying out through a payment provider's connected accounts. Implementations know the vendor's wire format; nothing
 * outside `providers/` does. None of these functions throws: what went wrong is their answer.
 */
import type { Cents } from "../domain/money.ts";

/** A transfer to be made, once, for one payout. */
export interface TransferOrder {
  payout_id: string;
  program_id: string;
  partner_id: string;
  /** Smallest units, positive. */
  amount_cents: Cents;
  /** ISO 4217, upper case. */
  currency: string;
  /** The connected account it goes to. */
  account_id: string;
}

/** How the vendor's last word or its silence is shown to the owner; `code` is the vendor's own where it has one. */
export interface Trouble {
  code: string;
  message: string;
}

export type SendAnswer =
  /** `is_past`: the vendor has said so before and only repeats it, or something was taken back of it since. */
  | { outcome: "made"; transfer_id: string; is_past: boolean }
  /** The vendor will not make this transfer, and has not. */
  | ({ outcome: "refused" } & Trouble)
  /** It may have been made, or not yet. Only the same request under the same key may be sent again. */
  | ({
      outcome: "unknown";
      /** How long the vendor asks to wait; null when it says nothing. */
      retry_after_ms: number | null;
      /** The vendor answered that it failed: the answer may be repeated for the key's life, so looking is better. */
      worth_looking: boolean;
    } & Trouble);

/** A transfer as the vendor keeps it. */
export interface MadeTransfer {
  transfer_id: string;
  /** Smallest units. */
  amount_cents: Cents;
  /** ISO 4217, upper case. */
  currency: string;
  /** The connected account that it went to; null where the vendor does not say. */
  account_id: string | null;
  /** What was taken back of it, in smallest units. */
  reversed_cents: Cents;
}

export type FindAnswer =
  /** All of the payout that the vendor has, also those that were taken back. */
  | { outcome: "made"; transfers: readonly MadeTransfer[] }
  | { outcome: "none" }
  | ({ outcome: "unknown"; retry_after_ms: number | null } & Trouble);

export type IdentifyAnswer =
  | { outcome: "known"; account: string }
  | ({ outcome: "unknown"; retry_after_ms: number | null } & Trouble);

/** What an API key says of itself. */
export interface KeyModes {
  /** Whether it is of the vendor's test mode, in which no money moves, and which shows nothing that is live. */
  isTestKey(api_key: string): boolean;
}

export interface Transfers extends KeyModes {
  /** The clock that dates its answers, ms: they take their time. */
  now: () => number;
  /**
   * What is transferred of an amount above 0: in a currency of which the vendor does not move every smallest unit, the
   * nearest that it does.
   */
  transferred(of: Pick<TransferOrder, "amount_cents" | "currency">): Cents;
  /** The exact request of a transfer, to be stored before the first sending and sent unchanged ever after. */
  freeze(order: TransferOrder): string;
  send(api_key: string, request: string, idempotency_key: string): Promise<SendAnswer>;
  /** Looks for a transfer of the payout, whatever attempt made it. */
  find(api_key: string, payout_id: string): Promise<FindAnswer>;
  /** Which account of the vendor the key belongs to, a live one and its test mode being two. */
  identify(api_key: string): Promise<IdentifyAnswer>;
}

export interface AccountOrder {
  program_id: string;
  partner_id: string;
  email: string;
  display_name: string;
  /** ISO 3166-1 alpha-2, upper case; null leaves it to the vendor. */
  country: string | null;
  /** How many accounts of the partner were forgotten: after each the same order is another one. */
  forgotten: number;
}

export interface OnboardingLink {
  url: string;
  /** ISO 8601. */
  expires_at: string;
}

/** `refused`: the vendor will not do it as asked; `unavailable`: it could not be reached or asks to come again. */
export type AccountAnswer<T> = { outcome: "done"; value: T } | ({ outcome: "refused" | "unavailable" } & Trouble);

export interface ConnectedAccounts extends KeyModes {
  /** Creates a connected account that can receive transfers; asked again for the same order it is the same account. */
  createAccount(api_key: string, order: AccountOrder): Promise<AccountAnswer<{ account_id: string }>>;
  /** A single-use link to the vendor's hosted onboarding of that account. */
  createLink(
    api_key: string,
    link: { account_id: string; return_url: string; refresh_url: string },
  ): Promise<AccountAnswer<OnboardingLink>>;
}
