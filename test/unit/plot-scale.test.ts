/** The scale of a plot holds every value between round marks, and its bars hold every day once (PAGE-17). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addUp, cents } from "../../src/domain/money.ts";
import { barsOf, marksOf } from "../../src/http/pages/parts/plot-scale.ts";
import { DAY, utcDay } from "../../src/lib/time.ts";

const anySum = fc.integer({ min: -(10 ** 13), max: 10 ** 13 }).map(cents);

function daysFrom(values: readonly number[]) {
  return values.map((value, i) => ({ day: utcDay(i * DAY), value: cents(value) }));
}

describe("the marks of a scale (PAGE-17)", () => {
  it("are round, the same step apart, at most five, with zero among them and every value between", () => {
    fc.assert(
      fc.property(fc.array(anySum, { minLength: 1, maxLength: 40 }), (values) => {
        const marks = marksOf(values);
        expect(marks).toContain(0);
        expect(marks.length).toBeLessThanOrEqual(5);
        for (const value of values) {
          expect(value <= marks[0]! && value >= marks.at(-1)!).toBe(true);
        }
        const steps = new Set(marks.slice(1).map((mark, i) => marks[i]! - mark));
        expect(steps.size).toBeLessThanOrEqual(1);
        for (const step of steps) expect(String(step)).toMatch(/^[125]0*$/);
      }),
    );
  });

  it("are close to the values", () => {
    expect(marksOf(daysFrom([1]).map(({ value }) => value))).toEqual([1, 0]);
    expect(marksOf(daysFrom([13, 37]).map(({ value }) => value))).toEqual([40, 30, 20, 10, 0]);
    expect(marksOf(daysFrom([900, -100]).map(({ value }) => value))).toEqual([1_000, 500, 0, -500]);
    expect(marksOf(daysFrom([0, 0]).map(({ value }) => value))).toEqual([0]);
  });
});

describe("the bars of a plot (PAGE-17)", () => {
  it("are days up to 92 of them, else whole weeks that end with the last day", () => {
    expect(barsOf(daysFrom([5, 6]))).toEqual([
      { from: "1970-01-01", to: "1970-01-01", value: 5 },
      { from: "1970-01-02", to: "1970-01-02", value: 6 },
    ]);
    expect(barsOf(daysFrom(Array.from({ length: 92 }, () => 1)))).toHaveLength(92);
    const year = barsOf(daysFrom(Array.from({ length: 365 }, () => 1)));
    expect(year).toHaveLength(53);
    expect(year[0]).toEqual({ from: "1970-01-01", to: "1970-01-01", value: 1 });
    expect(year.at(-1)).toEqual({ from: "1970-12-25", to: "1970-12-31", value: 7 });
  });

  it("hold each day once, exactly", () => {
    fc.assert(
      fc.property(fc.array(anySum, { minLength: 1, maxLength: 366 }), (values) => {
        const bars = barsOf(daysFrom(values));
        expect(addUp(bars.map(({ value }) => value))).toBe(addUp(values));
        expect(bars[0]!.from).toBe(utcDay(0));
        expect(bars.at(-1)!.to).toBe(utcDay((values.length - 1) * DAY));
        for (const [i, { from }] of bars.slice(1).entries()) {
          expect(Date.parse(from) - Date.parse(bars[i]!.to)).toBe(DAY);
        }
      }),
    );
  });
});
