import { cents, nearestMultiple, type Cents } from "./money.ts";

/** An upper-case ISO 4217 code in circulation or recently withdrawn. For typed input; providers' are never refused. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}

/**
 * The number of decimals in a currency's amounts: 0, 2 or 3. Amounts come from payment providers, so this is the
 * providers' exponent: they send ISK and UGX with two decimals though ISO 4217 has zero, and MGA with zero though ISO
 * 4217 has two. Unlisted codes have two.
 */
export function currencyExponent(code: string): number {
  if (ZERO_DECIMALS.has(code)) return 0;
  return THREE_DECIMALS.has(code) ? 3 : 2;
}

/** The number of smallest units in one major unit: 1, 100 or 1,000. */
export function unitsOf(code: string): Cents {
  return cents(10 ** currencyExponent(code));
}

/** An amount in smallest units as a plain decimal (`-1234.50`), exact, with the currency's number of decimals. */
export function decimalAmount(amount_cents: Cents, code: string): string {
  const exponent = currencyExponent(code);
  const sign = amount_cents < 0 ? "-" : "";
  const digits = String(amount_cents)
    .slice(sign.length)
    .padStart(exponent + 1, "0");
  return exponent === 0 ? sign + digits : `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/**
 * The decimal for a payout service by e-mail address, which takes HUF and TWD without decimals: the nearest whole unit,
 * half up and at least one. (PayPal, Currency codes: "This currency does not support decimals.")
 */
export function walletAmount(amount_cents: Cents, code: string): string {
  if (!WALLET_WHOLE.has(code)) return decimalAmount(amount_cents, code);
  return decimalAmount(nearestMultiple(amount_cents, 100), code).slice(0, -".00".length);
}

/** An amount in smallest units for people: `1,234.50 EUR`, `1,234 JPY`, `-0.500 KWD`. Exact, without floats. */
export function formatMoney(amount_cents: Cents, code: string): string {
  const [whole = "", decimals] = decimalAmount(amount_cents, code).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${decimals === undefined ? grouped : `${grouped}.${decimals}`} ${code}`;
}

const codes = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

export const ZERO_DECIMALS = codes("BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF");

const WALLET_WHOLE = codes("HUF TWD");

export const THREE_DECIMALS = codes("BHD IQD JOD KWD LYD OMR TND");

const CURRENCIES = codes(`
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP
  CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR
  IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU
  MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG
  SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST
  XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
  ANG BGN HRK SLL STD`);
