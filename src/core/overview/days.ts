import { DAY, utcDay } from "../../lib/time.ts";

/** UTC days, both included. */
export interface Days {
  from: string;
  to: string;
}

/** A value for each UTC day of a span, including days without a row, oldest first. */
export type Daily<Value> = { day: string; value: Value }[];

/** Each day of a span, oldest first. */
export function daysOf({ from, to }: Days): string[] {
  const first = Date.parse(from);
  return Array.from({ length: Math.round((Date.parse(to) - first) / DAY) + 1 }, (_, i) => utcDay(first + i * DAY));
}

/** The first instant of the days and the first after them: a list reads bare dates in the program's zone. */
export function instantsOf({ from, to }: Days): { from: string; to: string } {
  return { from: `${from}T00:00:00Z`, to: `${utcDay(Date.parse(to) + DAY)}T00:00:00Z` };
}

/** The same number of days, directly before. */
export function daysBefore(days: Days): Days {
  const first = Date.parse(days.from);
  return { from: utcDay(first - daysOf(days).length * DAY), to: utcDay(first - DAY) };
}

/** Whether a day is in a span. */
export function includesDay({ from, to }: Days, day: string): boolean {
  return day >= from && day <= to;
}

/** `none` is the value of a day without a row; rows of other days are left out. */
export function fillDays<Value>(rows: readonly { day: string; value: Value }[], days: Days, none: Value): Daily<Value> {
  const byDay = new Map(rows.map(({ day, value }) => [day, value]));
  return daysOf(days).map((day) => ({ day, value: byDay.get(day) ?? none }));
}
