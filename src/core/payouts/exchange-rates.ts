/** The owner's exchange rates (OUT-37). */
import { sql } from "drizzle-orm";
import { exchangeRates } from "../../db/schema.ts";
import { ratesInForce, type OwnRates, type RateInForce } from "../../domain/exchange.ts";
import { iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { prove, type Caller } from "../kernel/context.ts";
import { laterStamp } from "../ledger/commission-rows.ts";
import { selectPricing, storedRates, type StoredPricing } from "./exchange.ts";

/** The value of one `base` in other currencies. */
export interface GivenRates {
  base: string;
  rates: OwnRates;
}

export interface ProgramRates {
  /** Null before the owner has given any. */
  base: string | null;
  rates: OwnRates;
  rated_at: string | null;
  payout_currency: string | null;
  /** The rates to the payout currency that a run would use now; empty without one. */
  in_force: RateInForce[];
}

const NO_RATES = { payout_currency: null, base: null, rates: null, rated_at: null, observed: null };

/** The program's rates: those that the owner gave, and those in force. */
export async function readExchangeRates(caller: Caller): Promise<ProgramRates> {
  const [ctx, [stored]] = await prove(caller, selectPricing(caller));
  return shown(stored ?? NO_RATES, ctx.now);
}

function shown({ payout_currency, ...row }: Omit<StoredPricing, "version">, now: number): ProgramRates {
  const stored = storedRates(row);
  return {
    ...{ base: stored.base, rates: stored.rates ?? {}, rated_at: stored.rated_at, payout_currency },
    in_force: payout_currency === null ? [] : ratesInForce(stored, payout_currency, now),
  };
}

/** Replaces the owner's rates as a whole. Payouts that exist already keep theirs. */
export async function replaceExchangeRates(caller: Caller, { base, rates }: GivenRates): Promise<ProgramRates> {
  const [ctx, [before]] = await prove(caller, selectPricing(caller));
  const stamp = iso(ctx.now);
  const program_id = ctx.program.id;
  const given = { base, rates, rated_at: stamp };
  const old = storedRates(before ?? NO_RATES);
  const after = shown({ ...(before ?? NO_RATES), ...given, rates: JSON.stringify(rates) }, ctx.now);
  await commit(ctx, {
    writes: [
      {
        statement: ctx.db
          .insert(exchangeRates)
          .values({ program_id, ...given, updated_at: stamp })
          .onConflictDoUpdate({
            target: exchangeRates.program_id,
            set: { ...given, updated_at: laterStamp(sql`${exchangeRates.updated_at}`, stamp) },
          }),
      },
    ],
    occurrences: [
      {
        type: "exchange_rates.updated",
        changes: { base: [old.base, base], rates: [old.rates, rates] },
        payload: { program_id, base },
      },
    ],
    result: after,
  });
  return after;
}
