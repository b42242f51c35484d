import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { currencyExponent, decimalAmount } from "../../src/domain/currency.ts";
import {
  cents,
  hasAtMostFourDecimals,
  larger,
  mulDivHalfUp,
  percent,
  percentageOf,
  smaller,
} from "../../src/domain/money.ts";

const safe = fc
  .oneof(
    fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) }).map(Number),
    fc.nat(1_000),
    fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER),
  )
  .map(cents);
/** A rate as people write it: a whole number of ten-thousandths of a percent, and the number its text reads as. */
const rates = fc
  .oneof(
    fc.nat(1_000_000),
    fc.nat(100).map((pct) => pct * 10_000),
  )
  .map((units) => ({
    units,
    pct: percent(Number(`${Math.floor(units / 10_000)}.${String(units % 10_000).padStart(4, "0")}`)),
  }));
const currencies = fc.constantFrom("JPY", "KRW", "USD", "EUR", "ISK", "UGX", "KWD", "BHD");

/** True when `value` is `a ÷ b` rounded half up: a ÷ b − ½ < value ≤ a ÷ b + ½, in whole numbers. */
function isHalfUp(value: bigint, a: bigint, b: bigint): boolean {
  return 2n * a - b < 2n * value * b && 2n * value * b <= 2n * a + b;
}

describe("money", () => {
  it("a × b ÷ c is the rational rounded half up", () => {
    fc.assert(
      fc.property(safe, safe, safe, (a, b, c) => {
        fc.pre(c > 0 && (b <= c || a <= c));
        expect(isHalfUp(BigInt(mulDivHalfUp(a, b, c)), BigInt(a) * BigInt(b), BigInt(c))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("a commission is the percentage rounded half up, and between 0 and the base", () => {
    fc.assert(
      fc.property(safe, rates, (base, { units, pct }) => {
        const commission = percentageOf(base, pct);
        expect(isHalfUp(BigInt(commission), BigInt(base) * BigInt(units), 1_000_000n)).toBe(true);
        expect(commission).toBeGreaterThanOrEqual(0);
        expect(commission).toBeLessThanOrEqual(base);
      }),
      { numRuns: 2_000 },
    );
  });

  it("at exactly half a unit rounds up", () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), (half) => {
        expect(percentageOf(cents(2 * half + 1), percent(50))).toBe(half + 1);
        expect(mulDivHalfUp(cents(2 * half + 1), cents(1), cents(2))).toBe(half + 1);
      }),
    );
  });

  it("grows with the base and with the rate", () => {
    fc.assert(
      fc.property(safe, safe, rates, rates, (one, other, low, high) => {
        const [less, more] = [smaller(one, other), larger(one, other)];
        const [slow, fast] = low.units <= high.units ? [low, high] : [high, low];
        expect(percentageOf(less, slow.pct)).toBeLessThanOrEqual(percentageOf(more, fast.pct));
      }),
    );
  });

  it("is the same in smallest units whatever the currency's decimals", () => {
    fc.assert(
      fc.property(safe, rates, currencies, (base, { units, pct }, currency) => {
        // The result of a computation by hand from the decimal amount, in whole numbers.
        const [whole = "", decimals = ""] = decimalAmount(base, currency).split(".");
        expect(decimals).toHaveLength(currencyExponent(currency));
        const shown = BigInt(whole + decimals);
        expect(isHalfUp(BigInt(percentageOf(base, pct)), shown * BigInt(units), 1_000_000n)).toBe(true);
      }),
    );
  });

  it("every rate of four decimals is one, and none with a fifth", () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 9 }), ({ pct }, digit) => {
        expect(hasAtMostFourDecimals(pct)).toBe(true);
        expect(hasAtMostFourDecimals(Number(`${pct.toFixed(4)}${digit}`))).toBe(false);
      }),
    );
  });
});
