import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { currencyExponent, decimalAmount, formatMoney, isCurrency } from "../../src/domain/currency.ts";
import { cents } from "../../src/domain/money.ts";

describe("a currency is an upper-case ISO 4217 code (PROG-1)", () => {
  it.each(["USD", "EUR", "GBP", "JPY", "KWD", "ISK", "UGX", "XOF", "CHF", "ZWG", "BGN"])("%s", (code) => {
    expect(isCurrency(code)).toBe(true);
  });
  it.each(["usd", "Usd", "US", "USDC", "", "ABC", "XXX", "XAU", "123", " USD", "USD\n", "€", "constructor"])(
    "not %j",
    (code) => {
      expect(isCurrency(code)).toBe(false);
    },
  );
});

describe("a currency's own exponent is zero, two or three decimals (PAY-2)", () => {
  const zero = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ");
  const three = "BHD JOD KWD OMR TND".split(" ");
  it.each(zero)("%s has none", (code) => {
    expect(currencyExponent(code)).toBe(0);
    expect(isCurrency(code)).toBe(true);
  });
  it.each(three)("%s has three", (code) => {
    expect(currencyExponent(code)).toBe(3);
    expect(isCurrency(code)).toBe(true);
  });
  it.each(["USD", "EUR", "ISK", "UGX", "HUF", "TWD", "ZZZ"])("%s has two", (code) => {
    expect(currencyExponent(code)).toBe(2);
  });
});

describe("an amount for display", () => {
  it.each([
    [0, "USD", "0.00", "0.00 USD"],
    [1, "USD", "0.01", "0.01 USD"],
    [99, "USD", "0.99", "0.99 USD"],
    [100, "USD", "1.00", "1.00 USD"],
    [123_456, "EUR", "1234.56", "1,234.56 EUR"],
    [100_000_000, "EUR", "1000000.00", "1,000,000.00 EUR"],
    [-5, "USD", "-0.05", "-0.05 USD"],
    [-123_456, "USD", "-1234.56", "-1,234.56 USD"],
    [-99_999, "USD", "-999.99", "-999.99 USD"],
    [0, "JPY", "0", "0 JPY"],
    [1_234, "JPY", "1234", "1,234 JPY"],
    [-1_000, "KRW", "-1000", "-1,000 KRW"],
    [1, "KWD", "0.001", "0.001 KWD"],
    [1_234_567, "BHD", "1234.567", "1,234.567 BHD"],
    [-500, "KWD", "-0.500", "-0.500 KWD"],
    [1_234_500, "ISK", "12345.00", "12,345.00 ISK"],
    [-0, "USD", "0.00", "0.00 USD"],
    [Number.MAX_SAFE_INTEGER, "USD", "90071992547409.91", "90,071,992,547,409.91 USD"],
    [Number.MIN_SAFE_INTEGER, "JPY", "-9007199254740991", "-9,007,199,254,740,991 JPY"],
  ])("%s %s is %s, %s", (amount, code, decimal, shown) => {
    expect(decimalAmount(cents(amount), code)).toBe(decimal);
    expect(formatMoney(cents(amount), code)).toBe(shown);
  });

  it("loses nothing: the digits are the amount", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom("JPY", "USD", "KWD"), (amount, code) => {
        const text = formatMoney(cents(amount), code);
        expect(text.endsWith(` ${code}`)).toBe(true);
        expect(Number(text.slice(0, -4).replace(/[.,]/g, "")) + 0).toBe(amount + 0);
        expect(text).toMatch(/^-?\d{1,3}(,\d{3})*(\.\d{2,3})? [A-Z]{3}$/);
      }),
    );
  });
});
