import type { RunContext } from "../../src/jobs.ts";

/** The trial of a periodic job (`job-trials.ts`). */
export interface Trial {
  /** Rows of the program that has the most of them, and why they are not 100,000. */
  most: number;
  why?: string;
  /** Statements that make due rows, one for each row of `trial (program_id, g, i)`, which counts programs and rows. */
  seed: string[];
  /** Selects as `program_id` the programs with remaining work, of the same table. */
  left: string;
  /** The statement at which a row of the failing program fails; null with a reason if one program cannot fail alone. */
  fails: { at: string; row: "new" | "old" } | { never: string };
  /** The number of runs until every program is served, on 1 database and on 32. */
  runs: { 1: number; 32: number };
  /** A round is over although a program failed: the next one begins in a minute. */
  isOver?: true;
  /** The programs have an API key of provider A. */
  hasKeys?: true;
  /** The e-mails have a text. */
  hasTexts?: true;
  /** It calls more than its database and the queue: `jobs-calls.test.ts` counts those calls. */
  calls?: true;
  /** Changes the context of the run; the job's report of the served programs is not a row. */
  change?: (context: RunContext, served: (g: number) => void) => RunContext;
}
