import type { Fetch } from "../lib/deadline.ts";

/** Access to the vendor's API. */
export interface Reach {
  fetch: Fetch;
  /** `<NAME>_API_URL`, without a path. */
  baseUrl: string;
  /** The clock, ms. */
  now: () => number;
}
