export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** ISO 8601 in UTC with milliseconds, the form of every timestamp stored or sent. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The UTC day (`YYYY-MM-DD`) of an instant. */
export function utcDay(ms: number): string {
  return iso(ms).slice(0, 10);
}

/** The new `updated_at`: now, but always later than the old one, so that it can serve as a compare-and-set. */
export function nextStamp(previous: string, now: number): string {
  return iso(Math.max(now, Date.parse(previous) + 1));
}
