import { Chance } from "../../src/dev/chance.ts";

/** The parts of a step beside its operation. Each has its own chance, so that one can be left out alone. */
export const PARTS = ["renewal", "happening", "second", "visits", "faults", "crash", "again", "eviction"] as const;
export type Part = (typeof PARTS)[number];

/** A step is a seed of its own, so that others can be left out. */
export interface Step {
  seed: number;
  without: readonly Part[];
}

/** The steps of a seed. */
export function stepsOf(seed: number, length: number): Step[] {
  const chance = new Chance(seed);
  return Array.from({ length }, () => ({ seed: chance.whole(0, 2 ** 31), without: [] }));
}

/** The chance of a step's operation, and of the order in which calls go on. */
export function mainChance({ seed }: Step): Chance {
  return new Chance(seed);
}

/** The chance of a part; null if left out. */
export function chanceOf({ seed, without }: Step, part: Part): Chance | null {
  return without.includes(part) ? null : new Chance(seed + (PARTS.indexOf(part) + 1) * 0x9e37_79b9);
}
