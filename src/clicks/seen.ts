/**
 * The ids of what an object has taken lately, so that a repetition is recognised. Bounded in time and in number; the
 * oldest goes first. Not stored: it is read back from the stored batches, which are kept for as long.
 */
export class Seen {
  readonly #times = new Map<string, number>();
  readonly #window: number;
  readonly #limit: number;

  /** `window` in ms; `limit` bounds the memory. */
  constructor(window: number, limit: number) {
    this.#window = window;
    this.#limit = limit;
  }

  /** False when `id` was added within the window before `now` (ms); adds it otherwise. `now` never goes back. */
  add(id: string, now: number): boolean {
    const before = this.#times.get(id);
    if (before !== undefined && now - before < this.#window) return false;
    this.#times.delete(id);
    this.#times.set(id, now);
    return true;
  }

  /** Forgets what is out of the window or beyond the number. */
  prune(now: number): void {
    for (const [id, at] of this.#times) {
      if (this.#times.size <= this.#limit && now - at < this.#window) return;
      this.#times.delete(id);
    }
  }

  clear(): void {
    this.#times.clear();
  }
}
