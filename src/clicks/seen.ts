/**
 * The ids of what an object has taken lately, so that a repetition is recognized. Bounded in time and in number; the
 * oldest goes first. Not stored: it is read back from the stored batches, which are kept for as long.
 */
export class Seen {
  readonly #times = new Map<string, number>();
  readonly #window: number;
  readonly #limit: number;
  /** Goes on where it was: from the beginning it would pass the holes of all that were deleted before. */
  #entries = this.#times.entries();
  /** The first that is not pruned, once it was looked at. */
  #oldest: [string, number] | null = null;

  /** `window` in ms; `limit` bounds the memory. */
  constructor(window: number, limit: number) {
    this.#window = window;
    this.#limit = limit;
  }

  get size(): number {
    return this.#times.size;
  }

  /** Whether `id` was added within the window before `now` (ms). */
  has(id: string, now: number): boolean {
    const before = this.#times.get(id);
    return before !== undefined && now - before < this.#window;
  }

  /** False when `id` was added within the window before `now` (ms); adds it otherwise. `now` never goes back. */
  add(id: string, now: number): boolean {
    if (this.has(id, now)) return false;
    this.#times.delete(id);
    this.#times.set(id, now);
    return true;
  }

  /** Forgets what is out of the window or beyond the number. */
  prune(now: number): void {
    for (;;) {
      const oldest = (this.#oldest ??= this.#next());
      if (oldest === null) return;
      const [id, at] = oldest;
      // One that was added again since is further on.
      if (this.#times.get(id) === at) {
        if (this.#times.size <= this.#limit && now - at < this.#window) return;
        this.#times.delete(id);
      }
      this.#oldest = null;
    }
  }

  clear(): void {
    this.#times.clear();
    this.#oldest = null;
    this.#entries = this.#times.entries();
  }

  #next(): [string, number] | null {
    const next = this.#entries.next();
    if (!next.done) return next.value;
    // An iterator that has ended stays so, whatever is added.
    this.#entries = this.#times.entries();
    return null;
  }
}
