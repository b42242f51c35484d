import * as z from "zod";
import { readExchangeRates, replaceExchangeRates, type GivenRates } from "../../core/payouts/exchange-rates.ts";
import { MAX_RATES, readRate, type ExchangeRate } from "../../domain/exchange.ts";
import { byCurrency, currency } from "../../resources/input.ts";
import { json, ok, route } from "../route.ts";
import { takes } from "../validate.ts";

const NOT_A_RATE = "This must be a number from 0.000000001 to 10000000 with at most 7 significant digits.";

const rate = z.union([z.number(), z.string()]).transform((value, issues): ExchangeRate => {
  const read = readRate(String(value));
  if (read !== null) return read;
  issues.addIssue({ code: "custom", message: NOT_A_RATE });
  return z.NEVER;
});

/** Stored as plain decimals. */
const rates = byCurrency(rate, MAX_RATES, `There are at most ${MAX_RATES} rates.`);

export const exchangeRatesInput = takes<GivenRates>()({
  base: currency.describe("The currency of which the rates give the value."),
  rates: rates.describe(
    `What one \`base\` is worth in each currency, by ISO 4217 code: \`{"USD": 1.0853}\`. Numbers or texts of at most 7 significant digits; ${MAX_RATES} at most.`,
  ),
}).superRefine(({ base, rates: given }, issues) => {
  if (Object.hasOwn(given, base)) {
    issues.addIssue({ code: "custom", path: ["rates", base], message: "This is the base: one is worth one." });
  }
});

/** `/api/v1/rates` (OUT-37). */
export const exchangeRates = [
  route("GET /api/v1/rates", {
    operation: "getExchangeRates",
    tag: "Payouts",
    scope: ["read"],
    summary: "Get the exchange rates of payouts",
    description: "Your own, and those in force for the program's `payout_currency`.",
    reply: ok("ExchangeRates", "The rates."),
    handle: ({ ctx }) => readExchangeRates(ctx),
  }),
  route("PUT /api/v1/rates", {
    operation: "setExchangeRates",
    tag: "Payouts",
    scope: ["payouts"],
    summary: "Set the exchange rates of payouts",
    description:
      "Replaces all of your rates. They count for 35 days, for payouts generated from now on; a payout keeps the rates it was made with.",
    body: json("ExchangeRatesSet", exchangeRatesInput),
    reply: ok("ExchangeRates", "The rates as they are now."),
    handle: ({ ctx, body }) => replaceExchangeRates(ctx, body),
  }),
];
