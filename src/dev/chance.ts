/** Repeatable chance. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(some: readonly T[]): T {
    return some[Math.floor(this.next() * some.length)]!;
  }

  /** One of them, each in proportion to its weight. */
  weighted<T extends { weight: number }>(some: readonly T[]): T {
    let left = this.next() * some.reduce((sum, { weight }) => sum + weight, 0);
    return some.find(({ weight }) => (left -= weight) < 0) ?? some.at(-1)!;
  }

  /** How many independent arrivals happen if `mean` do on average. */
  arrivals(mean: number): number {
    let count = 0;
    for (let product = this.next(); product > Math.exp(-mean); product *= this.next()) count += 1;
    return count;
  }
}

/** FAULT_SEED, or a new one. */
export function seed(): number {
  const given = process.env["FAULT_SEED"];
  return given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
}
