/** Whether work grows with its input, and no faster. A ratio decides, so that no result depends on the machine's speed. */

/** The inputs: `large` is `TIMES` times `small`. */
export interface Inputs<T> {
  small: T;
  large: T;
}

export const TIMES = 10;

/** Linear work takes `TIMES` as long and quadratic a hundred times; between them lies the noise of a busy machine. */
const MOST = 45;

/** Beyond this, after some tries, no noise explains it. */
const HOPELESS = 80;
const SOME_TRIES = 20;

/** Noise only ever adds time, so the least of several is nearest to the truth. */
const TRIES = 40;

/** Runs of the small input that confirm a ratio: a slow one alone would make quadratic work look linear. */
const CONFIRMED = 30;

/** The clock ticks in milliseconds: this duration makes its error small. */
const MEASURED_MS = 5;

/** A large input has some 30,000 characters: work this fast reads none of them twice. */
const AT_ONCE_MS = 4;

/**
 * The ratio of the time that `work` takes for the large input to that for the small one; 0 if even the large one is too
 * fast to measure. Exceptions do not matter: refusing takes time too.
 */
export async function growth<T>(work: (input: T) => unknown, { small, large }: Inputs<T>): Promise<number> {
  if ((await timeOf(work, large, 0)) < AT_ONCE_MS) return 0;
  const least = { small: Infinity, large: Infinity };
  let ratio = Infinity;
  for (let tries = 0; tries < TRIES && ratio > MOST && (tries < SOME_TRIES || ratio < HOPELESS); tries++) {
    least.large = Math.min(least.large, await timeOf(work, large));
    if (least.large < AT_ONCE_MS) return 0;
    for (let i = 0; i < 3; i++) least.small = Math.min(least.small, await timeOf(work, small));
    ratio = least.large / least.small;
    for (let i = 0; i < CONFIRMED && ratio <= MOST; i++) {
      least.small = Math.min(least.small, await timeOf(work, small));
      ratio = least.large / least.small;
    }
  }
  return ratio;
}

/** Takes the result of `growth`. */
export function isLinear(ratio: number): boolean {
  return ratio <= MOST;
}

/** Milliseconds for one run, of as many as take `atLeast` milliseconds. */
async function timeOf<T>(work: (input: T) => unknown, input: T, atLeast = MEASURED_MS): Promise<number> {
  for (let runs = 1; ; runs *= 4) {
    const began = performance.now();
    for (let i = 0; i < runs; i++) {
      try {
        // Awaits promises only, because a turn of the event loop takes longer than most measured work.
        const result = work(input);
        if (result instanceof Promise) await result;
      } catch {}
    }
    const took = performance.now() - began;
    if (took >= atLeast) return took / runs;
  }
}
