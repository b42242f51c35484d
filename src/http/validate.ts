import * as z from "zod";
import { invalidField, type ErrorDetail } from "../lib/errors.ts";
import { DAY } from "../lib/time.ts";
import { instant } from "../resources/input.ts";
// eslint-disable-next-line import/no-unassigned-import -- sets the error messages of every schema
import "./messages.ts";

/** An object schema with exactly the fields of a verb's `Input`; unknown fields of a request are refused. */
export function takes<Input>() {
  return <S extends { [K in keyof Input]-?: z.core.$ZodType<Input[K] | undefined> }>(
    shape: S & { [K in Exclude<keyof S, keyof Input>]: never },
  ) => z.strictObject<S>(shape);
}

/** Zod's issues as paths and messages; an unknown field is named itself, not the object around it. */
export function detailsOf(error: z.core.$ZodError): ErrorDetail[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ path: [...path, key].join("."), message: "This field is not known." }));
    }
    return [{ path: path.join("."), message: issue.message }];
  });
}

/** An id from the caller. Never the empty text, which a filter could take for a missing id. */
export const givenId = z.string().min(1).max(64);

/** A decimal positive integer, as a query string spells it. */
function positiveInteger(max: number) {
  return z
    .string()
    .regex(/^[1-9]\d{0,14}$/, "This must be a positive integer.")
    .transform(Number)
    .refine((value) => value <= max, `This must be at most ${max}.`)
    .meta({ type: "integer", minimum: 1, maximum: max });
}

export const MAX_PER_PAGE = 100;
export const DEFAULT_PER_PAGE = 20;

/** `page`, `per_page` and `cursor` of every list (HTTP-7, HTTP-8). */
export const pageQuery = z.object({
  page: positiveInteger(1_000_000_000).default(1),
  per_page: positiveInteger(MAX_PER_PAGE).default(DEFAULT_PER_PAGE),
  cursor: z
    .string()
    .min(1)
    .max(200)
    .meta({
      description: "The `next_cursor` of the previous page; each page is then equally fast, however long the list.",
    })
    .optional(),
});

/**
 * `from` inclusive; `to` exclusive for a time, inclusive for a bare date (HTTP-9). Both come out as milliseconds,
 * `to` as the first instant no longer included. A time without a zone is UTC.
 */
export const timeRange = z.object({
  from: instant((ms) => ms)
    .meta({ description: "ISO 8601 date or time, inclusive. A time without a zone is UTC." })
    .optional(),
  to: instant((ms, bareDate) => (bareDate ? ms + DAY : ms))
    .meta({ description: "ISO 8601 date (inclusive) or time (exclusive). A time without a zone is UTC." })
    .optional(),
});

const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;

/**
 * The UTC days of a summary, from the first instant of the first day to the first instant after the last. The default
 * is the last thirty days; a range that ends before it begins has no days. @throws `validation_failed` beyond 366 days.
 */
export function summaryRange({ from: asked, to: until }: z.output<typeof timeRange>, now: number) {
  const to = until ?? Math.max(now + 1, asked ?? 0);
  const end = Math.ceil(to / DAY) * DAY;
  const from = asked ?? end - DEFAULT_DAYS * DAY;
  if (to - from > MAX_DAYS * DAY) throw invalidField("from", `This must be at most ${MAX_DAYS} days before to.`);
  const start = Math.floor(from / DAY) * DAY;
  return { from: start, to: from < to ? end : start };
}

/** The instant from which a rate or flow applies (FLOW-11), ms; a bare date is its first instant in UTC. */
export const applyFrom = instant((ms) => ms)
  .meta({
    description:
      "ISO 8601 date or time, not in the future: the rule applies to all payments made since then. Without it, to those from now on.",
  })
  .optional();
