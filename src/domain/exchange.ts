/** Exchange rates as decimal texts, and exact conversions with them (OUT-36 to OUT-39). No floating-point arithmetic. */
import type { $brand } from "zod";
import { currencyExponent } from "./currency.ts";
import { DAY_MS } from "./duration.ts";
import { cents, LARGEST_BALANCE, type Cents } from "./money.ts";
import { TRANSFER_METHOD } from "./partner.ts";

/** The value of one major unit in another currency: a plain decimal of at most 7 significant digits. */
export type ExchangeRate = string & $brand<"ExchangeRate">;

/** Given by the owner, or used by the provider that makes transfers. */
export const RATE_SOURCES = ["owner", TRANSFER_METHOD] as const;
export type RateSource = (typeof RATE_SOURCES)[number];

/** The value of one `base` in other currencies, by ISO code. */
export type OwnRates = Readonly<Record<string, ExchangeRate>>;

export const MAX_RATES = 170;

/** The most significant digits of a rate. */
const DIGITS = 7;
/** Older rates count as missing. */
export const RATES_LAST_MS = 35 * DAY_MS;

/** A decimal, `digits × 10^-scale`. `digits` is above 0. */
interface Decimal {
  digits: bigint;
  scale: number;
}

const ONE: Decimal = { digits: 1n, scale: 0 };
/** 0.000000001 to 10,000,000. */
const LEAST: Decimal = { digits: 1n, scale: 9 };
const MOST: Decimal = { digits: 1n, scale: -7 };

/** A JSON number is written with an exponent if it is below 0.000001. */
const NUMBER = /^(\d{1,30})(?:\.(\d{1,30}))?(?:e([+-]\d{1,2}))?$/;

