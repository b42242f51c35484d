import type { Context } from "hono";
import type * as z from "zod";
import { isDate, laterDate, startOfDateIn } from "../../domain/time-zone.ts";
import { AppError } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import type { PageEnv } from "../session.ts";

/** A filter as the address says it: the values that were understood, and as texts for the form and for other pages. */
export interface Filter<T> {
  value: T;
  texts: Record<string, string>;
}

/** Dates whose days have an instant that the API takes, in every zone. */
const [FIRST_DATE, LAST_DATE] = ["1970-01-02", "9999-12-29"];

/**
 * The first instant of a typed date in a time zone, `later` days later, as the API takes it (PAGE-23). What is no such date
 * is as it was typed, for the schema to judge.
 */
export function startOfTyped(text: string, zone: string, later = 0): string {
  if (!isDate(text) || text < FIRST_DATE || text > LAST_DATE) return text;
  return iso(startOfDateIn(zone, laterDate(text, later)));
}

/** So much of a name that is not known is said. */
const MAX_NAME = 40;

/** What a page is, says nothing about its list. */
const OF_PAGES = new Set(["page", "per_page", "cursor"]);

/** What pages put into addresses of lists beside filters: what was done, and to how many. */
const OF_ANSWERS = ["done", "bulk", "count"];

/** Notes what of the address was not understood, for `framed` to say, or `refuseLeftOut` to refuse. */
export function leaveOut(c: Context<PageEnv>, names: Iterable<string>): void {
  const left_out = new Set([...(c.var.left_out ?? []), ...names]);
  if (left_out.size > 0) c.set("left_out", [...left_out]);
}

/** Leaves out what of the address has a value and no name that is `known`, or that pages add (PAGE-20). */
export function leaveOutUnknown(c: Context<PageEnv>, known: Iterable<string>): void {
  const names = new Set([...known, ...OF_PAGES, ...OF_ANSWERS]);
  const given = Object.entries(c.req.query()).filter(([name, value]) => value.trim() !== "" && !names.has(name));
  leaveOut(
    c,
    given.map(([name]) => name.slice(0, MAX_NAME)),
  );
}

/**
 * For what is more than a page: a file, or a change of all that match, of another list than the one that was meant.
 * @throws `validation_failed` where something of the filter was left out.
 */
export function refuseLeftOut(c: Context<PageEnv>): void {
  const names = c.var.left_out?.filter((name) => !OF_PAGES.has(name)) ?? [];
  if (names.length > 0) throw new AppError("validation_failed", leftOutText(names));
}

export function leftOutText(names: readonly string[]): string {
  const [are, them] = names.length === 1 ? ["is", "it"] : ["are", "them"];
  return `Of this address, ${names.join(" and ")} ${are} not understood. Choose ${them} again.`;
}

/** Of `to` the day is included: it ends where the next one begins. */
const DAYS_LATER: Record<string, number> = { from: 0, to: 1 };

/**
 * What cannot be understood is left out, so that no address of a list is a dead end, and `framed` says so. `known` are values that stand for
 * what the address says. Dates of `from` and `to` are days of the program's time zone, but of sums by UTC day; the texts keep them.
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
