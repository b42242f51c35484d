import { describe, expect, it } from "vitest";
import {
  add,
  addUp,
  cents,
  hasAtMostFourDecimals,
  MOST,
  mulDivHalfUp,
  nearestMultiple,
  negate,
  NOTHING,
  percent,
  percentageOf,
  subtract,
  sumWithin,
  type Cents,
} from "../../src/domain/money.ts";

describe("a percentage of the base, rounded half up to the smallest unit (PAY-2)", () => {
  it.each([
    [0, 20, 0],
    [10_000, 20, 2_000],
    [10_000, 0, 0],
    [10_000, 100, 10_000],
    [1, 50, 1],
    [1, 49.9999, 0],
    [3, 50, 2],
    [5, 50, 3],
    [25, 50, 13],
    [25, 10, 3],
    [24, 10, 2],
    [26, 10, 3],
    [5, 10, 1],
    [4, 10, 0],
    [10_000, 12.5, 1_250],
    [1_000, 0.05, 1],
    [999, 0.05, 0],
    [10_000, 0.0001, 0],
    [5_000, 0.01, 1],
    [4_999, 0.01, 0],
    [1_000_000, 0.0001, 1],
    [333, 33.3333, 111],
    [9_007_199_254_740_991, 100, 9_007_199_254_740_991],
    [9_007_199_254_740_991, 50, 4_503_599_627_370_496],
    [9_007_199_254_740_991, 0.0001, 9_007_199_255],
  ])("%i at %d %% is %i", (base, pct, expected) => {
    expect(percentageOf(cents(base), percent(pct))).toBe(expected);
  });

  it.each([
    // Rates that binary fractions miss: 1.005 × 10000 is 10049.999… in floating point.
    [100_000, 1.005, 1_005],
    [10_000, 8.2, 820],
    [1_000_000, 0.0003, 3],
    [1_000_000, 1.1001, 11_001],
    [1_000_000, 4.35, 43_500],
    [1_000_000, 64.1, 641_000],
  ])("%i at %d %% is %i, though no float holds the rate", (base, pct, expected) => {
    expect(percentageOf(cents(base), percent(pct))).toBe(expected);
  });
});

describe("a × b ÷ c, rounded half up", () => {
  it.each([
    [0, 5, 3, 0],
    [1, 1, 2, 1],
    [1, 1, 3, 0],
    [2, 1, 3, 1],
    [7, 1, 2, 4],
    [9_007_199_254_740_991, 9_007_199_254_740_991, 9_007_199_254_740_991, 9_007_199_254_740_991],
    [9_007_199_254_740_991, 9_007_199_254_740_990, 9_007_199_254_740_991, 9_007_199_254_740_990],
  ])("%i × %i ÷ %i = %i", (a, b, c, expected) => {
    expect(mulDivHalfUp(cents(a), cents(b), cents(c))).toBe(expected);
  });
});

describe("the nearest multiple, half up, at least one and an amount", () => {
  it.each([
    [1_234_549, 100, 1_234_500],
    [1_234_550, 100, 1_234_600],
    [1_230, 10, 1_230],
    [1, 10, 10],
    [MOST, 100, 9_007_199_254_740_900],
    [9_007_199_254_740_949, 100, 9_007_199_254_740_900],
  ])("of %i by %i is %i", (amount, step, expected) => {
    expect(nearestMultiple(cents(amount), step)).toBe(expected);
  });
});

describe("percentages have at most four decimals (PROG-2)", () => {
  it.each([0, 1, 12.5, 33.3333, 0.0001, 99.9999, 100, 8.2, 1.005])("%d", (pct) => {
    expect(hasAtMostFourDecimals(pct)).toBe(true);
  });
  it.each([0.00001, 33.33333, 1 / 3, Number.NaN, Infinity, -Infinity])("not %d", (pct) => {
    expect(hasAtMostFourDecimals(pct)).toBe(false);
  });
});

describe("a sum of amounts", () => {
  it("is exact whatever the order, and an error beyond 2^53 - 1 (PAY-22)", () => {
    expect(addUp([])).toBe(0);
    expect(addUp([MOST, MOST, negate(MOST)])).toBe(MOST);
    for (const sum of [
      [MOST, cents(1)],
      [negate(MOST), cents(-1)],
      [MOST, MOST],
    ]) {
      expect(() => addUp(sum)).toThrow(RangeError);
    }
    expect(Object.is(addUp([cents(-0), NOTHING]), 0)).toBe(true);
  });

  it("of two, and their difference, is exact", () => {
    expect([add(MOST, cents(-2)), subtract(negate(MOST), cents(-3))]).toEqual([MOST - 2, 3 - MOST]);
    expect(() => add(MOST, cents(2))).toThrow(RangeError);
    expect(() => subtract(negate(MOST), cents(3))).toThrow(RangeError);
    expect(Object.is(negate(NOTHING), 0)).toBe(true);
  });

  it("is brought to at least one amount, then to at most another", () => {
    const [nine, five] = [cents(9), cents(5)];
    const within = (amounts: readonly Cents[], most = nine) => sumWithin(amounts, NOTHING, most);
    expect([within([five]), within([five, cents(-6)]), within([five, five])]).toEqual([5, 0, 9]);
    expect(within([cents(-5)], cents(-9))).toBe(-9);
    expect([within([MOST, MOST]), within([negate(MOST), negate(MOST)])]).toEqual([9, 0]);
    expect([sumWithin([MOST, five]), sumWithin([negate(MOST), cents(-5)])]).toEqual([MOST, negate(MOST)]);
    expect(sumWithin([MOST, MOST, negate(MOST)])).toBe(MOST);
  });
});
