import type { Fetch } from "../lib/deadline.ts";

/** How the vendor's API is reached. */
export interface Reach {
  fetch: Fetch;
  /** `<NAME>_API_URL`, without a path. */
  baseUrl: string;
  /** The clock, ms. */
  now: () => number;
}
