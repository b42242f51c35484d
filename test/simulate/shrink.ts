/** The shortest list of steps that still fails in the same way. */
import type { Versions } from "./bundle.ts";
import { runSteps, type Failure } from "./run.ts";
import { PARTS, type Step } from "./steps.ts";

export interface Shrunk {
  steps: Step[];
  failure: Failure;
}

/** The message without ids and amounts: equal ones count as one cause. */
function kindOf({ problems: [first = ""] }: Failure): string {
  const [line = ""] = first.split("\n");
  return line
    .replace(/:.*/, "")
    .replaceAll(/\b[a-z]+_\w+/g, "")
    .replaceAll(/\d+/g, "");
}

/**
 * Leaves out halves of the steps, then quarters, and so on to single steps, then parts of steps, for as long as anything
 * can be left out and the run still fails in the same way.
 */
export async function shrink(
  versions: Versions,
  seed: number,
  steps: readonly Step[],
  failure: Failure,
  hasTime: () => boolean,
): Promise<Shrunk> {
  const kind = kindOf(failure);
  const attempt = async (fewer: Step[]): Promise<Shrunk | null> => {
    const failed = await runSteps(versions, seed, fewer);
    return failed && kindOf(failed) === kind ? { steps: fewer.slice(0, failed.step + 1), failure: failed } : null;
  };
  let best: Shrunk = { steps: steps.slice(0, failure.step + 1), failure };
  for (let size = Math.ceil(best.steps.length / 2); hasTime();) {
    const fewer = await withoutRuns(best, size, attempt, hasTime);
    const isShorter = fewer !== best;
    best = fewer;
    if (size > 1) size = Math.ceil(size / 2);
    else if (!isShorter) break;
  }
  return withoutParts(best, attempt, hasTime);
}

type Attempt = (fewer: Step[]) => Promise<Shrunk | null>;

/** Tries to leave out each run of `length` steps, the last first: it does not change later ones. */
async function withoutRuns(best: Shrunk, size: number, attempt: Attempt, hasTime: () => boolean): Promise<Shrunk> {
  let found = best;
  for (let at = found.steps.length - size; at > -size && hasTime(); at -= size) {
    const fewer = found.steps.toSpliced(Math.max(at, 0), size + Math.min(at, 0));
    if (fewer.length > 0) found = (await attempt(fewer)) ?? found;
    at = Math.min(at, found.steps.length);
  }
  return found;
}

async function withoutParts(best: Shrunk, attempt: Attempt, hasTime: () => boolean): Promise<Shrunk> {
  let found = best;
  for (const part of PARTS) {
    for (let at = found.steps.length - 1; at >= 0 && hasTime(); at--) {
      const step = found.steps[at];
      if (!step) continue;
      const barer = { ...step, without: [...step.without, part] };
      found = (await attempt(found.steps.with(at, barer))) ?? found;
    }
  }
  return found;
}
