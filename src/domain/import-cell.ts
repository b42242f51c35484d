import { withoutInvisible } from "./invisible.ts";
import { SLUG_PATTERN, type PartnerStatus, type PayoutMethod, type TRANSFER_METHOD } from "./partner.ts";

export type CellReading<T> = { ok: true; value: T } | { ok: false; message: string };

const MAX_CODES = 20;

/** Characters of a link; the address bars of browsers take no more. */
const MAX_LINK = 2_048;

/** Exports write these for an empty cell. */
const NOTHING = /^(?:[-–—_.]+|[([]?(?:none|empty|null|undefined)[)\]]?|#?n\/a)$/i;

/**
 * The text of an identifier, an amount or a word: without invisible characters, and empty where the cell says that there is
 * nothing. Names are free texts, and are read as they are.
 */
export function cellText(cell: string): string {
  const text = withoutInvisible(cell);
  return NOTHING.test(text) ? "" : text;
}

/** The parts of a cell with several codes: separated by commas, semicolons, bars or line breaks, never by blanks. */
function splitCodes(cell: string): string[] {
  return cell
    .split(/[,;|\r\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/**
 * The codes in a cell (`splitCodes`): as they are, or as the query parameter of links. A code is a slug here, or its links
 * cannot go on working.
 */
export function readCodes(cell: string, params: readonly string[]): CellReading<string[]> {
  const codes: string[] = [];
  for (const part of splitCodes(cell)) {
    if (part.length > MAX_LINK) return { ok: false, message: `${quoted(part)} is too long for a code or a link.` };
    const code = /[/?]/.test(part) ? codeInLink(part, params) : part;
    if (code === null) {
      return {
        ok: false,
        message: `${quoted(part)} is a link without ${params.map((param) => `?${param}=`).join(", ")}.`,
      };
    }
    if (!SLUG_PATTERN.test(code)) {
      return { ok: false, message: `${quoted(code)} cannot be a slug, which is 1 to 64 letters, digits, - or _.` };
    }
    if (codes.length >= MAX_CODES) return { ok: false, message: `At most ${MAX_CODES} codes are read of a line.` };
    if (!codes.some((other) => other.toLowerCase() === code.toLowerCase())) codes.push(code);
  }
  return { ok: true, value: codes };
}

/** The promotion codes in a cell (`splitCodes`), which may have blanks. */
export function splitPromotionCodes(cell: string): CellReading<string[]> {
  const codes = splitCodes(cell);
  if (codes.length <= MAX_CODES) return { ok: true, value: codes };
  return { ok: false, message: `At most ${MAX_CODES} codes are read of a line.` };
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

/** A word as the tables below have it: letters alone, in lower case. */
function wordKey(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}]+/gu, "");
}

function wordTable<T>(words: Record<string, readonly string[]>): ReadonlyMap<string, T> {
  return new Map(Object.entries(words).flatMap(([value, all]) => all.map((word) => [word, value as T])));
}

/** What the products call the states of a partner. */
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

/** The partner's state by the word that the product uses for it; null for an empty cell. */
export function readStatus(
  cell: string,
  own: Readonly<Record<string, PartnerStatus>>,
): CellReading<PartnerStatus | null> {
  if (cell === "") return { ok: true, value: null };
  const word = wordKey(cell);
  const value = (Object.hasOwn(own, word) ? own[word] : undefined) ?? STATUSES.get(word);
  if (value !== undefined) return { ok: true, value };
  return { ok: false, message: `${quoted(cell)} is not a known state: write active, invited or deactivated.` };
}

/** Words of payout methods; of that by transfer the word is its provider's name, which the caller gives. */
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

/** No method of payment in any product: somebody pays in a way of their own, or has not chosen. */
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

/** Words that go with a method and are none. */
const BESIDE_METHOD = new Set([
  ...["transfer", "transfers", "account", "accounts", "payout", "payouts", "payment", "payments", "mass", "pay"],
  ...["deposit", "direct", "international", "domestic", "local", "global", "business", "personal", "via", "by", "to"],
  ...["connect", "express", "address", "email", "usd", "eur", "gbp", "us", "uk", "eu", "manual", "the", "and", "or"],
]);

/**
 * The payout method by the words that products use: `PayPal`, `Bank transfer (SEPA)`. Null where none is named. `own` are the
 * names that the providers of this deployment have, in lower case. What names two methods, or a word that is not known, is
 * not read.
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
  return { ok: false, message: `${quoted(cell)} is not a known payout method.` };
}

const NOT_REFERRED = new Set([
  ...["visitor", "click", "moved", "denied", "rejected", "declined", "deleted", "archived"],
  ...["spam", "fraud", "fraudulent", "invalid"],
]);

/** Whether a referral in this state still is the partner's customer; one who has canceled is, and may come back. */
export function isReferred(status: string): boolean {
  return !NOT_REFERRED.has(wordKey(status));
}

/** `30`, `30%`, `12,5 %` and `20 percent` as a number; `NaN` for what is none, null for nothing. */
export function readPercentage(cell: string): number | null {
  if (cell === "") return null;
  const match = /^(?:%\s*)?(\d{1,6})(?:[.,](\d{1,9}))?\s*(?:%|percent|pct)?$/i.exec(cell);
  return match ? Number(`${match[1]}.${match[2] ?? "0"}`) : Number.NaN;
}

/** A name in one cell: the first word, and what follows it. */
export function splitName(name: string): { first_name: string | null; last_name: string | null } {
  const [first = "", ...rest] = name.split(/\s+/);
  return { first_name: first || null, last_name: rest.join(" ") || null };
}

/** A cell as a message quotes it. */
export function quoted(text: string): string {
  return `“${text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text}”`;
}
