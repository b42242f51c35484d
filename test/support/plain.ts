/** Rows as tests write them: amounts and percentages are plain numbers, as in a request. */
import type { Cents, Percent } from "../../src/domain/money.ts";

export type Plain<T> = T extends Cents | Percent
  ? number
  : T extends string
    ? T
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;

/** The same as the code takes it. Nothing is checked: a test may store what no request could. */
export function unplain<T>(plain: Plain<T>): T {
  return plain as unknown as T;
}
