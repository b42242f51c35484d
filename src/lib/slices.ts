/**
 * Runs work that yields after each bounded slice, and lets other requests use the isolate between two slices, because
 * an isolate runs one piece of JavaScript at a time. Slices are bounded by counted work, because the platform's clock
 * does not advance while code runs.
 */
export async function runInSlices<T>(work: Generator<void, T, void>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** Counts the work of successive slices. */
export class SliceCounter {
  #work = 0;

  /** Adds work, roughly in characters handled; true if the slice is full, which is when to yield. */
  add(work: number): boolean {
    this.#work += work;
    if (this.#work < SLICE_WORK) return false;
    this.#work = 0;
    return true;
  }
}

/** A few milliseconds of work. */
const SLICE_WORK = 64 * 1024;

/** Bytes of a text sent to the database: half of the limit of a parameter. */
const MAX_PART_BYTES = 1_000_000;

/** Splits items into groups of at most `size` and one bound text (`bytesOf`). A larger item is alone. */
export function* partsOf<T>(
  items: readonly T[],
  size: number,
  bytesOf: (item: T) => number = () => 0,
): Generator<T[], void, void> {
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const own = bytesOf(item);
    if (part.length === size || (part.length > 0 && bytes + own > MAX_PART_BYTES)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += own;
  }
  if (part.length > 0) yield part;
}

export function bytesIn(text: string): number {
  return new TextEncoder().encode(text).length;
}
