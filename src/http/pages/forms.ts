import type { Context } from "hono";
import type * as z from "zod";
import { currencyExponent, decimalAmount } from "../../domain/currency.ts";
import { isCents } from "../../domain/money.ts";
import { AppError } from "../../lib/errors.ts";
import { statusOf } from "../errors.ts";
import type { PageEnv } from "../session.ts";
import { NO_NUMBER } from "../messages.ts";
import { detailsOf } from "../validate.ts";
import { startOfTyped } from "./filters.ts";

/** The problems of a form: of the form itself, and of its fields by name. */
export interface Problems {
  message: string;
  fields: Record<string, string>;
  /** Values that somebody else gave to fields while the form was open (`edits.ts`). */
  meanwhile?: Record<string, { value: string; by: string | null }>;
  /** The status of the page that shows it; 422 by default. */
  status?: ReturnType<typeof statusOf>;
}

/** All problems as one text, for a page that does not have the fields. */
export function problemText({ message, fields }: Problems): string {
  return Object.values(fields).join(" ") || message;
}

/** The trimmed texts of a sent form. A field that was not sent is undefined: verbs leave its column unchanged. */
export class FormFields {
  readonly #data: FormData;

  constructor(data: FormData) {
    this.#data = data;
  }

  /** Empty if the field was not sent: for display, or for a field that is not a column. */
  text(name: string): string {
    return this.given(name) ?? "";
  }

  given(name: string): string | undefined {
    const value = this.#data.get(name);
    return typeof value === "string" ? value.trim() : undefined;
  }

  /** The input with its blanks. */
  raw(name: string): string {
    const value = this.#data.get(name);
    return typeof value === "string" ? value.replaceAll("\r\n", "\n") : "";
  }

  /** Null if the input is empty. */
  textOrNull(name: string): string | null | undefined {
    return this.given(name) === undefined ? undefined : this.text(name) || null;
  }

  /** The first instant of a typed date in a time zone (PAGE-23), in the API's format; empty if the input is empty. */
  startOfDate(name: string, zone: string): string {
    return startOfTyped(this.text(name), zone);
  }

  /** `NaN` if the input is not a number, so that validation reports it; null if it is empty. */
  numberOrNull(name: string): number | null | undefined {
    const text = this.textOrNull(name);
    if (text === null || text === undefined) return text;
    return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  }

  number(name: string): number | undefined {
    const number = this.numberOrNull(name);
    return number === null ? Number.NaN : number;
  }

  /** An amount typed with the currency's decimals, in its smallest units; `NaN` if it is invalid. */
  money(name: string, currency: string): number | undefined {
    const text = this.given(name);
    return text === undefined ? undefined : parseMoney(text, currency);
  }

  /** Whether a `Checkbox` was ticked: it is sent either way. */
  isTicked(name: string): boolean | undefined {
    return this.has(name) ? this.all(name).some((value) => value !== "") : undefined;
  }

  all(name: string): string[] {
    return this.#data.getAll(name).filter((value) => typeof value === "string");
  }

  has(name: string): boolean {
    return this.#data.has(name);
  }

  /** All text fields with their input. */
  texts(): [name: string, value: string][] {
    return [...this.#data].filter((field): field is [string, string] => typeof field[1] === "string");
  }

  /** The fields whose name, or its part before a dot, is wanted. */
  only(isWanted: (name: string) => boolean): FormFields {
    const some = new FormData();
    for (const [name, value] of this.texts()) if (isWanted(name.split(".", 1)[0]!)) some.append(name, value);
    return new FormFields(some);
  }

  file(name: string): File | null {
    const value = this.#data.get(name);
    return value !== null && typeof value !== "string" && value.size > 0 ? value : null;
  }
}

/** The largest whole amount read, which with three decimals is still an exact number. */
const MAX_WHOLE = 1_000_000_000_000;

/** One comma and no point: in a currency of three decimals a thousands mark or a decimal mark, which differ a thousandfold. */
const EITHER_MARK = /^[^.,]*,[^.,]*$/;

/**
 * Parses `1234.5` of a two-decimal currency as 123450. Exact; `NaN` if there are more decimals than the currency has.
 * Commas and blanks separate thousands. In a currency of three decimals, `1,500` is `NaN`, and `1,500.000` and
 * `1,234,567` are amounts.
 */
export function parseMoney(text: string, currency: string): number {
  const exponent = currencyExponent(currency);
  if (exponent === 3 && EITHER_MARK.test(text)) return Number.NaN;
  const match = /^(-?)(\d{1,13})(?:\.(\d{1,3}))?$/.exec(text.replaceAll(/[ \u00a0\u202f,](?=\d{3}(?:\D|$))/g, ""));
  if (!match) return Number.NaN;
  const [, sign, whole, decimals = ""] = match;
  if (decimals.length > exponent) return Number.NaN;
  const units = Number(`${whole}${decimals.padEnd(exponent, "0")}`);
  if (Number(whole) > MAX_WHOLE) return Number.NaN;
  return sign === "-" ? 0 - units : units;
}

/** An amount as a form field shows it. */
export function moneyValue(amount_cents: number, currency: string): string {
  return isCents(amount_cents) ? decimalAmount(amount_cents, currency) : String(amount_cents);
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; problems: Problems };

/** The message of a form whose fields have problems. */
export const CHECK_FIELDS = "Please check the marked fields.";

/** The input parsed by `schema`, or its problems in plain words. */
export function parseInput<T extends z.ZodType>(schema: T, input: unknown): Parsed<z.output<T>> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const fields: Record<string, string> = {};
  // If a number field contains other text, the alternatives of its schema do not matter.
  for (const { path, input: given } of result.error.issues) {
    if (Number.isNaN(given)) fields[path.map(String).join(".")] ??= NO_NUMBER;
  }
  for (const { path, message } of detailsOf(result.error)) fields[path] ??= message;
  return { ok: false, problems: { message: CHECK_FIELDS, fields } };
}

/** The problems of a verb's refusal; rethrows an error that the person cannot correct. */
export function problemsOf(thrown: unknown): Problems {
  if (!(thrown instanceof AppError) || !CORRECTABLE.has(thrown.code)) throw thrown;
  const details = thrown.details ?? [];
  const fields = Object.fromEntries(details.map(({ path, message }) => [path, message]));
  return { message: thrown.code === "validation_failed" && details.length > 0 ? CHECK_FIELDS : thrown.message, fields };
}

/** Does the same as `problemsOf` with the page's status; a 429 has the time of the next attempt. */
export function refusalOf(c: Context<PageEnv>, thrown: unknown): Problems {
  const status = thrown instanceof AppError ? statusOf(thrown.code) : 422;
  if (!(thrown instanceof AppError) || thrown.code !== "rate_limited") return { ...problemsOf(thrown), status };
  c.header("Retry-After", String(thrown.retryAfter));
  return { message: thrown.message, fields: {}, status };
}

const CORRECTABLE = new Set([
  ...["validation_failed", "already_exists", "invalid_transition", "payout_held", "provider_not_configured"],
]);
