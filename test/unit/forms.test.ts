import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { currencyExponent, decimalAmount, formatMoney } from "../../src/domain/currency.ts";
import { cents } from "../../src/domain/money.ts";
import { FormFields, parseInput, parseMoney, problemsOf } from "../../src/http/pages/forms.ts";
import { AppError } from "../../src/lib/errors.ts";

describe("an amount that people type", () => {
  it.each([
    ["12.5", "USD", 1250],
    ["12.50", "USD", 1250],
    ["0", "USD", 0],
    ["-3", "USD", -300],
    ["1,234.56", "USD", 123456],
    ["1 234.56", "USD", 123456],
    ["1,234,567", "JPY", 1234567],
    ["1.5", "KWD", 1500],
    ["1.234", "KWD", 1234],
    ["1,500.000", "KWD", 1_500_000],
    ["1,500.5", "TND", 1_500_500],
    ["1,234,567", "TND", 1_234_567_000],
    ["1 500", "TND", 1_500_000],
    ["1\u202f500", "TND", 1_500_000],
    ["1\u00a0234.56", "EUR", 123456],
  ])("%s %s is %d of the smallest units", (text, currency, units) => {
    expect(parseMoney(text, currency)).toBe(units);
  });

  it.each([
    ["", "USD"],
    ["abc", "USD"],
    ["12,50", "USD"],
    // A French page writes 1.500 and 1234.567 so.
    ["1,500", "TND"],
    ["-1,500", "KWD"],
    ["1 234,567", "TND"],
    ["1.005", "USD"],
    ["0.5", "JPY"],
    ["1e5", "USD"],
    ["Infinity", "USD"],
    ["--1", "USD"],
    ["1234567890123", "USD"],
    ["١٢", "USD"],
  ])("%j %s is no amount", (text, currency) => {
    expect(parseMoney(text, currency)).toBeNaN();
  });

  it("is read as it was shown, in every currency", () => {
    const amounts = fc.integer({ min: -1_000_000_000_000, max: 1_000_000_000_000 }).map(cents);
    fc.assert(
      fc.property(amounts, fc.constantFrom("USD", "JPY", "KWD"), (amount, currency) => {
        expect(parseMoney(decimalAmount(amount, currency), currency)).toBe(amount);
        expect(parseMoney(formatMoney(amount, currency).replace(` ${currency}`, ""), currency)).toBe(amount);
        expect(currencyExponent(currency)).toBeLessThanOrEqual(3);
      }),
      // The largest amounts that the API takes, in a currency without decimals.
      {
        examples: [
          [-1_000_000_000_000, "JPY"],
          [1_000_000_000_000, "JPY"],
        ],
      },
    );
  });
});

function fieldsOf(values: Record<string, string>): FormFields {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.append(name, value);
  return new FormFields(data);
}

describe("a sent form", () => {
  it("gives texts without the blanks around them, numbers or what is none, and null for what is empty", () => {
    const fields = fieldsOf({ a: "  x ", n: " 12.5 ", bad: "12x", empty: " " });
    expect([fields.text("a"), fields.text("none"), fields.textOrNull("empty")]).toEqual(["x", "", null]);
    expect([fields.numberOrNull("n"), fields.numberOrNull("bad"), fields.numberOrNull("empty")]).toEqual([
      12.5,
      Number.NaN,
      null,
    ]);
    expect(fields.number("empty")).toBeNaN();
    expect(fields.numberOrNull("a")).toBeNaN();
    expect(fieldsOf({ n: "0x10" }).numberOrNull("n")).toBeNaN();
  });
});

describe("a field that was not sent", () => {
  it("is undefined, and empty only where it is shown", () => {
    const fields = fieldsOf({});
    const read = [
      fields.given("none"),
      fields.textOrNull("none"),
      fields.number("none"),
      fields.numberOrNull("none"),
      fields.money("none", "USD"),
      fields.isTicked("none"),
    ];
    expect(read).toEqual(read.map(() => undefined));
    expect(fields.text("none")).toBe("");
  });
});

describe("what is wrong with a form", () => {
  const schema = z.strictObject({
    email: z.email(),
    name: z.string().min(1).max(3),
    pct: z.number().max(100).nullable(),
    inner: z.array(z.strictObject({ value: z.number() })).optional(),
  });

  it("is reported by field, in words for people", () => {
    const parsed = parseInput(schema, { email: "x", name: "", pct: Number.NaN, inner: [{ value: "y" }] });
    expect(parsed).toEqual({
      ok: false,
      problems: {
        message: "Please check the marked fields.",
        fields: {
          email: "This must be an e-mail address.",
          name: "This must not be empty.",
          pct: "This must be a number, with a point before its decimals.",
          "inner.0.value": "This must be a number.",
        },
      },
    });
    const either = z.object({ value: z.union([z.number(), z.string()], "This must be either.") });
    expect(parseInput(either, { value: Number.NaN })).toMatchObject({
      problems: { fields: { value: "This must be a number, with a point before its decimals." } },
    });
    const long = parseInput(schema, { email: "a@b.co", name: "long name", pct: 101 });
    expect(long.ok ? {} : long.problems.fields).toEqual({
      name: "This is at most 3 characters long.",
      pct: "This must be at most 100.",
    });
  });

  it("is the message of a refusing verb, beside the field that it names", () => {
    const taken = new AppError("already_exists", "Taken.", { details: [{ path: "slug", message: "This is taken." }] });
    expect(problemsOf(taken)).toEqual({ message: "Taken.", fields: { slug: "This is taken." } });
    expect(problemsOf(new AppError("invalid_transition", "Too late."))).toEqual({ message: "Too late.", fields: {} });
  });

  it("is not the person's where the service fails or the thing is not there", () => {
    for (const error of [new Error("SQLITE_BUSY"), new AppError("not_found", "No such partner.")]) {
      expect(() => problemsOf(error)).toThrow(error.message);
    }
  });
});
