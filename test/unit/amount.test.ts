import { describe, expect, it } from "vitest";
import { amountOf, settingOf, sumUp, type Amount, type Amounts } from "../../src/domain/amount.ts";
import { cents, MOST, NOTHING } from "../../src/domain/money.ts";

const program = { currency: "USD", min_payout_cents: NOTHING };

describe("amounts", () => {
  it("are summed by currency, the program's first, and none is left out", () => {
    const rows: Amount[] = [
      { amount_cents: cents(5_000), currency: "JPY" },
      { amount_cents: cents(100), currency: "EUR" },
      { amount_cents: cents(1_234), currency: "KWD" },
      { amount_cents: cents(1), currency: "USD" },
      { amount_cents: cents(-30), currency: "EUR" },
    ];
    expect(sumUp(rows, program)).toEqual([
      { amount_cents: 1, currency: "USD" },
      { amount_cents: 70, currency: "EUR" },
      { amount_cents: 5_000, currency: "JPY" },
      { amount_cents: 1_234, currency: "KWD" },
    ]);
  });

  it("that come to more than a number holds are an error", () => {
    const most = { amount_cents: MOST, currency: "USD" };
    expect(() => sumUp([most, { ...most, amount_cents: cents(1) }], program)).toThrow(RangeError);
  });

  it("that add up to zero are a zero of the program's currency, and only then", () => {
    const nothing = [{ amount_cents: 0, currency: "USD" }];
    expect(sumUp([], program)).toEqual(nothing);
    expect(sumUp([amountOf({ currency: "EUR" }, cents(5)), amountOf({ currency: "EUR" }, cents(-5))], program)).toEqual(
      nothing,
    );
    expect(sumUp([amountOf({ currency: "EUR" }, cents(5)), amountOf({ currency: "USD" }, NOTHING)], program)).toEqual([
      { amount_cents: 5, currency: "EUR" },
    ]);
  });

  it("cannot be made of a number and the program's currency, and a figure takes no list that was not summed", () => {
    // @ts-expect-error -- a program is not a row: its earnings are in any currency
    expect(amountOf(program, cents(5))).toEqual(settingOf(program, cents(5)));
    // @ts-expect-error -- a list may hold one currency twice, or leave one out
    const figure: Amounts = [amountOf({ currency: "EUR" }, cents(5))];
    expect(figure).toHaveLength(1);
  });
});
