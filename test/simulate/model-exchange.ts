/** Payout currencies in the model: given rates, rates computed by hand, and conversions on paper. */

/** The owner's rates, as sent, and the rates between all currencies, computed by hand. */
export interface Given {
  base: string;
  rates: Readonly<Record<string, string>>;
  worth: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export const RATES: readonly Given[] = [
  {
    ...{ base: "EUR", rates: { USD: "1.0853", JPY: "162.35" } },
    worth: {
      EUR: { USD: "0.9214042", JPY: "0.006159532" },
      USD: { EUR: "1.0853", JPY: "0.00668494" },
      JPY: { EUR: "162.35", USD: "149.59" },
    },
  },
  { ...{ base: "USD", rates: { EUR: "0.9" } }, worth: { EUR: { USD: "0.9" }, USD: { EUR: "1.111111" }, JPY: {} } },
];

/** Rates older than 35 days do not count. */
const LAST = 35 * 86_400_000;

/** The rows of one payout that were earned in one currency. */
export interface SourcePart {
  currency: string;
  amount: number;
  rate: string;
  converted: number;
}

export interface Exchange {
  /** The currency in which partners are paid; null as earned. */
  payout_currency: string | null;
  rates: { of: Given; at: number } | null;
}

/** The value of one unit of a currency in the payout currency; null without a rate that counts. */
export function rateOf({ payout_currency: to, rates }: Exchange, from: string, now: number): string | null {
  if (from === to) return "1";
  if (to === null || rates === null || rates.at <= now - LAST) return null;
  return rates.of.worth[to]![from] ?? null;
}

const decimalsOf = (currency: string) => (currency === "JPY" ? 0 : 2);

/** An amount in smallest units, rounded half away from zero. */
export function converted(amount: number, rate: string, from: string, to: string): number {
  const [whole = "", decimals = ""] = rate.split(".");
  const up = BigInt(Math.abs(amount)) * BigInt(whole + decimals) * 10n ** BigInt(decimalsOf(to));
  const down = 10n ** BigInt(decimals.length + decimalsOf(from));
  const rounded = Number((up * 2n + down) / (down * 2n));
  return amount < 0 ? -rounded : rounded;
}
