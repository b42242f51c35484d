/** Exact integer arithmetic on smallest units. This module is independent of currencies and never divides by 100. */
import type { $brand } from "zod";

/**
 * An amount: an exact whole number of a currency's smallest units (below 2^53). At runtime it is a number, but the
 * compiler accepts no other number. Made by `cents`, by the input schemas, and by the functions here.
 */
export type Cents = number & $brand<"Cents">;

/** A percentage: 0 to 100 with at most four decimals. */
export type Percent = number & $brand<"Percent">;

/** The only place that turns a number into an amount; every caller has checked that it is exact. */
function toCents(value: number): Cents {
  return value as Cents;
}

export const NOTHING = toCents(0);

/** The largest amount: a larger number would not be exact. */
export const MOST = toCents(Number.MAX_SAFE_INTEGER);

/** The limit of a balance, equal to the one in its triggers: four balances added up are exact (PAY-22). */
export const LARGEST_BALANCE = toCents(2 ** 51 - 1);

/** The largest amount of one request or payment (PAY-22). */
export const LARGEST = toCents(1_000_000_000_000);

/** True for a whole number that is exact. */
export function isCents(value: number): value is Cents {
  return Number.isSafeInteger(value);
}

/** @throws RangeError unless a whole number of at most 2^53 - 1 (PAY-22), so that no sum is inexact. */
export function cents(value: number): Cents {
  if (!isCents(value)) throw new RangeError(`not an exact amount in smallest units: ${value}`);
  return value;
}

export function isPercent(value: number): value is Percent {
  return value >= 0 && value <= 100 && hasAtMostFourDecimals(value);
}

/** @throws RangeError unless it is 0 to 100 with at most four decimals. */
export function percent(value: number): Percent {
  if (!isPercent(value)) throw new RangeError(`not a percentage: ${value}`);
  return value;
}

/** @throws RangeError for a sum that passes 2^53 - 1. */
export function addUp(amounts: Iterable<Cents>): Cents {
  return cents(Number(total(amounts)));
}

/** The sum, clamped between `least` and `most`: vendors' sums, without `LARGEST`, never keep a payment undecided. */
export function sumWithin(amounts: Iterable<Cents>, least: Cents = negate(MOST), most: Cents = MOST): Cents {
  const sum = total(amounts);
  const raised = sum < least ? least : sum;
  return toCents(Number(raised > most ? most : raised) + 0);
}

/** Uses bigints, so that the order of the amounts does not matter. */
function total(amounts: Iterable<Cents>): bigint {
  let sum = 0n;
  for (const amount of amounts) sum += BigInt(amount);
  return sum;
}

/** `a + b`. @throws RangeError likewise. */
export function add(a: Cents, b: Cents): Cents {
  return addUp([a, b]);
}

/** `a - b`. @throws RangeError likewise. */
export function subtract(a: Cents, b: Cents): Cents {
  return addUp([a, negate(b)]);
}

/** `-a`, and 0 for 0. */
export function negate(a: Cents): Cents {
  return toCents(0 - a);
}

export function larger(a: Cents, b: Cents): Cents {
  return b > a ? b : a;
}

export function smaller(a: Cents, b: Cents): Cents {
  return b < a ? b : a;
}

/** Compares amounts for `toSorted`, the smaller first. */
export function compareAmounts(a: Cents, b: Cents): number {
  return a - b;
}

/** `a × b ÷ c`, rounded half up, exact for any amounts; `a ≥ 0`, `b ≥ 0`, `c > 0`, and a result of at most `MOST`. */
export function mulDivHalfUp(a: Cents, b: Cents, c: Cents): Cents {
  return toCents(roundHalfUp(a, b, c));
}

function roundHalfUp(a: number, b: number, c: number): number {
  const product = BigInt(a) * BigInt(b);
  const divisor = BigInt(c);
  return Number((2n * product + divisor) / (2n * divisor));
}

/**
 * Amounts of either sign that make up `from`, above 0, as parts of `to`, 0 or more: if they add up to `from`, the parts
 * add up to exactly `to`.
 */
export function rescale(amounts: readonly Cents[], from: Cents, to: Cents): Cents[] {
  let whole = 0n;
  let given = 0n;
  return amounts.map((amount) => {
    whole += BigInt(amount);
    const size = whole < 0n ? -whole : whole;
    const rounded = (2n * size * BigInt(to) + BigInt(from)) / (2n * BigInt(from));
    const sum = whole < 0n ? -rounded : rounded;
    const part = sum - given;
    given = sum;
    return sumWithin([toCents(Number(part))]);
  });
}

/** The multiple of `step` nearest to an amount above 0, half up; at least one `step`, at most `MOST`. */
export function nearestMultiple(amount_cents: Cents, step: number): Cents {
  const steps = roundHalfUp(amount_cents, 1, step);
  const most = Math.floor(MOST / step);
  return toCents(Math.min(Math.max(steps, 1), most) * step);
}

/** Percentages have at most four decimals, so one unit is a ten-thousandth of a percent: 12.5 % is 125,000. */
const UNITS_PER_PERCENT = 10_000;

/** `pct` of `base_cents`, 0 or more, rounded half up to the smallest unit (PAY-2). */
export function percentageOf(base_cents: Cents, pct: Percent): Cents {
  return toCents(roundHalfUp(base_cents, Math.round(pct * UNITS_PER_PERCENT), 100 * UNITS_PER_PERCENT));
}

/** True for a number with at most four decimals (PROG-2). */
export function hasAtMostFourDecimals(value: number): boolean {
  return Number.isFinite(value) && Math.round(value * UNITS_PER_PERCENT) / UNITS_PER_PERCENT === value;
}