function readDecimal(text: string): Decimal | null {
  const [, whole, decimals = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return null;
  const digits = BigInt(whole + decimals);
  return digits === 0n ? null : shortest({ digits, scale: decimals.length - Number(exponent) });
}

/** Reads a rate, such as `1.0853`. Null unless it has 1 to 7 significant digits and is 0.000000001 to 10,000,000. */
export function readRate(text: string): ExchangeRate | null {
  const read = readDecimal(text);
  return read && String(read.digits).length <= DIGITS && isWithin(read) ? textOf(read) : null;
}

/** The same for a number of any length times 10^`shift`: rounded half up to 7 significant digits. */
export function roundRate(text: string, shift = 0): ExchangeRate | null {
  const read = readDecimal(text);
  return read && quotient({ ...read, scale: read.scale - shift }, ONE);
}

function isWithin(rate: Decimal): boolean {
  return !isLess(rate, LEAST) && !isLess(MOST, rate);
}

function isLess(a: Decimal, b: Decimal): boolean {
  return a.digits * power(b.scale - a.scale) < b.digits * power(a.scale - b.scale);
}

/** 10 to the `exponent`; 1 if that is negative. */
function power(exponent: number): bigint {
  return 10n ** BigInt(Math.max(exponent, 0));
}

/** Without zeros at the end of the digits. */
function shortest({ digits, scale }: Decimal): Decimal {
  let [rest, places] = [digits, scale];
  while (rest % 10n === 0n) {
    rest /= 10n;
    places--;
  }
  return { digits: rest, scale: places };
}

function textOf({ digits, scale }: Decimal): ExchangeRate {
  if (scale <= 0) return String(digits * power(-scale)) as ExchangeRate;
  const text = String(digits).padStart(scale + 1, "0");
  return `${text.slice(0, -scale)}.${text.slice(-scale)}` as ExchangeRate;
}

function decimalOf(rate: ExchangeRate): Decimal {
  const [whole = "", decimals = ""] = rate.split(".");
  return shortest({ digits: BigInt(whole + decimals), scale: decimals.length });
}

/** `to ÷ from` to 7 significant digits, half up. Null if it is not within the limits of a rate. */
function quotient(to: Decimal, from: Decimal): ExchangeRate | null {
  const above = to.digits * power(from.scale - to.scale);
  const below = from.digits * power(to.scale - from.scale);
  const rounded = (places: number): Decimal => {
    const [a, b] = [above * power(places), below * power(-places)];
    return { digits: (2n * a + b) / (2n * b), scale: places };
  };
  // The first has 7 or 8 digits; the second has exactly 7, or is a 1 with zeros.
  const places = DIGITS - String(above).length + String(below).length;
  const first = rounded(places);
  const rate = shortest(String(first.digits).length > DIGITS ? rounded(places - 1) : first);
  return isWithin(rate) ? textOf(rate) : null;
}

/** The value of one `from` in `to` by the owner's rates, across their base; null without both. */
export function crossRate(base: string, rates: OwnRates, from: string, to: string): ExchangeRate | null {
  const valueOf = (code: string): Decimal | null => {
    if (code === base) return ONE;
    const rate = Object.hasOwn(rates, code) ? rates[code] : undefined;
    return rate === undefined ? null : decimalOf(rate);
  };
  const [of, into] = [valueOf(from), valueOf(to)];
  return of && into && quotient(into, of);
}

/** How many decimal places the smallest units of `to` are behind the product of the rate's digits and units of `from`. */
function placesOf({ scale }: Decimal, from: string, to: string): number {
  return scale - currencyExponent(to) + currencyExponent(from);
}

/**
 * An amount of `from` in smallest units of `to`: the major amount times the rate, rounded half away from zero. Null
 * beyond the limit of a balance (PAY-22). `convertedSql` of `core/payouts/exchange.ts` computes the same.
 */
export function convert(amount_cents: Cents, rate: ExchangeRate, from: string, to: string): Cents | null {
  const decimal = decimalOf(rate);
  const places = placesOf(decimal, from, to);
  const size = BigInt(Math.abs(amount_cents));
  const [a, b] = [size * decimal.digits * power(-places), power(places)];
  const rounded = (2n * a + b) / (2n * b);
  if (rounded > BigInt(LARGEST_BALANCE)) return null;
  return cents(Number(amount_cents < 0 ? -rounded : rounded) + 0);
}

/**
 * Whole numbers with which 64-bit arithmetic converts exactly. With the amount `a` and `S` = 10^8, the product of `a` and
 * `digits` is `high × S + low`; the result is the rounded `high × up ÷ down` plus the rounded `low × raise ÷ lower`.
 */
export interface Factors {
  digits: number;
  up: number;
  down: number;
  raise: number;
  lower: number;
}

/** The power of ten of `S` above. */
export const SPLIT = 8;

export function factorsOf(rate: ExchangeRate, from: string, to: string): Factors {
  const decimal = decimalOf(rate);
  const places = placesOf(decimal, from, to);
  const digits = Number(decimal.digits);
  // The low part is less than half of the smallest unit, and does not count.
  if (places > SPLIT) return { digits, up: 1, down: 10 ** (places - SPLIT), raise: 1, lower: 10 ** (SPLIT + 1) };
  return {
    digits,
    up: 10 ** (SPLIT - places),
    down: 1,
    raise: 10 ** Math.max(-places, 0),
    lower: 10 ** Math.max(places, 0),
  };
}

/** The part of a payout that was earned in one currency, and its conversion. */
export interface SourceAmount {
  currency: string;
  amount_cents: Cents;
  /** The value of one major unit in the payout's currency; `1` for that currency itself. */
  rate: ExchangeRate;
  /** Null if the currency is the payout's. */
  rate_source: RateSource | null;
  /** When the rate was given or observed; null if the currency is the payout's. */
  rate_at: string | null;
  converted_cents: Cents;
}

/** The rate in force from a currency to the payout currency. */
export interface RateInForce extends Pick<SourceAmount, "currency" | "rate"> {
  rate_source: RateSource;
  rate_at: string;
}

/** A rate at which a provider converted a payment. `at` is its time, ISO 8601. */
export interface ObservedRate {
  /** The currency into which it was converted. */
  to: string;
  rate: ExchangeRate;
  at: string;
}

export interface StoredRates {
  base: string | null;
  rates: OwnRates | null;
  /** When the owner gave them. */
  rated_at: string | null;
  observed: Readonly<Record<string, ObservedRate>> | null;
}

/**
 * The rates to `to` in force at `now` (ms), by currency: the owner's, else those that the provider used. Rates older than
 * 35 days do not count.
 */
export function ratesInForce({ base, rates, rated_at, observed }: StoredRates, to: string, now: number): RateInForce[] {
  const isYoung = (at: string) => Date.parse(at) > now - RATES_LAST_MS;
  const found = new Map<string, RateInForce>();
  for (const [currency, { to: into, rate, at: rate_at }] of Object.entries(observed ?? {})) {
    if (into === to && isYoung(rate_at)) found.set(currency, { currency, rate, rate_source: TRANSFER_METHOD, rate_at });
  }
  if (base !== null && rates !== null && rated_at !== null && isYoung(rated_at)) {
    for (const currency of [base, ...Object.keys(rates)]) {
      const rate = crossRate(base, rates, currency, to);
      if (rate !== null) found.set(currency, { currency, rate, rate_source: "owner", rate_at: rated_at });
    }
  }
  found.delete(to);
  return [...found.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
