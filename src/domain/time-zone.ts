import { DAY_MS, HOUR_MS, MINUTE_MS } from "./duration.ts";

/** The canonical name of a tz database zone, ignoring case; null if it is unknown. */
export function normalTimeZone(text: string): string | null {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return null;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** The calendar day of an instant (ms) in a zone: `2026-03-29`. */
export function dayIn(zone: string, at: number): string {
  const { year = "", month, day } = partsIn(zone, at);
  // A server that never set a time sends one of the year 1.
  return `${year.padStart(4, "0")}-${month}-${day}`;
}

/** The time of day of an instant (ms) in a zone: `14:05`. */
export function minuteIn(zone: string, at: number): string {
  const { hour, minute } = partsIn(zone, at);
  return `${hour}:${minute}`;
}

/** The first instant (ms) of the calendar day of `at` in a zone, even if a clock change skips midnight. */
export function startOfDayIn(zone: string, at: number): number {
  return startOfDateIn(zone, dayIn(zone, at));
}

/** The first instant (ms) of the calendar day `days` after that of `at` in a zone. */
export function startOfLaterDayIn(zone: string, at: number, days: number): number {
  return startOfDateIn(zone, laterDate(dayIn(zone, at), days));
}

/** The first instant (ms) of the Monday of the week of `at` in a zone. */
export function startOfWeekIn(zone: string, at: number): number {
  const sinceMonday = (new Date(Date.parse(dayIn(zone, at))).getUTCDay() + 6) % 7;
  return startOfLaterDayIn(zone, at, -sinceMonday);
}

/** Whether a text is a calendar date (`2026-03-29`): `Date.parse` accepts the 30th of February as a day in March. */
export function isDate(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === text;
}

/** The date (`2026-03-29`) `days` later. */
export function laterDate(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The first and the last date of the calendar month `ago` months before that of an instant (ms) in a zone. */
export function monthIn(zone: string, at: number, ago: number): { from: string; to: string } {
  const [year = 0, month = 1] = dayIn(zone, at).split("-").map(Number);
  const date = (later: number, day: number) =>
    new Date(Date.UTC(year, month - 1 + later, day)).toISOString().slice(0, 10);
  return { from: date(-ago, 1), to: date(1 - ago, 0) };
}

/** Days start at most this far from those of UTC, and clock changes are multiples of a quarter of an hour. */
const FURTHEST_MS = 16 * HOUR_MS;
const STEP_MS = 15 * MINUTE_MS;

/** The first instant (ms) of a date in a zone: the first quarter of an hour in or, if it was skipped, after it. */
export function startOfDateIn(zone: string, day: string): number {
  const utc = Date.parse(day);
  let [before, at] = [utc - FURTHEST_MS, utc + FURTHEST_MS];
  // A zone's day never goes back by more than a clock change, and no midnight falls within one.
  while (at - before > STEP_MS) {
    const middle = before + Math.floor((at - before) / 2 / STEP_MS) * STEP_MS;
    if (dayIn(zone, middle) < day) before = middle;
    else at = middle;
  }
  return at;
}

function partsIn(zone: string, at: number): Record<string, string> {
  return Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      ...parts,
    });
    formats.set(zone, format);
  }
  return format;
}
