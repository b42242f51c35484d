import { withoutInvisible } from "./invisible.ts";
import { SLUG_PATTERN, type PartnerStatus, type PayoutMethod, type TRANSFER_METHOD } from "./partner.ts";

export type CellReading<T> = { ok: true; value: T } | { ok: false; message: string };

const MAX_CODES = 20;

/** Longest link; browsers' address bars do not accept more. */
const MAX_LINK = 2_048;

/** Placeholders that exports write for an empty cell. */
const NOTHING = /^(?:[-–—_.]+|[([]?(?:none|empty|null|undefined)[)\]]?|#?n\/a)$/i;

/** The text of an id, amount or word, without invisible characters; empty for a placeholder. Not for names. */
export function cellText(cell: string): string {
  const text = withoutInvisible(cell);
  return NOTHING.test(text) ? "" : text;
}

/** Splits a cell with several codes at commas, semicolons, bars or line breaks, but not at blanks. */
function splitCodes(cell: string): string[] {
  return cell
    .split(/[,;|\r\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** The codes in a cell (`splitCodes`), bare or in a link's query. Each must be a slug, or its links would break. */
export function readCodes(cell: string, params: readonly string[]): CellReading<string[]> {
  const codes: string[] = [];
  for (const part of splitCodes(cell)) {
    if (part.length > MAX_LINK) return { ok: false, message: `${quoteCell(part)} is too long for a code or a link.` };
    const code = /[/?]/.test(part) ? codeInLink(part, params) : part;
    if (code === null) {
      return {
        ok: false,
        message: `${quoteCell(part)} is a link without ${params.map((param) => `?${param}=`).join(", ")}.`,
      };
    }
    if (!SLUG_PATTERN.test(code)) {
      return { ok: false, message: `${quoteCell(code)} cannot be a slug, which is 1 to 64 letters, digits, - or _.` };
    }
    if (codes.length >= MAX_CODES) return { ok: false, message: `At most ${MAX_CODES} codes per line are allowed.` };
    if (!codes.some((other) => other.toLowerCase() === code.toLowerCase())) codes.push(code);
  }
  return { ok: true, value: codes };
}

/** The promotion codes in a cell (`splitCodes`), which may contain blanks. */
export function splitPromotionCodes(cell: string): CellReading<string[]> {
  const codes = splitCodes(cell);
  if (codes.length <= MAX_CODES) return { ok: true, value: codes };
  return { ok: false, message: `At most ${MAX_CODES} codes per line are allowed.` };
}

function codeInLink(link: string, params: readonly string[]): string | null {
  const url = URL.parse(link.includes("://") ? link : `https://${link}`);
  if (!url) return null;
  const fragment = new URLSearchParams(url.hash.slice(1));
  for (const param of params) {
    const code = url.searchParams.get(param) ?? fragment.get(param);
    if (code !== null && code !== "") return code;
  }
  return null;
}

/** The lookup form of a word: letters alone, in lower case. */
function wordKey(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}]+/gu, "");
}

function wordTable<T>(words: Record<string, readonly string[]>): ReadonlyMap<string, T> {
  return new Map(Object.entries(words).flatMap(([value, all]) => all.map((word) => [word, value as T])));
}

/** Names of partner states in the products' exports. */
const STATUSES = wordTable<PartnerStatus>({
  active: ["active", "approved", "accepted", "enabled", "confirmed", "joined", "verified", "live"],
  invited: [
    ...["invited", "pending", "new", "applied", "unconfirmed", "waiting", "pendingapproval", "awaitingapproval"],
    ...["inreview", "underreview", "onhold", "waitlisted", "unverified"],
  ],
  deactivated: [
    ...["deactivated", "disabled", "inactive", "blocked", "banned", "rejected", "denied", "declined", "suspended"],
    ...["archived", "deleted", "removed", "terminated", "canceled", "cancelled", "paused", "closed", "notapproved"],
    ...["fraud", "fraudulent", "spam", "expired", "left"],
  ],
});

/** The partner's state for a product's word; null for an empty cell. */
export function readStatus(
  cell: string,
  own: Readonly<Record<string, PartnerStatus>>,
): CellReading<PartnerStatus | null> {
  if (cell === "") return { ok: true, value: null };
  const word = wordKey(cell);
  const value = (Object.hasOwn(own, word) ? own[word] : undefined) ?? STATUSES.get(word);
  if (value !== undefined) return { ok: true, value };
  return { ok: false, message: `${quoteCell(cell)} is not a known state: write active, invited or deactivated.` };
}

/** Names of payout methods; the caller adds the provider's name for the transfer method. */
const METHODS = wordTable<Exclude<PayoutMethod, typeof TRANSFER_METHOD>>({
  wallet: [
    ...["wallet", "ewallet", "paypal", "pp", "wise", "transferwise", "payoneer", "skrill", "neteller", "venmo"],
    ...["revolut", "cashapp", "alipay"],
  ],
  bank_transfer: [
    ...["bank", "banktransfer", "wire", "wiretransfer", "ach", "eft", "sepa", "swift", "iban", "bacs", "giro"],
    ...["directdeposit", "banküberweisung", "überweisung", "virement", "transferencia"],
  ],
  crypto: ["crypto", "cryptocurrency", "bitcoin", "btc", "ethereum", "eth", "usdt", "usdc", "tether", "stablecoin"],
});

/** Values that name no method in any product: the partner is paid in another way, or has not chosen. */
const NO_METHOD = new Set([
  ...[
    "manual",
    "manually",
    "manualpayout",
    "manualpayment",
    "na",
    "no",
    "nil",
    "empty",
    "unset",
    "notset",
    "notselected",
  ],
  ...["notspecified", "notprovided", "default", "other", "tbd"],
]);

/** Words that accompany a method without naming one. */
const BESIDE_METHOD = new Set([
  ...["transfer", "transfers", "account", "accounts", "payout", "payouts", "payment", "payments", "mass", "pay"],
  ...["deposit", "direct", "international", "domestic", "local", "global", "business", "personal", "via", "by", "to"],
  ...["connect", "express", "address", "email", "usd", "eur", "gbp", "us", "uk", "eu", "manual", "the", "and", "or"],
]);

/**
 * Recognizes a payout method in a product's words; null without a name, an error for two or an unknown word. `own`:
 * our providers' names, lower case.
 */
export function readPayoutMethod(
  cell: string,
  own: ReadonlyMap<string, PayoutMethod>,
): CellReading<PayoutMethod | null> {
  const methodOf = (word: string) => own.get(word) ?? METHODS.get(word);
  const whole = cell.toLowerCase();
  const method = own.get(whole) ?? methodOf(wordKey(cell));
  if (method !== undefined) return { ok: true, value: method };
  if (cell === "" || NO_METHOD.has(wordKey(cell))) return { ok: true, value: null };
  const words = whole.split(/[^\p{L}]+/u).filter((word) => word !== "" && !BESIDE_METHOD.has(word));
  const named = new Set(words.map(methodOf));
  const [only] = named;
  if (named.size === 1 && only !== undefined) return { ok: true, value: only };
  return { ok: false, message: `${quoteCell(cell)} is not a known payout method.` };
}

const NOT_REFERRED = new Set([
  ...["visitor", "click", "moved", "denied", "rejected", "declined", "deleted", "archived"],
  ...["spam", "fraud", "fraudulent", "invalid"],
]);

/** Whether a referral in this state is still the partner's customer; a customer who canceled is, and may return. */
export function isReferred(status: string): boolean {
  return !NOT_REFERRED.has(wordKey(status));
}

/** Parses `30`, `30%`, `12,5 %` and `20 percent`; `NaN` for any other text, null for an empty cell. */
export function readPercentage(cell: string): number | null {
  if (cell === "") return null;
  const match = /^(?:%\s*)?(\d{1,6})(?:[.,](\d{1,9}))?\s*(?:%|percent|pct)?$/i.exec(cell);
  return match ? Number(`${match[1]}.${match[2] ?? "0"}`) : Number.NaN;
}

/** Splits a full name: the first word, and the rest. */
export function splitName(name: string): { first_name: string | null; last_name: string | null } {
  const [first = "", ...rest] = name.split(/\s+/);
  return { first_name: first || null, last_name: rest.join(" ") || null };
}

/** A cell as a message quotes it. */
export function quoteCell(text: string): string {
  return `“${text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text}”`;
}
