/** Recently taken ids, bounded in time and number. Rebuilt from the stored batches, which are kept as long. */
export class Seen {
  readonly #times = new Map<string, number>();
  readonly #window: number;
  readonly #limit: number;
  /** Continues at its position: a new iterator would walk over the holes of all deleted entries. */
  #entries = this.#times.entries();
  /** The first entry that was examined and is not pruned. */
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

  /** Adds an id; false if it was added within the window before `now` (ms). `now` never goes back. */
  add(id: string, now: number): boolean {
    if (this.has(id, now)) return false;
    this.#times.delete(id);
    this.#times.set(id, now);
    return true;
  }

  /** Removes entries outside the window or beyond the limit. */
  prune(now: number): void {
    for (;;) {
      const oldest = (this.#oldest ??= this.#next());
      if (oldest === null) return;
      const [id, at] = oldest;
      // An entry that was added again since is further on.
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
    // A finished iterator stays finished, even if entries are added.
    this.#entries = this.#times.entries();
    return null;
  }
}
