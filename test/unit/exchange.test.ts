/** Exchange rates and conversions, against fractions (OUT-36 to OUT-39). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { currencyExponent } from "../../src/domain/currency.ts";
import {
  convert,
  crossRate,
  ratesInForce,
  readRate,
  roundRate,
  type ExchangeRate,
  type StoredRates,
} from "../../src/domain/exchange.ts";
import { cents, LARGEST_BALANCE, negate } from "../../src/domain/money.ts";

const rate = (text: string): ExchangeRate => readRate(text)!;
const NOW = Date.parse("2026-11-28T12:00:00.000Z");
const DAY = 86_400_000;

describe("a rate", () => {
  it.each([
    ["1.0853", "1.0853"],
    ["0161.9200", "161.92"],
    ["1e-7", "0.0000001"],
    ["5.00e+3", "5000"],
    ["10000000", "10000000"],
    ["0.000000001", "0.000000001"],
  ])("is read from %s as %s (OUT-37)", (text, read) => expect(readRate(text)).toBe(read));

  it.each([
    ...["0", "0.000", "-1", "+1", "", " 1", "1,5", "1.", ".5", "NaN", "Infinity", "1e999", "0x10", "1_000"],
    ...["1.2345678", "12345678", "0.0000000009", "10000001", "1e400", "١"],
  ])("is not %j (OUT-37)", (text) => expect(readRate(text)).toBeNull());

  it("of a provider is rounded half up to 7 digits", () => {
    expect(roundRate("1.23456749")).toBe("1.234567");
    expect(roundRate("1.2345675")).toBe("1.234568");
    expect(roundRate("0.99999999")).toBe("1");
    expect(roundRate("0.0065", 2)).toBe("0.65");
    expect(roundRate("0")).toBeNull();
  });
});

describe("the rate across a base (OUT-37)", () => {
  const rates = { USD: rate("1.0853"), JPY: rate("161.92"), KWD: rate("0.3339") };
  it.each([
    ["USD", "EUR", "0.9214042"],
    ["EUR", "USD", "1.0853"],
    ["USD", "JPY", "149.1938"],
    ["JPY", "KWD", "0.002062129"],
    ["EUR", "EUR", "1"],
  ])("of %s in %s is %s", (from, to, expected) => expect(crossRate("EUR", rates, from, to)).toBe(expected));

  it("needs both currencies", () => {
    expect(crossRate("EUR", rates, "GBP", "USD")).toBeNull();
    expect(crossRate("EUR", rates, "USD", "toString")).toBeNull();
  });

  it("is the fraction to 7 significant digits, half up", () => {
    const given = fc
      .tuple(fc.integer({ min: 1, max: 9_999_999 }), fc.integer({ min: -1, max: 12 }))
      .map(([digits, scale]) => readRate(`${digits}e${scale > 0 ? "-" : "+"}${Math.abs(scale)}`))
      .filter((one) => one !== null);
    fc.assert(
      fc.property(given, given, (a, b) => {
        const found = crossRate("EUR", { USD: a, GBP: b }, "USD", "GBP");
        const [above, below] = [scaled(b) * UNIT, scaled(a)];
        if (found === null) {
          const size = Number(above / below) / Number(UNIT);
          expect(size > 9_999_999 || size < 0.000_000_001_000_001).toBe(true);
          return;
        }
        // Within half of the seventh digit of the exact quotient.
        const off = scaled(found) * below - above;
        expect((off < 0n ? -off : off) * 2n * 1_000_000n <= above + below).toBe(true);
        expect(found.replace(".", "").replace(/^0+/, "").replace(/0+$/, "").length).toBeLessThanOrEqual(7);
      }),
    );
  });
});

const UNIT = 10n ** 24n;
function scaled(text: string): bigint {
  const [whole = "", decimals = ""] = text.split(".");
  return BigInt(whole + decimals.padEnd(24, "0"));
}

describe("a conversion (OUT-39)", () => {
  it.each([
    [10_000, "USD", "0.9213877", "EUR", 9_214],
    [-10_000, "USD", "0.9213877", "EUR", -9_214],
    [50, "USD", "0.5", "EUR", 25],
    [5, "USD", "0.5", "EUR", 3],
    [-5, "USD", "0.5", "EUR", -3],
    [1_000, "JPY", "0.0065", "USD", 650],
    [650, "USD", "153.8462", "JPY", 1_000],
    [1_500, "KWD", "3.25", "USD", 488],
    [488, "USD", "0.3076923", "KWD", 1_502],
    [1, "IRR", "0.0000007", "KWD", 0],
    [0, "USD", "1.1", "EUR", 0],
  ])("of %i %s at %s makes %s %i", (amount, from, text, to, made) => {
    expect(convert(cents(amount), rate(text), from, to)).toBe(made);
  });

  it("is null beyond the limit of a balance (PAY-22)", () => {
    expect(convert(LARGEST_BALANCE, rate("1"), "USD", "EUR")).toBe(LARGEST_BALANCE);
    expect(convert(LARGEST_BALANCE, rate("1.000001"), "USD", "EUR")).toBeNull();
    expect(convert(negate(LARGEST_BALANCE), rate("10000000"), "JPY", "KWD")).toBeNull();
  });

  it("is the nearest unit, and as far from zero for a debt", () => {
    const currency = fc.constantFrom("USD", "JPY", "KWD");
    const amount = fc.oneof(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: LARGEST_BALANCE }));
    const decimal = fc.integer({ min: 1, max: 9_999_999 }).map((digits) => rate(`${digits}e-7`));
    fc.assert(
      fc.property(amount, decimal, currency, currency, (size, one, from, to) => {
        const made = convert(cents(size), one, from, to);
        expect(convert(cents(0 - size), one, from, to)).toBe(made === null ? null : 0 - made);
        const exact = BigInt(size) * scaled(one) * 10n ** BigInt(currencyExponent(to));
        const unit = UNIT * 10n ** BigInt(currencyExponent(from));
        if (made === null) {
          expect(exact / unit >= BigInt(LARGEST_BALANCE)).toBe(true);
          return;
        }
        const off = 2n * (BigInt(made) * unit - exact);
        expect(off > -unit && off <= unit).toBe(true);
      }),
    );
  });
});

describe("the rates in force (OUT-38)", () => {
  const at = (days: number) => new Date(NOW - days * DAY).toISOString();
  const stored = (fields: Partial<StoredRates>): StoredRates => ({
    ...{ base: null, rates: null, rated_at: null, observed: null },
    ...fields,
  });
  const own = { base: "EUR", rates: { USD: rate("1.25") } };
  const observed = {
    USD: { to: "EUR", rate: rate("0.9"), at: at(1) },
    GBP: { to: "EUR", rate: rate("1.2"), at: at(2) },
    CHF: { to: "USD", rate: rate("1.1"), at: at(1) },
  };

  it("are the owner's before the provider's, and only those to the payout currency", () => {
    expect(ratesInForce(stored({ ...own, rated_at: at(3), observed }), "EUR", NOW)).toEqual([
      { currency: "GBP", rate: "1.2", rate_source: "provider_a", rate_at: at(2) },
      { currency: "USD", rate: "0.8", rate_source: "owner", rate_at: at(3) },
    ]);
  });

  it("last for 35 days", () => {
    const of = (days: number) => ratesInForce(stored({ ...own, rated_at: at(days) }), "EUR", NOW);
    expect(of(34.9)).toHaveLength(1);
    expect(of(35)).toEqual([]);
    const old = { GBP: { ...observed.GBP, at: at(36) } };
    expect(ratesInForce(stored({ observed: old }), "EUR", NOW)).toEqual([]);
  });
});
