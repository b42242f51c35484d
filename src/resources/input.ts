/** Schemas of values in requests. */
import * as z from "zod";
import { hasAtMostFourDecimals, LARGEST, negate } from "../domain/money.ts";

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
  return z.string().trim().pipe(text(max));
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
