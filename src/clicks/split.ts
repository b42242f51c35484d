import { MINUTE, SECOND } from "../lib/time.ts";
import { SEEN_WINDOW } from "./store.ts";

/**
 * The load that splits a region: `commits` within `within` ms, a tenth of an object's capacity; and remembered `ids`.
 */
export const SPLIT_LOAD = { commits: 1_000, within: 10 * SECOND, ids: 98_304 };

/** How long after a split the objects ask the first one about ids; clocks differ by less than a minute. */
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
