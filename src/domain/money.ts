/** Exact arithmetic on integer smallest units. Nothing here knows a currency or divides by 100. */
import type { $brand } from "zod";

/**
 * An amount: a whole number of a currency's smallest units, exact (below 2^53). At runtime it is a number; to the
 * compiler no other number is one. Made by `cents`, by the schemas of input, and by the functions here.
 */
export type Cents = number & $brand<"Cents">;

/** A percentage: 0 to 100 with at most four decimals. */
export type Percent = number & $brand<"Percent">;

/** The one place where a number becomes an amount; every caller has made sure that it is exact. */
function taken(value: number): Cents {
  return value as Cents;
}

export const NOTHING = taken(0);

/** The largest amount: a larger number would not be exact. */
export const MOST = taken(Number.MAX_SAFE_INTEGER);

/** The most that a balance can be, as its triggers say it too: four of them together are exact (PAY-22). */
export const LARGEST_BALANCE = taken(2 ** 51 - 1);

/** The largest amount that one request or one payment may have (PAY-22). */
export const LARGEST = taken(1_000_000_000_000);

/** True for a whole number that is exact. */
export function isCents(value: number): value is Cents {
  return Number.isSafeInteger(value);
}

/** @throws RangeError for what is no whole number, or passes 2^53 - 1 (PAY-22): no sum is ever inexact in silence. */
export function cents(value: number): Cents {
  if (!isCents(value)) throw new RangeError(`not an exact amount in smallest units: ${value}`);
  return value;
}

export function isPercent(value: number): value is Percent {
  return value >= 0 && value <= 100 && hasAtMostFourDecimals(value);
}

/** @throws RangeError for what is not 0 to 100 with at most four decimals. */
export function percent(value: number): Percent {
  if (!isPercent(value)) throw new RangeError(`not a percentage: ${value}`);
  return value;
}

/** @throws RangeError for a sum that passes 2^53 - 1. */
export function addUp(amounts: Iterable<Cents>): Cents {
  return cents(Number(total(amounts)));
}

/**
 * What amounts come to, brought to at least `least`, then to at most `most`. For what a vendor reports: its amounts are not
 * bounded by `LARGEST`, and no sum of them may keep a payment from being decided.
 */
export function sumWithin(amounts: Iterable<Cents>, least: Cents = negate(MOST), most: Cents = MOST): Cents {
  const sum = total(amounts);
  const raised = sum < least ? least : sum;
  return taken(Number(raised > most ? most : raised) + 0);
}

/** Of bigints, so that it does not depend on the order. */
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

/** `-a`; of zero it is zero. */
export function negate(a: Cents): Cents {
  return taken(0 - a);
}

export function larger(a: Cents, b: Cents): Cents {
  return b > a ? b : a;
}

export function smaller(a: Cents, b: Cents): Cents {
  return b < a ? b : a;
}

/** The order of amounts, the smaller first, as `toSorted` wants it. */
export function compareAmounts(a: Cents, b: Cents): number {
  return a - b;
}

/** `a × b ÷ c`, rounded half up, exact for any amounts; `a ≥ 0`, `b ≥ 0`, `c > 0`, and `a` or `b` at most `c`. */
export function mulDivHalfUp(a: Cents, b: Cents, c: Cents): Cents {
  return taken(halfUp(a, b, c));
}

function halfUp(a: number, b: number, c: number): number {
  const product = BigInt(a) * BigInt(b);
  const divisor = BigInt(c);
  return Number((2n * product + divisor) / (2n * divisor));
}

/** The multiple of `step` that is nearest to an amount above 0, half up; at least one `step`, and none beyond `MOST`. */
export function nearestMultiple(amount_cents: Cents, step: number): Cents {
  const steps = halfUp(amount_cents, 1, step);
  const most = Math.floor(MOST / step);
  return taken(Math.min(Math.max(steps, 1), most) * step);
}

/** Percentages have at most four decimals, so one unit is a ten-thousandth of a percent: 12.5 % is 125,000. */
const UNITS_PER_PERCENT = 10_000;

/** `pct` of `base_cents`, 0 or more, rounded half up to the smallest unit (PAY-2). */
export function percentageOf(base_cents: Cents, pct: Percent): Cents {
  return taken(halfUp(base_cents, Math.round(pct * UNITS_PER_PERCENT), 100 * UNITS_PER_PERCENT));
}

/** True for a number with at most four decimals (PROG-2). */
export function hasAtMostFourDecimals(value: number): boolean {
  return Number.isFinite(value) && Math.round(value * UNITS_PER_PERCENT) / UNITS_PER_PERCENT === value;
}
