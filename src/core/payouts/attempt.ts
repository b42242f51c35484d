import { sha256Hex } from "../../lib/crypto.ts";
import type { MadeTransfer, Transfers, Trouble } from "../../providers/connect.ts";
import type { Payout } from "../kernel/rows.ts";

/** Stored before the vendor is first called in an attempt. */
export interface FrozenAttempt {
  /** The exact request; it never changes. */
  request: string;
  /** Identifies the attempt's key without containing it. */
  key_mark: string;
  /** The vendor account in which the transfer may have been made; absent or null if unknown. */
  account?: string | null;
  /** Transfers of the payout that earlier attempts, or this one, found reversed: they do not affect a later attempt. */
  taken_back?: readonly string[] | undefined;
  /** Transfers that the vendor's events reported as reversed in full while the attempt was open. */
  reversed?: readonly string[] | undefined;
}

export function attemptOf(payout: Payout): FrozenAttempt {
  return JSON.parse(payout.attempt_params ?? "null") as FrozenAttempt;
}

/** True for a transfer whose whole amount was reversed, so that no money arrived. */
export function isTakenBack({ amount_cents, reversed_cents }: MadeTransfer): boolean {
  return reversed_cents >= amount_cents;
}

/**
 * The result of this attempt according to the vendor's transfers of the payout (OUT-14). An existing transfer has paid,
 * even if a part of it was reversed, which the reconciler reports; if all were reversed, and not all before this
 * attempt, it has failed. Null if the transfers do not show a result.
 */
export function resultOfTransfers(transfers: readonly MadeTransfer[], { taken_back = [] }: FrozenAttempt) {
  const paid = transfers.find((one) => !isTakenBack(one));
  if (paid) return { outcome: "made" as const, transfer_id: paid.transfer_id };
  const ids = transfers.map(({ transfer_id }) => transfer_id);
  if (ids.every((id) => taken_back.includes(id))) return null;
  return { outcome: "refused" as const, ...TAKEN_BACK, taken_back: [...new Set([...taken_back, ...ids])] };
}

export const TAKEN_BACK: Trouble = {
  code: "transfer_reversed",
  message:
    "The transfer was made and then fully reversed at the payment provider, so the partner was not paid. Pay the payout again, or cancel it.",
};

export async function keyMark(api_key: string): Promise<string> {
  return (await sha256Hex(`payout attempt ${api_key}`)).slice(0, 16);
}

/**
 * The relation of a key to the one that began the attempt. Another account's key does not see the transfer: its lookup
 * would prove no fact, and sending with it would make a second transfer. A key that may belong to another account is
 * never used to send (OUT-7).
 */
export type Standing =
  | { is: "same_key" | "same_account" }
  | ({ is: "other_account" | "unsure"; retry_after_ms: number | null } & Trouble);

export async function standingOf(frozen: FrozenAttempt, api_key: string, transfers: Transfers): Promise<Standing> {
  if (frozen.key_mark === (await keyMark(api_key))) return { is: "same_key" };
  if (!frozen.account) return { is: "unsure", ...KEY_REPLACED, retry_after_ms: null };
  const identified = await transfers.identify(api_key);
  if (identified.outcome === "unknown") return { ...identified, is: "unsure" };
  if (identified.account === frozen.account) return { is: "same_account" };
  return {
    is: "other_account",
    code: "other_account",
    message: `The transfer was started with an API key of ${frozen.account}, but the stored key belongs to ${identified.account}. It waits for a key of the first account.`,
    retry_after_ms: null,
  };
}

const KEY_REPLACED: Trouble = {
  code: "api_key_replaced",
  message:
    "The transfer was started with another API key, which may belong to another account. It waits until that key is stored again.",
};

/** The attempt as it is stored when it stays open: with the account, once it is known. */
export async function openAttempt(
  frozen: FrozenAttempt,
  standing: Standing,
  api_key: string,
  transfers: Transfers,
): Promise<FrozenAttempt> {
  if (standing.is !== "same_key" || frozen.account) return frozen;
  const identified = await transfers.identify(api_key);
  return identified.outcome === "known" ? { ...frozen, account: identified.account } : frozen;
}
