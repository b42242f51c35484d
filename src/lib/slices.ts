/**
 * Does work that yields after each bounded slice, and lets other requests have the isolate between two slices: it runs
 * one piece of JavaScript at a time, whoever's it is. Slices are bounded by counted work, because the platform's clock
 * does not advance while code runs.
 */
export async function inSlices<T>(work: Generator<void, T, void>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** Counts the work of one slice after another. */
export class SliceCounter {
  #work = 0;

  /** Adds work, in about characters handled; true when the slice is full, which is when to yield. */
  add(work: number): boolean {
    this.#work += work;
    if (this.#work < SLICE_WORK) return false;
    this.#work = 0;
    return true;
  }
}

/** A few milliseconds of work. */
const SLICE_WORK = 64 * 1024;

/** The items in their order, some at a time. */
export function* partsOf<T>(items: readonly T[], size: number): Generator<T[], void, void> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
