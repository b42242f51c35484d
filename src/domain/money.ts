/** Exact arithmetic on integer smallest units. Nothing here knows a currency or divides by 100. */

/** What amounts come to, exactly: a number as long as that is exact, else a bigint. */
export type Sum = number | bigint;

export function exact(sum: bigint): Sum {
  const number = Number(sum);
  return Number.isSafeInteger(number) ? number : sum;
}

/** Every sum of amounts that may be many or large: adding numbers is exact to 2^53 only. */
export function addUp(amounts: Iterable<Sum>): Sum {
  let sum = 0n;
  for (const amount of amounts) sum += BigInt(amount);
  return exact(sum);
}

/** A sum brought to at least `least`, then to at most `most`. */
export function clamp(sum: Sum, least: number, most: number): number {
  const raised = sum < least ? least : sum;
  return raised > most ? most : Number(raised);
}

/** `a × b ÷ c`, rounded half up, exact for any safe integers; `a ≥ 0`, `b ≥ 0`, `c > 0`. */
export function mulDivHalfUp(a: number, b: number, c: number): number {
  const product = BigInt(a) * BigInt(b);
  const divisor = BigInt(c);
  return Number((2n * product + divisor) / (2n * divisor));
}

/** Percentages have at most four decimals, so one unit is a ten-thousandth of a percent: 12.5 % is 125,000. */
const UNITS_PER_PERCENT = 10_000;

/** `pct` (0–100, at most four decimals) of `base_cents`, rounded half up to the smallest unit (PAY-2). */
export function percentageOf(base_cents: number, pct: number): number {
  return mulDivHalfUp(base_cents, Math.round(pct * UNITS_PER_PERCENT), 100 * UNITS_PER_PERCENT);
}

/** True for a number with at most four decimals (PROG-2). */
export function hasAtMostFourDecimals(value: number): boolean {
  return Number.isFinite(value) && Math.round(value * UNITS_PER_PERCENT) / UNITS_PER_PERCENT === value;
}
