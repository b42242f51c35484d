import type { Cents } from "./money.ts";

export const ATTRIBUTIONS = ["last", "first"] as const;
export type Attribution = (typeof ATTRIBUTIONS)[number];

export const CODE_PRECEDENCES = ["link", "code"] as const;
/** The precedence if a payment has both: the reference of a link, or a promotion code. */
export type CodePrecedence = (typeof CODE_PRECEDENCES)[number];

export const SALE_AMOUNTS = ["shown", "hidden"] as const;
/** Whether partners see the amounts that their customers paid. */
export type SaleAmounts = (typeof SALE_AMOUNTS)[number];

/** Minimum payouts in currencies other than the program's: amounts in smallest units, by ISO code (OUT-19). */
export type MinPayouts = Readonly<Record<string, Cents>>;

/** The most currencies with a minimum of their own. */
export const MAX_MIN_PAYOUTS = 50;

/** `NET-` and 0–365: the days from a period's end to its payouts' due date (PROG-1). */
export const PAYOUT_TERM_PATTERN = /^NET-(?:0|[1-9]\d?|[12]\d\d|3[0-5]\d|36[0-5])$/;

/** Normalizes a domain: lower case, ASCII. Null unless a full host name without port, path or scheme. */
export function normalDomain(text: string): string | null {
  if (text.length > MAX_LENGTH || /[^\p{L}\p{M}\p{N}.-]/u.test(text) || !URL.canParse(`https://${text}/`)) return null;
  const domain = new URL(`https://${text}/`).hostname;
  const labels = domain.split(".");
  const isName = labels.length >= 2 && domain.length <= MAX_LENGTH && labels.every((label) => LABEL.test(label));
  return isName && !/^\d+$/.test(labels.at(-1) ?? "") ? domain : null;
}

/** Longest host name (RFC 1035), in any notation. */
const MAX_LENGTH = 253;

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
