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

/** What is wrong with a form: with the whole of it, and with its fields by name. */
export interface Problems {
  message: string;
  fields: Record<string, string>;
  /** What somebody else made of fields while the form was open, as the fields show it (`edits.ts`). */
  meanwhile?: Record<string, { value: string; by: string | null }>;
  /** Of the page that shows it; 422 unless given. */
  status?: ReturnType<typeof statusOf>;
}

/** All of it as one text, where no field is there to be marked. */
export function problemText({ message, fields }: Problems): string {
  return Object.values(fields).join(" ") || message;
}

/**
 * The fields of a sent form as texts, without the blanks around them. What is read for a verb is undefined where the field
 * was not sent, so that the verb leaves it as it is: the form may have been opened before the field was added to it.
 */
export class FormFields {
  readonly #data: FormData;

  constructor(data: FormData) {
    this.#data = data;
  }

  /** Empty where the field was not sent: for what is shown, or is no column. */
  text(name: string): string {
    return this.given(name) ?? "";
  }

  given(name: string): string | undefined {
    const value = this.#data.get(name);
    return typeof value === "string" ? value.trim() : undefined;
  }

  /** As it was typed, blanks and all. */
  raw(name: string): string {
    const value = this.#data.get(name);
    return typeof value === "string" ? value.replaceAll("\r\n", "\n") : "";
  }

  /** Null where nothing was typed. */
  textOrNull(name: string): string | null | undefined {
    return this.given(name) === undefined ? undefined : this.text(name) || null;
  }

  /** The first instant of a typed date in a time zone (PAGE-23), as the API takes it; empty where nothing was typed. */
  startOfDate(name: string, zone: string): string {
    return startOfTyped(this.text(name), zone);
  }

  /** `NaN` for what is no number, so that validation reports it; null where nothing was typed. */
  numberOrNull(name: string): number | null | undefined {
    const text = this.textOrNull(name);
    if (text === null || text === undefined) return text;
    return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  }

  number(name: string): number | undefined {
    const number = this.numberOrNull(name);
    return number === null ? Number.NaN : number;
  }

  /** An amount typed with the currency's decimals, in its smallest units; `NaN` for what is none. */
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

  /** All of it that is text, as it was typed. */
  texts(): [name: string, value: string][] {
    return [...this.#data].filter((field): field is [string, string] => typeof field[1] === "string");
  }

  /** The fields whose name, or the part of it before a dot, is wanted. */
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
 * `1234.5` of a two-decimal currency is 123450: exact, and `NaN` where there are more decimals than the currency has. Commas
 * and blanks part thousands. In a currency of three decimals, `1,500` is `NaN`, and `1,500.000` and `1,234,567` are amounts.
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

/** What is said of a form whose problems are at its fields. */
export const CHECK_FIELDS = "Please check the marked fields.";

/** The input as `schema` reads it, or what is wrong with it in words for people. */
export function parseInput<T extends z.ZodType>(schema: T, input: unknown): Parsed<z.output<T>> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const fields: Record<string, string> = {};
  // A field for numbers that holds something else is no matter of the forms that its schema allows.
  for (const { path, input: given } of result.error.issues) {
    if (Number.isNaN(given)) fields[path.map(String).join(".")] ??= NO_NUMBER;
  }
  for (const { path, message } of detailsOf(result.error)) fields[path] ??= message;
  return { ok: false, problems: { message: CHECK_FIELDS, fields } };
}

/** What a verb refused, for the form that asked; anything that the person cannot correct is thrown on. */
export function problemsOf(thrown: unknown): Problems {
  if (!(thrown instanceof AppError) || !CORRECTABLE.has(thrown.code)) throw thrown;
  const details = thrown.details ?? [];
  const fields = Object.fromEntries(details.map(({ path, message }) => [path, message]));
  return { message: thrown.code === "validation_failed" && details.length > 0 ? CHECK_FIELDS : thrown.message, fields };
}

/** The same for a form that may be sent only so often, with the status of its page: 429 says when it may be sent again. */
export function refusalOf(c: Context<PageEnv>, thrown: unknown): Problems {
  const status = thrown instanceof AppError ? statusOf(thrown.code) : 422;
  if (!(thrown instanceof AppError) || thrown.code !== "rate_limited") return { ...problemsOf(thrown), status };
  c.header("Retry-After", String(thrown.retryAfter));
  return { message: thrown.message, fields: {}, status };
}

const CORRECTABLE = new Set(["validation_failed", "already_exists", "invalid_transition", "provider_not_configured"]);
