import { DAY_MS } from "./duration.ts";

/** After 5 days without one success and at least 20 failures an endpoint is disabled (HOOK-9). */
export const GIVEN_UP_AFTER_MS = 5 * DAY_MS;
export const GIVEN_UP_AFTER_FAILURES = 20;

export interface EndpointHealth {
  /** When the first attempt since the last success failed, ms since the epoch; null if the last attempt succeeded. */
  failing_since_ms: number | null;
  /** Failed attempts since then. */
  failure_count: number;
}

/** Whether an endpoint has failed long enough to be disabled. */
export function isGivenUp({ failing_since_ms, failure_count }: EndpointHealth, now: number): boolean {
  if (failing_since_ms === null) return false;
  return now - failing_since_ms >= GIVEN_UP_AFTER_MS && failure_count >= GIVEN_UP_AFTER_FAILURES;
}
