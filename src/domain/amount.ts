import { add, NOTHING, type Cents } from "./money.ts";

/** A number of a currency's smallest units, with the currency. */
export interface Amount {
  readonly amount_cents: Cents;
  readonly currency: string;
}

/** The columns that identify a program, so that its currency is not used as that of a payment. */
interface ProgramLike {
  readonly currency: string;
  readonly min_payout_cents: Cents;
}

/** An amount from a row that has its own currency. A program is not such a row: it earns in any currency. */
export function amountOf(
  row: { readonly currency: string; readonly min_payout_cents?: never },
  amount_cents: Cents,
): Amount {
  return { amount_cents, currency: row.currency };
}

/** An amount that the owner set in the program's currency: a minimum, a flat amount, the value of a condition. */
export function settingOf(program: ProgramLike, amount_cents: Cents): Amount {
  return { amount_cents, currency: program.currency };
}

declare const summed: unique symbol;

/** Sums, one for each currency: only `sumUp` makes this type, so that a figure shows every currency. */
export type Amounts = readonly Amount[] & { readonly [summed]: true };

/** Sums by currency: the program's own first, then by code; one zero of its own if all are zero. */
export function sumUp(rows: Iterable<Amount>, program: ProgramLike): Amounts {
  const sums = new Map<string, Cents>();
  for (const { amount_cents, currency } of rows) sums.set(currency, add(sums.get(currency) ?? NOTHING, amount_cents));
  const amounts = [...sums]
    .map(([currency, amount_cents]): Amount => ({ amount_cents, currency }))
    .filter(({ amount_cents }) => amount_cents !== NOTHING)
    .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
  return (amounts.length > 0 ? amounts : [settingOf(program, NOTHING)]) as readonly Amount[] as Amounts;
}

/** Orders currencies: `own` first, the others by their codes. */
export function compareCurrencies(a: string, b: string, own: string): number {
  if (a === b) return 0;
  if (a === own || b === own) return a === own ? -1 : 1;
  return a < b ? -1 : 1;
}
