/** A cache in an isolate: entries expire, and if there are too many the oldest is removed. */
export interface Remembered<Key, Value> {
  /** Undefined if there is no entry, or it has expired at `now` (ms). */
  get(key: Key, now: number): Value | undefined;
  set(key: Key, value: Value, until: number): void;
}

export function remember<Key, Value>(most: number): Remembered<Key, Value> {
  const entries = new Map<Key, { value: Value; until: number }>();
  return {
    get(key, now) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until > now) return entry?.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value, until) {
      // A map keeps the order of insertion.
      entries.delete(key);
      for (const oldest of entries.keys()) {
        if (entries.size < most) break;
        entries.delete(oldest);
      }
      entries.set(key, { value, until });
    },
  };
}
