import { Chance } from "../faults/random.ts";

/** The steps of a seed: each is a seed of its own, so that others can be left out. */
export function stepsOf(seed: number, length: number): number[] {
  const chance = new Chance(seed);
  return Array.from({ length }, () => chance.whole(0, 2 ** 31));
}
