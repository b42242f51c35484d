/** The shortest list of steps that still fails in the same way. */
import type { Service } from "./bundle.ts";
import { runSteps, type Failure } from "./run.ts";

/** The shortest list of steps found that still fails, and how: steps are left out as long as it does. */
export async function shrink(
  make: () => Service,
  seed: number,
  steps: readonly number[],
  failure: Failure,
  hasTime: () => boolean,
): Promise<{ steps: number[]; failure: Failure }> {
  let best = { steps: steps.slice(0, failure.step + 1), failure };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = 0; at < best.steps.length && hasTime();) {
      const fewer = best.steps.toSpliced(at, size);
      const failed = fewer.length < best.steps.length ? await runSteps(make, seed, fewer) : null;
      if (failed) {
        best = { steps: fewer.slice(0, failed.step + 1), failure: failed };
        isShorter = true;
      } else at += size;
    }
    if (!hasTime()) break;
    if (!isShorter || size > 1) size = size === 1 ? 0 : Math.floor(size / 2);
  }
  return best;
}
