import { add, NOTHING, type Cents } from "./money.ts";

/** Smallest units of a currency: the number alone says nothing. */
export interface Amount {
  readonly amount_cents: Cents;
  readonly currency: string;
}

/** What a program is recognized by, so that its currency is not taken for that of a payment. */
interface ProgramLike {
  readonly currency: string;
  readonly min_payout_cents: Cents;
}

/** A number that a row says in its own currency. A program is no such row: what it earns is in any currency. */
export function amountOf(
  row: { readonly currency: string; readonly min_payout_cents?: never },
  amount_cents: Cents,
): Amount {
  return { amount_cents, currency: row.currency };
}

/** A number that the owner has set in the program's currency: a minimum, a flat amount, the value of a condition. */
export function settingOf(program: ProgramLike, amount_cents: Cents): Amount {
  return { amount_cents, currency: program.currency };
}

declare const summed: unique symbol;

/**
 * What many amounts come to: one sum for each currency, for currencies are never added up, and none is left out. Made by
 * `sumUp` alone, so a figure that takes it shows them all.
 */
export type Amounts = readonly Amount[] & { readonly [summed]: true };

/** The program's own currency first, the others by their codes; a zero of its own where there is nothing. */
export function sumUp(rows: Iterable<Amount>, program: ProgramLike): Amounts {
  const sums = new Map<string, Cents>();
  for (const { amount_cents, currency } of rows) sums.set(currency, add(sums.get(currency) ?? NOTHING, amount_cents));
  const amounts = [...sums]
    .map(([currency, amount_cents]): Amount => ({ amount_cents, currency }))
    .filter(({ amount_cents }) => amount_cents !== NOTHING)
    .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
  return (amounts.length > 0 ? amounts : [settingOf(program, NOTHING)]) as readonly Amount[] as Amounts;
}

/** The order of currencies everywhere: `own` first, the others by their codes. */
export function compareCurrencies(a: string, b: string, own: string): number {
  if (a === b) return 0;
  if (a === own || b === own) return a === own ? -1 : 1;
  return a < b ? -1 : 1;
}
