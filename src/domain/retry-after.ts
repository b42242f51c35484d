import { DAY_MS } from "./duration.ts";

/** Dates with named days and months, and the time: the three forms of RFC 9110 (5.6.7), all of them in GMT. */
const DATE = /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}(?: \d{4}| GMT)$/;

/** Parses `Retry-After`, seconds or date, to ms from `now`, at most a day; null if missing, past or unreadable. */
export function retryAfterMs(header: string | null, now: number): number | null {
  const text = header?.trim().slice(0, 100) ?? "";
  const isDate = DATE.test(text);
  if (!isDate && !/^\d+(?:\.\d+)?$/.test(text)) return null;
  const asked = isDate ? Date.parse(text.endsWith("GMT") ? text : `${text} GMT`) - now : Number(text) * 1_000;
  return asked > 0 ? Math.min(asked, DAY_MS) : null;
}
