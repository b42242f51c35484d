import { iso } from "../../lib/time.ts";

/** The new `updated_at`: now, but always later than the old one, so that it can serve as a compare-and-set. */
export function nextStamp(previous: string, now: number): string {
  return iso(Math.max(now, Date.parse(previous) + 1));
}
