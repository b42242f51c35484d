import { SUB_PATTERN } from "./link.ts";
import { SLUG_PATTERN } from "./partner.ts";

/** Reasons why an arrival is counted but not logged. The last four are decided when a batch is flushed. */
export const CLICK_DROP_REASONS = [
  "bot",
  "duplicate",
  "flood",
  "unknown_ref",
  "partner_deactivated",
  "over_budget",
  "database_full",
] as const;
export type ClickDropReason = (typeof CLICK_DROP_REASONS)[number];

/**
 * The bytes stored of `landing` and `referrer` as JSON, each and together (TRACK-25): a log row takes at most 1,200.
 */
export const KEPT_BYTES = { each: 256, both: 384 } as const;

/** Clicks recorded for a program on any day, and the multiple of its usual day that it gets beyond that (TRACK-26). */
export const CLICK_BUDGET = { least: 100_000, times: 10 } as const;

/** A click as the visitor's page reports it, after validation. */
export interface Click {
  program_id: string;
  /** Partner slug in the sender's case; the flush finds the partner. */
  ref: string;
  /** The path of arrival, without query and fragment, which may carry private data. */
  landing: string;
  /** The page the visitor came from, without query and fragment, or empty. */
  referrer: string;
  /** The partner's own id of the link's place (TRACK-19). */
  sub?: string | undefined;
  /** Made by the sender and repeated on its retry, so that a repeated click is recognized. */
  id: string | null;
}

/** An arrival on its way to the audit log: a click with its minted event id, or one that is only counted as dropped. */
export type Arrival =
  | {
      id: string;
      created_at: string;
      program_id: string;
      ref: string;
      landing: string;
      referrer: string;
      sub?: string | undefined;
      country?: string | undefined;
    }
  | { created_at: string; program_id: string; dropped: ClickDropReason };

export type ParsedClick = { ok: true; click: Click } | { ok: false; details: { path: string; message: string }[] };

/**
 * Parses `{program_id, ref, landing, referrer}` (TRACK-9) and the optional `sub` and `id`; unknown fields are refused
 * (HTTP-6). Pure, never throws. Hand-written because it runs once per click: a schema library costs as much as the
 * parse.
 */
export function parseClick(body: unknown): ParsedClick {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return { ok: false, details: [{ path: "", message: "must be an object" }] };
  }
  const details: { path: string; message: string }[] = [];
  let program_id = "";
  let ref = "";
  let landing = "/";
  let referrer = "";
  let sub: string | undefined;
  let id: string | null = null;
  const fields = body as Record<string, unknown>;
  for (const field in fields) {
    const value = fields[field];
    if (!FIELDS.has(field)) details.push({ path: field, message: "unknown field" });
    else if (typeof value !== "string") details.push({ path: field, message: "must be a string" });
    else if (field === "program_id") program_id = value;
    else if (field === "ref") ref = value;
    else if (field === "landing") landing = value;
    else if (field === "referrer") referrer = value;
    else if (field === "sub") sub = SUB_PATTERN.test(value) ? value : undefined;
    else id = value;
  }
  for (const [field, pattern, message] of REQUIRED) {
    const value = fields[field];
    if (value === undefined) details.push({ path: field, message: "required" });
    else if (typeof value === "string" && !pattern.test(value)) details.push({ path: field, message });
  }
  if (landing.charCodeAt(0) !== SLASH) details.push({ path: "landing", message: "must be a path that begins with /" });
  if (referrer !== "" && !URL_PATTERN.test(referrer)) {
    details.push({ path: "referrer", message: "must be a URL or empty" });
  }
  if (id !== null && !CLICK_ID_PATTERN.test(id)) {
    details.push({ path: "id", message: "must be 1 to 64 letters, digits, ., - or _" });
  }
  if (details.length > 0) return { ok: false, details };
  landing = cutText(landing, KEPT_BYTES.each);
  referrer = cutText(referrer, Math.min(KEPT_BYTES.each, KEPT_BYTES.both - bytesOf(landing)));
  return { ok: true, click: { program_id, ref, landing, referrer, sub, id } };
}

/** The form of a program id; the flush checks whether it exists. */
export const PROGRAM_ID_PATTERN = /^prog_[A-Za-z0-9]{1,64}$/;
export const CLICK_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

const FIELDS = new Set(["program_id", "ref", "landing", "referrer", "sub", "id"]);
const REQUIRED = [
  ["program_id", PROGRAM_ID_PATTERN, "must be a program id (prog_…)"],
  ["ref", SLUG_PATTERN, "must be 1 to 64 letters, digits, - or _"],
] as const;
const URL_PATTERN = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/]/;
const SLASH = 0x2f;
// eslint-disable-next-line no-control-regex -- it removes control characters
const CONTROL_PATTERN = /[\u0000-\u001f\u007f]/g;

/** Removes query, fragment, control characters and lone surrogates, and cuts to so many bytes between characters. */
function cutText(text: string, bytes: number): string {
  const end = text.search(/[?#]/);
  // Each character takes a byte or more.
  const start = text.slice(0, end < 0 ? bytes : Math.min(end, bytes));
  const clean = start.toWellFormed().replace(CONTROL_PATTERN, "");
  let taken = 0;
  let length = 0;
  for (const character of clean) {
    taken += bytesOf(character);
    if (taken > bytes) return clean.slice(0, length);
    length += character.length;
  }
  return clean;
}

/** The bytes of a text in JSON, which escapes quotation marks and backslashes. */
function bytesOf(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE || unit === BACKSLASH) bytes += 2;
    else if (unit < 0x80) bytes += 1;
    // Two bytes for each half of a surrogate pair.
    else bytes += unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3;
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
