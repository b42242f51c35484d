import type { Context } from "hono";
import type * as z from "zod";
import { isDate, laterDate, startOfDateIn } from "../../domain/time-zone.ts";
import { AppError } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import type { PageEnv } from "../session.ts";

/** A filter from the address: the valid values, and their texts for the form and for links. */
export interface Filter<T> {
  value: T;
  texts: Record<string, string>;
}

/** Dates whose days have an instant that the API accepts, in every zone. */
const [FIRST_DATE, LAST_DATE] = ["1970-01-02", "9999-12-29"];

/**
 * A typed date's first instant in a zone, `later` days later (PAGE-23). An invalid date is unchanged: the schema
 * refuses it.
 */
export function startOfTyped(text: string, zone: string, later = 0): string {
  if (!isDate(text) || text < FIRST_DATE || text > LAST_DATE) return text;
  return iso(startOfDateIn(zone, laterDate(text, later)));
}

/** A path with a query, whose commas stay readable. */
export function addressOf(
  path: string,
  query: Record<string, string> | readonly (readonly [string, string])[],
): string {
  const text = new URLSearchParams(Array.isArray(query) ? [...query] : query).toString().replaceAll("%2C", ",");
  return text === "" ? path : `${path}?${text}`;
}

/** The most characters of an unknown name that are shown. */
const MAX_NAME = 40;

/** Parameters of the page, which do not filter the list. */
const OF_PAGES = new Set(["page", "per_page", "cursor"]);

/** Parameters that pages add at the end of addresses of lists (PAGE-47): the result of an action and its count. */
const OF_ANSWERS = ["done", "bulk", "count", "moved", "at", "left", "file"];

/** Records the ignored parts of the address, so that `framed` shows them, or `refuseLeftOut` refuses them. */
export function leaveOut(c: Context<PageEnv>, names: Iterable<string>): void {
  const left_out = new Set([...(c.var.left_out ?? []), ...names]);
  if (left_out.size > 0) c.set("left_out", [...left_out]);
}

/** Ignores parameters with a value that are neither `known` nor added by pages (PAGE-20). */
export function leaveOutUnknown(c: Context<PageEnv>, known: Iterable<string>): void {
  const names = new Set([...known, ...OF_PAGES, ...OF_ANSWERS]);
  const given = Object.entries(c.req.query()).filter(([name, value]) => value.trim() !== "" && !names.has(name));
  leaveOut(
    c,
    given.map(([name]) => name.slice(0, MAX_NAME)),
  );
}

/** Keeps actions beyond a page from running on a wider list. @throws `validation_failed` if a filter was ignored */
export function refuseLeftOut(c: Context<PageEnv>): void {
  const names = c.var.left_out?.filter((name) => !OF_PAGES.has(name)) ?? [];
  if (names.length > 0) throw new AppError("validation_failed", `${unknownText(names)}.`);
}

export function leftOutText(names: readonly string[]): string {
  return `${unknownText(names)} ${names.length === 1 ? "is" : "are"} ignored.`;
}

function unknownText(names: readonly string[]): string {
  return `Unknown ${names.length === 1 ? "filter" : "filters"} ${names.map((name) => `“${name}”`).join(" and ")}`;
}

/** The day of `to` is included: the range ends at the start of the next day. */
const DAYS_LATER: Record<string, number> = { from: 0, to: 1 };

/**
 * Ignores invalid parameters, which `framed` names; `known` replace the address's. `from` and `to` are days of the
 * program's zone, or of UTC for its sums.
 */
export function filterOf<T extends z.ZodObject>(
  c: Context<PageEnv>,
  schema: T,
  known: Record<string, string> = {},
  zone = c.var.session.program.time_zone,
): Filter<z.output<T>> {
  const given = Object.fromEntries(
    Object.entries({ ...c.req.query(), ...known })
      .map(([name, value]): [string, string] => [name, value.trim()])
      .filter(([name, value]) => value !== "" && name in schema.shape && name !== "cursor"),
  );
  const asTimes = () =>
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => {
        const later = DAYS_LATER[name];
        return [name, later === undefined ? value : startOfTyped(value, zone, later)];
      }),
    );
  const first = schema.safeParse(asTimes());
  const left_out = new Set(first.error?.issues.map((issue) => String(issue.path[0])));
  for (const name of left_out) delete given[name];
  leaveOut(c, left_out);
  const { page: _page, ...texts } = given;
  return { value: schema.parse(asTimes()), texts };
}
