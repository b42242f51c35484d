import type { RunContext } from "../../src/jobs.ts";

/** What a periodic job is tried with (`job-trials.ts`). */
export interface Trial {
  /** Rows of the program that has the most of them, and why they are not 100,000. */
  most: number;
  why?: string;
  /** Statements that make what is due, one for each row of `trial (program_id, g, i)`, which counts programs and rows. */
  seed: string[];
  /** Selects as `program_id` those who have something left, of the same table. */
  left: string;
  /** Where a row of the program that always fails fails; null with a reason where nothing of one program can. */
  fails: { at: string; row: "new" | "old" } | { never: string };
  /** Within so many runs everybody is served, on 1 database and on 32. */
  runs: { 1: number; 32: number };
  /** A round is over although somebody failed: the next one begins in a minute. */
  isOver?: true;
  /** The programs have an API key of provider A. */
  hasKeys?: true;
  /** The e-mails have a text. */
  hasTexts?: true;
  /** It calls more than its database and the queue: `jobs-calls.test.ts` counts that. */
  calls?: true;
  /** The context in which it runs; what it reports of the programs that it served is no row. */
  change?: (context: RunContext, served: (g: number) => void) => RunContext;
}
