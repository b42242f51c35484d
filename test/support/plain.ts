/** Rows as tests write them: amounts and percentages are plain numbers, as in a request. */
import type { Cents, Percent } from "../../src/domain/money.ts";

export type Plain<T> = T extends Cents | Percent
  ? number
  : T extends string
    ? T
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;

/** The same with the code's types. It is not checked: a test may store values that a request could not. */
export function unplain<T>(plain: Plain<T>): T {
  return plain as unknown as T;
}
