import { text, type Columns } from "../../db/rows.ts";

/** An owner of work for a job: a program, an endpoint, a table. */
export interface Owner {
  /** The key of their order, which is the database's order of texts (`compareUtf8`). */
  key: string;
}

export const OWNER: Columns<Owner> = { key: text };

/** A job's work in one database, in pieces. `runJobs` decides which owner is served when and how long. */
export interface Work<One extends Owner = Owner> {
  /** Owners after `after` with work to do, in the order of their keys, any number of them; empty at the end. */
  due(after: string): Promise<One[]>;
  /** Does a bounded part for one owner; returns whether more is left. A failure is logged; the next follows. */
  serve(owner: One): Promise<boolean>;
  /** The most statements and other calls of one `serve`, not counting a lost race. */
  cost: number;
  /** Owners served at the same time; default 1. */
  atOnce?: number;
  /** `due` returns every owner in every lap, with or without work: so a failure waits for the next round. */
  everybody?: true;
  /** Its position is stored only if the budget ends the run: for minutely work, which would write two rows. */
  unnoted?: true;
}
