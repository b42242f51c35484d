/** Operations that choose the currency of payouts, and give its rates. */
import { RATES } from "./model-exchange.ts";
import { patch, type Maker } from "./operation.ts";

const chooseCurrency: Maker = ({ world, state }, chance) => {
  if (world.hasBefore) return null;
  // A program that has chosen one mostly keeps it.
  if (state.payout_currency !== null && chance.happens(0.5)) return null;
  const payout_currency = chance.of([null, "EUR", "EUR", "USD", "JPY"]);
  return {
    text: `payouts are in ${payout_currency ?? "the currencies as earned"}`,
    ...patch(world, "/programs/me", { payout_currency }),
    effects: [(state) => void (state.payout_currency = payout_currency)],
    sales: [],
  };
};

const giveRates: Maker = ({ world, state }, chance) => {
  if (state.payout_currency === null && chance.happens(0.7)) return null;
  const of = chance.of(RATES);
  const { base, rates } = of;
  return {
    text: `rates by ${base}: ${JSON.stringify(rates)}`,
    run: () => world.call("PUT", "/api/v1/rates", { base, rates }),
    effects: [(state, now) => void (state.rates = { of, at: now })],
    sales: [],
  };
};

export const EXCHANGE_MAKERS: readonly [Maker, number][] = [
  [chooseCurrency, 2],
  [giveRates, 2],
];
