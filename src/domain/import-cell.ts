import { SLUG_PATTERN, type PartnerStatus } from "./partner.ts";

export type CellReading<T> = { ok: true; value: T } | { ok: false; message: string };

const MAX_CODES = 20;

/** Characters of a link; the address bars of browsers take no more. */
const MAX_LINK = 2_048;

/**
 * The codes in a cell: as they are, or as the query parameter of links; several are separated by blanks, commas,
 * semicolons or bars. A code is a slug here, or its links cannot go on working.
 */
export function readCodes(cell: string, params: readonly string[]): CellReading<string[]> {
  const codes: string[] = [];
  for (const part of cell.split(/[\s,;|]+/).filter(Boolean)) {
    if (part.length > MAX_LINK) return { ok: false, message: `${cut(part)} is too long for a code or a link.` };
    const code = /[/?]/.test(part) ? codeInLink(part, params) : part;
    if (code === null) {
      return {
        ok: false,
        message: `${cut(part)} is a link without ${params.map((param) => `?${param}=`).join(", ")}.`,
      };
    }
    if (!SLUG_PATTERN.test(code)) {
      return { ok: false, message: `${cut(code)} cannot be a slug, which is 1 to 64 letters, digits, - or _.` };
    }
    if (codes.length >= MAX_CODES) return { ok: false, message: `At most ${MAX_CODES} codes are read of a line.` };
    if (!codes.some((other) => other.toLowerCase() === code.toLowerCase())) codes.push(code);
  }
  return { ok: true, value: codes };
}

/** The promotion codes in a cell, which may have blanks and commas: several are separated by semicolons, bars or line breaks. */
export function splitPromotionCodes(cell: string): CellReading<string[]> {
  const codes = cell
    .split(/[;|\n]/)
    .map((part) => part.trim())
    .filter(Boolean);
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

/** What the products call the states of a partner. */
const STATUSES = new Map<string, PartnerStatus>([
  ...["active", "approved", "accepted", "enabled", "confirmed", "joined"].map((word) => [word, "active"] as const),
  ...["invited", "pending", "new", "applied", "unconfirmed", "waiting"].map((word) => [word, "invited"] as const),
  ...[
    ...["deactivated", "disabled", "inactive", "blocked", "banned", "rejected", "denied", "declined", "suspended"],
    ...["archived", "deleted", "removed", "terminated", "canceled", "cancelled"],
  ].map((word) => [word, "deactivated"] as const),
]);

/** The partner's state by the word that the product uses for it; an empty cell is `otherwise`. */
export function readStatus(
  cell: string,
  own: Readonly<Record<string, PartnerStatus>>,
  otherwise: PartnerStatus,
): CellReading<PartnerStatus> {
  if (cell === "") return { ok: true, value: otherwise };
  const word = cell.toLowerCase();
  const value = (Object.hasOwn(own, word) ? own[word] : undefined) ?? STATUSES.get(word);
  if (value !== undefined) return { ok: true, value };
  return { ok: false, message: `${cut(cell)} is no state that is known: write active, invited or deactivated.` };
}

const NOT_REFERRED = new Set([
  ...["visitor", "click", "moved", "denied", "rejected", "declined", "deleted", "archived"],
  ...["spam", "fraud", "fraudulent", "invalid"],
]);

/** Whether a referral in this state still is the partner's customer; one who has canceled is, and may come back. */
export function isReferred(status: string): boolean {
  return !NOT_REFERRED.has(status.toLowerCase());
}

/** `30`, `30%` and `12,5 %` as a number; `NaN` for what is none, null for nothing. */
export function readPercentage(cell: string): number | null {
  if (cell === "") return null;
  const match = /^(\d{1,3})(?:[.,](\d+))?\s*%?$/.exec(cell);
  return match ? Number(`${match[1]}.${match[2] ?? "0"}`) : Number.NaN;
}

/** A name in one cell: the first word, and what follows it. */
export function splitName(name: string): { first_name: string | null; last_name: string | null } {
  const [first = "", ...rest] = name.split(/\s+/);
  return { first_name: first || null, last_name: rest.join(" ") || null };
}

/** A cell as a message quotes it. */
function cut(text: string): string {
  return `“${text.length > 60 ? `${text.slice(0, 60)}…` : text}”`;
}
