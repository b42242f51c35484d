import { MINUTE, SECOND } from "../lib/time.ts";
import { SEEN_WINDOW } from "./store.ts";

/**
 * The load at which a region is split: `commits` within `within` ms, a tenth of the calls that an object can answer;
 * and remembered `ids`, below the limit of its memory, so that each is remembered as long as promised.
 */
export const SPLIT_LOAD = { commits: 1_000, within: 10 * SECOND, ids: 98_304 };

/**
 * How long after a split the objects of a region ask the first one about ids, with clocks that differ by less than a
 * minute.
 */
export const ASK_FOR = SEEN_WINDOW + MINUTE;

/** Counts the commits in the stretch that contains `now` (ms). */
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
