import { MINUTE, SECOND } from "../lib/time.ts";
import { SEEN_WINDOW } from "./store.ts";

/**
 * What one object takes of a region's clicks: `commits` in a stretch of `within` ms, a tenth of the calls that an object
 * answers; and `ids` that it remembers, below what its memory is limited to, so that each is remembered for as long as promised.
 */
export const SPLIT_LOAD = { commits: 1_000, within: 10 * SECOND, ids: 98_304 };

/**
 * So long after a split the objects of a region ask the first one which ids it knows, by clocks that differ by less than
 * a minute.
 */
export const ASK_FOR = SEEN_WINDOW + MINUTE;

/** How many commits came in the stretch that `now` (ms) is in. */
export class Load {
  #since = Number.NEGATIVE_INFINITY;
  #commits = 0;

  add(commits: number, now: number, within: number): number {
    if (now - this.#since >= within) {
      this.#since = now;
      this.#commits = 0;
    }
    return (this.#commits += commits);
  }
}
