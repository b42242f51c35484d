/** Schemas of values in requests. */
import * as z from "zod";
import { isCurrency } from "../domain/currency.ts";
import { hasAtMostFourDecimals, LARGEST, negate } from "../domain/money.ts";
import { isDate } from "../domain/time-zone.ts";
import { isVisible } from "../domain/visible.ts";
import { iso } from "../lib/time.ts";

/** A text that can be stored and returned unchanged: no lone surrogate, no NUL; `min` to `max` characters. */
export function text(max: number, min: 0 | 1 = 1) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine(
      (value) => value.isWellFormed() && !value.includes("\0"),
      "This text holds characters that are not allowed.",
    );
}

/** Pasted by hand, so the blanks around it are not part of it. */
export function trimmed(max: number) {
  return z.string().trim().pipe(visibleText(max));
}

/** An e-mail address of at most 254 characters. */
export const email = z.email().max(254);

/** An amount in smallest units, of either sign (PAY-22). */
export const cents = z.int({ abort: true }).min(negate(LARGEST)).max(LARGEST).brand<"Cents">();

/** 0 to 100 with at most four decimals (PROG-2). */
export const percentage = z
  .number()
  .min(0)
  .max(100)
  .refine(hasAtMostFourDecimals, "A percentage has at most four decimals.")
  .brand<"Percent">();

/** An ISO 4217 code of money in use, in upper case. */
const NOT_A_CURRENCY = "This must be an ISO 4217 code in upper case, such as USD.";
export const currency = z.string().refine(isCurrency, NOT_A_CURRENCY);

/** Values by currency, in the order of the codes; at most `max` of them, else `tooMany` is reported. */
export function byCurrency<Value extends z.ZodType>(value: Value, max: number, tooMany: string) {
  // A record drops the field `__proto__` before its checks.
  const refuseProto = (given: unknown, issues: z.core.$RefinementCtx) => {
    if (typeof given === "object" && given !== null && Object.hasOwn(given, "__proto__"))
      issues.addIssue({ code: "custom", path: ["__proto__"], message: NOT_A_CURRENCY });
    return given;
  };
  const values = z
    .record(z.string(), value)
    .superRefine((given, issues) => {
      const codes = Object.keys(given);
      for (const code of codes) {
        if (!isCurrency(code)) issues.addIssue({ code: "custom", path: [code], message: NOT_A_CURRENCY });
      }
      if (codes.length > max) issues.addIssue({ code: "custom", message: tooMany });
    })
    .transform((given) => Object.fromEntries(Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1))));
  return z.preprocess(refuseProto, values);
}

/** ISO 3166-1 alpha-2, in any case. */
export const country = z
  .string()
  .trim()
  .toUpperCase()
  .regex(/^[A-Z]{2}$/, "This must be a country code of two letters, such as DE.");

/** A text of 1 to `max` characters, of which a person sees some. */
export function visibleText(max: number) {
  return text(max).refine((value) => value === "" || isVisible(value), "This must have a character that can be seen.");
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/;
/** The last day of four-digit years, 9999-12-31: beyond it timestamps no longer sort as texts. */
const LAST_MS = 253_402_214_400_000;

/** An ISO 8601 date or time in milliseconds, moved by `bound`. A time without a zone is UTC. */
export function instant(bound: (ms: number, bareDate: boolean) => number) {
  return z.string().transform((value, issues) => {
    // A plus sign that the caller did not encode arrives as a space.
    const given = value.replace(/ (\d{2}:\d{2})$/, "+$1");
    const bareDate = DATE.test(given);
    const zoned = bareDate || /(Z|[+-]\d{2}:\d{2})$/.test(given) ? given : `${given}Z`;
    const ms = (bareDate || TIMESTAMP.test(given)) && isDate(given.slice(0, 10)) ? Date.parse(zoned) : Number.NaN;
    if (Number.isNaN(ms)) {
      issues.addIssue({ code: "custom", message: "This must be an ISO 8601 date or time." });
      return z.NEVER;
    }
    // Both bounds are instants, and every stored one is a whole millisecond: a fraction moves to the next one.
    const whole = /\.\d{3}\d*[1-9]/.test(given) ? ms + 1 : ms;
    return Math.min(Math.max(bound(whole, bareDate), 0), LAST_MS);
  });
}

/** An ISO 8601 date or time, as it is stored; a bare date is its first instant in UTC. */
export const time = instant((ms) => ms).transform(iso);
