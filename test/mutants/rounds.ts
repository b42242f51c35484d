/** Which mistakes a run tries, one in each suite, and the source with all of them, of which a suite chooses its own. */
import { join } from "node:path";
import { ROOT } from "../../src/dev/root.ts";
import { MUTANTS } from "./list.ts";

declare module "vitest" {
  interface ProvidedContext {
    mutantOf: Record<string, number>;
  }
}

/** The mistakes of each run, by their suites: as many runs as a suite has mistakes to find. */
export const ROUNDS: ReadonlyMap<string, number>[] = [];
for (const [at, { suite }] of MUTANTS.entries()) {
  const free = ROUNDS.find((round) => !round.has(suite)) as Map<string, number> | undefined;
  if (free) free.set(suite, at);
  else ROUNDS.push(new Map([[suite, at]]));
}

/** A plugin of Vite that puts the mistakes of a run into the source. */
export const mutantsPlugin = (round: number) => ({
  name: "mutants",
  enforce: "pre" as const,
  transform(code: string, id: string): string | undefined {
    const own = [...(ROUNDS[round]?.values() ?? [])].filter((at) => id === join(ROOT, "src", MUTANTS[at]!.file));
    if (own.length === 0) return undefined;
    return own.reduce((text, at) => {
      const { file, from, to } = MUTANTS[at]!;
      const parts = text.split(from);
      if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times ${from}`);
      return parts.join(`(globalThis.MUTANT === ${at} ? (${to}) : (${from}))`);
    }, code);
  },
});
