/** The exchange rates of a program, and the conversion of sums in the database (OUT-36 to OUT-39). */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import {
  factorsOf,
  ratesInForce,
  SPLIT,
  type ExchangeRate,
  type ObservedRate,
  type OwnRates,
  type RateInForce,
  type SourceAmount,
} from "../../domain/exchange.ts";
import { prove, type Caller, type Reader } from "../kernel/context.ts";

/** The payout currency of a run, null for payouts as earned, and the rates in force. */
export interface Pricing {
  currency: string | null;
  rates: readonly RateInForce[];
  /** The version of the stored rates. */
  version: string | null;
}

const AS_EARNED: Pricing = { currency: null, rates: [], version: null };

const STORED = {
  payout_currency: nullable(text),
  base: nullable(text),
  rates: nullable(text),
  rated_at: nullable(text),
  observed: nullable(text),
  version: nullable(text),
};

/** The program's payout currency and stored rates, one row. */
export function selectPricing({ db, programId }: Pick<Reader, "db" | "programId">) {
  return selectRows(
    db,
    STORED,
    sql`select p.payout_currency as payout_currency, r.base as base, r.rates as rates, r.rated_at as rated_at,
      r.observed as observed, r.updated_at as version
    from programs p left join exchange_rates r on r.program_id = p.id where p.id = ${programId}`,
  );
}

export type StoredPricing = Awaited<ReturnType<typeof selectPricing>>[number];

export function storedRates({ base, rates, rated_at, observed }: Omit<StoredPricing, "payout_currency" | "version">) {
  return {
    base,
    rates: rates === null ? null : (JSON.parse(rates) as OwnRates),
    rated_at,
    observed: observed === null ? null : (JSON.parse(observed) as Record<string, ObservedRate>),
  };
}

/** Reads the pricing. A program known to pay as earned needs no read, unless `again`: its row may have changed. */
export async function readPricing(caller: Caller, { again }: { again: boolean } = { again: false }): Promise<Pricing> {
  if (!again && "program" in caller && caller.program.payout_currency === null) return AS_EARNED;
  const [ctx, [stored]] = await prove(caller, selectPricing(caller));
  const currency = stored?.payout_currency ?? null;
  if (!stored || currency === null) return AS_EARNED;
  const { version } = stored;
  return { currency, rates: ratesInForce(storedRates(stored), currency, ctx.now), version };
}

/** Whether the pricing is still the stored one; for the condition of the write that uses it. */
export function isPricing(ctx: Reader, { currency, version }: Pricing): SQL {
  const isCurrency = sql`(select payout_currency from programs where id = ${ctx.programId}) is ${currency}`;
  if (currency === null) return isCurrency;
  return sql`(${isCurrency} and (select updated_at from exchange_rates where program_id = ${ctx.programId}) is ${version})`;
}

/** A table of the rates, of the payout currency too, with the `factorsOf` each. */
export function ratesTable(to: string, rates: readonly RateInForce[]): SQL {
  const own = { currency: to, rate: "1" as ExchangeRate, rate_source: null, rate_at: null };
  const rows = [own, ...rates].map(({ currency, rate, rate_source, rate_at }) => {
    const { digits, up, down, raise, lower } = factorsOf(rate, currency, to);
    return [currency, rate, rate_source, rate_at, digits, up, down, raise, lower];
  });
  return sql`(select value ->> 0 as currency, value ->> 1 as rate, value ->> 2 as rate_source, value ->> 3 as rate_at,
      value ->> 4 as digits, value ->> 5 as up, value ->> 6 as down, value ->> 7 as raise, value ->> 8 as lower
    from json_each(${JSON.stringify(rows)}))`;
}

const SPLIT_AT = literal(10 ** SPLIT);

/**
 * `convert` as SQL: an amount of at most 2^51 by the rate row `r`. A result beyond 2^63 is a floating-point number, which
 * is above every limit.
 */
export function convertedSql(amount: SQL, rate: string): SQL {
  const of = (name: string) => sql.raw(`${rate}.${name}`);
  const low = sql`abs(${amount}) % ${SPLIT_AT} * ${of("digits")}`;
  const high = sql`(abs(${amount}) / ${SPLIT_AT} * ${of("digits")} + ${low} / ${SPLIT_AT})`;
  return sql`(iif(${amount} < 0, -1, 1) * ((${high} * ${of("up")} + ${of("down")} / 2) / ${of("down")}
    + (${low} % ${SPLIT_AT} * ${of("raise")} + ${of("lower")} / 2) / ${of("lower")}))`;
}

/** Whether a payout `p` contains the commissions of its partner in a currency. */
export function contains(alias: string, currency: SQL): SQL {
  const p = sql.raw(alias);
  return sql`iif(${p}.source_amounts is null, ${p}.currency = ${currency}, exists (
    select 1 from json_each(${p}.source_amounts) x where x.value ->> 'currency' = ${currency}))`;
}

/** `source_amounts` as SQL selects it. */
export function parseSources(text: string | null): SourceAmount[] | null {
  return text === null ? null : (JSON.parse(text) as SourceAmount[]);
}
