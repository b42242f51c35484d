/** The rates at which provider A converted payments into the currency of their settlement. */
import * as z from "zod";
import { currencyExponent } from "../../domain/currency.ts";
import { convert, roundRate } from "../../domain/exchange.ts";
import { cents, isCents, type Cents } from "../../domain/money.ts";
import { iso } from "../../lib/time.ts";
import type { ApiReach } from "../api-call.ts";
import { failureOf, type ConversionRate, type RatesAnswer } from "../reads.ts";
import { call } from "./api.ts";

/** One request covers this many of the newest movements of the vendor's balance. */
const NEWEST = 100;
const MAX_BYTES = 4 * 1024 * 1024;

const money = z.object({ amount: z.int(), currency: z.string() });
const charged = money.extend({ object: z.literal("charge") });
const movement = money.extend({
  exchange_rate: z.number().nullish(),
  created: z.int().min(0).max(253_402_300_799),
  source: z.unknown(),
});
const list = z.object({ object: z.literal("list"), data: z.array(z.unknown()) });

/** Reads the newest movements with their charges. Those without a conversion, and of other kinds, are left out. */
export async function readRates(reach: ApiReach, api_key: string): Promise<RatesAnswer> {
  const query = new URLSearchParams({ limit: String(NEWEST), "expand[]": "data.source" });
  const path = `/v1/balance_transactions?${query.toString()}`;
  const answer = await call(reach, api_key, "GET", path, { most_bytes: MAX_BYTES });
  const read = answer.status === 200 ? list.safeParse(answer.json).data : undefined;
  if (!read) return failureOf(answer);
  return { outcome: "read", rates: read.data.flatMap((one) => conversionOf(one) ?? []) };
}

function conversionOf(one: unknown): ConversionRate | null {
  const settled = movement.safeParse(one).data;
  const source = charged.safeParse(settled?.source).data;
  if (!settled || !source || settled.exchange_rate == null) return null;
  const [from, to] = [source.currency.toUpperCase(), settled.currency.toUpperCase()];
  if (from === to || !isCents(source.amount) || !isCents(settled.amount)) return null;
  const [charge, made] = [cents(source.amount), cents(settled.amount)];
  // The vendor documents the rate as one of amounts, which are in smallest units; of major units it is the same or shifted.
  const shift = currencyExponent(from) - currencyExponent(to);
  const rate = [0, shift]
    .map((by) => roundRate(String(settled.exchange_rate), by))
    .find((one) => one !== null && makes(convert(charge, one, from, to), made));
  return rate ? { from, to, rate, at: iso(settled.created * 1000) } : null;
}

/** Whether a conversion is the vendor's, to 1 % or one unit. */
function makes(converted: Cents | null, settled: Cents): boolean {
  return converted !== null && Math.abs(converted - settled) <= Math.max(1, Math.abs(settled) / 100);
}
