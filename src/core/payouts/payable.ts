/** The payable commissions of a program, and their sums by partner, as earned or converted. */
import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { THREE_DECIMALS, ZERO_DECIMALS } from "../../domain/currency.ts";
import { LARGEST_BALANCE } from "../../domain/money.ts";
import { RELEASED } from "../../domain/payout.ts";
import { iso } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";
import { partnerLacksDetails } from "../kernel/payout-details.ts";
import { isSettled } from "../ledger/decisions.ts";
import { contains, convertedSql, ratesTable, type Pricing } from "./exchange.ts";
import { holdInForce } from "./hold.ts";

export interface GenerationInput {
  /** Milliseconds. Stored on the payouts; commissions that rolled over from before it are paid as well. */
  period_start: number | null;
  /** Milliseconds; commissions from before it count (`isOfPeriod`), and later negative ones. */
  period_end: number;
  dry_run: boolean;
  /** Leaves out commissions that a payout canceled or returned after `period_end` can have contained, except debts. */
  spare_canceled?: boolean;
  /** Skips partners without payout details. */
  require_details?: boolean;
}

type Requirements = Pick<GenerationInput, "require_details">;

/** A range of partner ids, excluding `after`. */
export interface Chunk {
  after: string;
  upto: string;
}

/**
 * Whether a row belongs before `period_end`: by its date, or as a later grant for a sale of then (OUT-1). Debts start
 * no period.
 */
export function isOfPeriod(alias: string, period_end: number | SQL): SQL {
  const c = sql.raw(alias);
  const end = typeof period_end === "number" ? sql`${iso(period_end)}` : period_end;
  return sql`(${c}.created_at < ${end} or (${c}.kind = 'clawback' and ${c}.amount_cents > 0
    and exists (select 1 from commissions s where s.id = ${c}.source_commission_id and s.created_at < ${end})))`;
}

/**
 * The payable rows of a program: approved, in no payout, from before the end or negative (at any date), and of a
 * payment whose rows match its facts and decisions; one that is being settled waits for the next run.
 */
export function dueOf(program_id: SQL, alias: string, { period_end, spare_canceled }: GenerationInput): SQL {
  const c = sql.raw(alias);
  const canceled = sql`select 1 from payouts x where x.partner_id = ${c}.partner_id and ${contains("x", sql`${c}.currency`)}
    and x.status in ${literals(RELEASED)} and x.updated_at >= ${iso(period_end)} and ${isOfPeriod(alias, sql`x.period_end`)}`;
  // The literals are those of the partial index commissions_payable.
  return sql`${c}.program_id = ${program_id} and ${c}.status = 'approved' and ${c}.payout_id is null
    and (${c}.amount_cents < 0
      or (${isOfPeriod(alias, period_end)} ${spare_canceled ? sql`and not exists (${canceled})` : sql``}))
    and ${isSettled(sql`${c}.payment_id`)}`;
}

/** True, as 1, for a row about which a dispute is open: it enters no payout (PAY-10). */
function disputed(alias: string): SQL {
  const c = sql.raw(alias);
  return sql`(${c}.flagged = 1 and ${c}.review_reason is 'disputed')`;
}

/** The rows of a program that a run from this state could pay. */
export function payable(ctx: Reader, alias: string, input: GenerationInput): SQL {
  return sql`${dueOf(ctx.programId, alias, input)} and not ${disputed(alias)}`;
}

/**
 * Whether a sum would take the program's sum in payouts beyond the limit of a balance (PAY-22). That is looked up by
 * currency only if it is possible in any: otherwise a row for each partner would be read in vain.
 */
function exceedsRoom(ctx: Reader, sum: SQL, currency: SQL): SQL {
  const room = (of: SQL) => sql`${literal(LARGEST_BALANCE)} - (select coalesce(max(b.amount_cents), 0) from balances b
    where b.program_id = ${ctx.programId} and b.partner_id = '' and ${of} and b.account = 'in_payout')`;
  return sql`(${sum} > ${room(sql`true`)} and ${sum} > ${room(sql`b.currency = ${currency}`)})`;
}

interface Sum {
  sum: SQL;
  currency: SQL;
  isTooLarge: SQL;
}

/** Why a sum of a partner `p` makes no payout, null if it does. */
function skipReason(ctx: Reader, { require_details }: Requirements, { sum, currency, isTooLarge }: Sum): SQL {
  return sql`case when p.status = 'invited' then 'partner_invited' when ${sum} <= 0 then 'not_positive'
    when ${isTooLarge} then 'too_large' when ${sum} < ${minimum(ctx, currency)} then 'below_minimum'
     when p.tax_data_id is null and (select require_tax_data from programs where id = ${ctx.programId})
       then 'tax_data_missing'
     ${require_details ? sql`when ${partnerLacksDetails("p")} then 'details_missing'` : sql``} end`;
}

/** `minimumIn` for a currency. SQLite computes the program's values once, not for each sum. */
function minimum(ctx: Reader, currency: SQL): SQL {
  const own = (value: SQL) => sql`(select ${value} from programs where id = ${ctx.programId})`;
  const units = (code: SQL) => sql`case when ${code} in ${literals([...ZERO_DECIMALS])} then 1
    when ${code} in ${literals([...THREE_DECIMALS])} then 1000 else 100 end`;
  const least = own(sql`min_payout_cents`);
  const ownUnits = own(units(sql`currency`));
  return sql`case when ${currency} = ${own(sql`currency`)} then ${least} else coalesce(
      (select value from json_each(${own(sql`min_payouts`)}) where key = ${currency}),
      (2 * (${units(currency)}) * ${least} + ${ownUnits}) / (2 * ${ownUnits})) end`;
}

/** The columns of a partner `p` beside its sum. */
function ofPartner(ctx: Reader): SQL {
  return sql`p.payout_method as method, ${partnerLacksDetails("p")} as lacks_details,
      ${holdInForce(ctx, "p")} as held_until, p.updated_at as seen`;
}

/**
 * The sums that make payouts, and with a `reason` those that do not: by partner and currency, or with a payout currency
 * by partner. Disputed commissions are separate sums, and so are those that cannot be converted.
 */
export function payableSums(ctx: Reader, input: GenerationInput, pricing: Pricing, chunk?: Chunk): SQL {
  const within = chunk ? sql`and c.partner_id > ${chunk.after} and c.partner_id <= ${chunk.upto}` : sql``;
  return sumsOf(
    ctx,
    input,
    pricing,
    sql`select c.partner_id as partner_id, c.currency as currency, sum(c.amount_cents) as amount_cents,
        count(*) as commission_count, ${disputed("c")} as disputed
      from commissions c where ${dueOf(ctx.programId, "c", input)} ${within} group by 1, 2, 5`,
  );
}

/** The most balances, and flagged commissions, that `canPrepare` looks at; with more balances it is true. */
const MOST_READ = literal(1_000);

/** Whether a run until now can pay a partner: `payableSums`, of the balances without disputed amounts. */
export function canPrepare(ctx: Reader, pricing: Pricing): SQL {
  const own = sql`program_id = ${ctx.programId}`;
  const owed = sql`(select partner_id, currency, amount_cents from balances where ${own}
    and partner_id > '' and account = 'payable' and amount_cents <> 0 limit ${MOST_READ})`;
  const held = sql`select partner_id, currency, -amount_cents from (
      select * from commissions where ${own} and flagged = 1 order by id desc limit ${MOST_READ}) f
    where status = 'approved' and payout_id is null and ${disputed("f")}`;
  const sums = sumsOf(
    ctx,
    {},
    pricing,
    sql`select partner_id, currency, sum(amount_cents) as amount_cents, 0 as commission_count, false as disputed
      from (select * from ${owed} union all ${held}) group by 1, 2`,
  );
  return sql`(exists (select 1 from (${sums}) where reason is null) or (select count(*) from ${owed}) = ${MOST_READ})`;
}

/** `payableSums` of the `earned` sums, by partner, currency and open dispute. */
function sumsOf(ctx: Reader, input: Requirements, pricing: Pricing, earned: SQL): SQL {
  if (pricing.currency !== null) return convertedSums(ctx, input, { ...pricing, currency: pricing.currency }, earned);
  const [sum, currency] = [sql.raw("e.amount_cents"), sql.raw("e.currency")];
  const reason = skipReason(ctx, input, { sum, currency, isTooLarge: exceedsRoom(ctx, sum, currency) });
  return sql`select e.partner_id as partner_id, ${currency} as currency, ${sum} as amount_cents,
      e.commission_count as commission_count, ${ofPartner(ctx)}, null as source_amounts,
      case when e.disputed then 'disputed' else ${reason} end as reason
    from (${earned}) e cross join partners p on p.id = e.partner_id`;
}

/**
 * Whether a row of `wholes` would take the unpaid payouts in the currency beyond the limit of a balance, though no balance
 * has their sum: a wrong rate must not make sums that no page can show. The payouts are added up only if a run alone has
 * a thousandth of it: otherwise they would be read in vain.
 */
function isBeyond(ctx: Reader, to: string): SQL {
  const most = literal(LARGEST_BALANCE);
  return sql`(abs(amount_cents) > ${most} or (reached > ${most} / 1000 and reached > ${most} - (
    select coalesce(sum(o.amount_cents), 0) from payouts o
    where o.program_id = ${ctx.programId} and o.status in ('pending', 'processing', 'failed') and o.currency = ${to})))`;
}

/**
 * The sums in the payout currency, of the parts in every currency with a rate. The parts of sums beyond the limit are
 * `too_large`, as earned.
 */
function convertedSums(ctx: Reader, input: Requirements, pricing: Pricing & { currency: string }, earned: SQL): SQL {
  const to = pricing.currency;
  const part = sql.raw("e.amount_cents");
  const most = literal(LARGEST_BALANCE);
  const size = sql.raw("abs(sum(t.converted_cents))");
  const beyond = isBeyond(ctx, to);
  const sum = sql.raw("w.amount_cents");
  const reason = skipReason(ctx, input, { sum, currency: sql`${to}`, isTooLarge: sql.raw("false") });
  return sql`with rates as materialized ${ratesTable(to, pricing.rates)},
    earned as materialized (${earned}),
    parts as materialized (
      select e.*, r.rate as rate, r.rate_source as rate_source, r.rate_at as rate_at,
        ${convertedSql(part, "r")} as converted_cents,
        case when e.disputed then 'disputed' when r.rate is null then 'rate_missing'
          when abs(${convertedSql(part, "r")}) > ${most} or ${exceedsRoom(ctx, part, sql.raw("e.currency"))}
            then 'too_large' end as reason
      from earned e left join rates r on r.currency = e.currency),
    wholes as materialized (
      select t.partner_id as partner_id, sum(t.converted_cents) as amount_cents,
        sum(t.commission_count) as commission_count,
        iif(max(t.currency <> ${to}), json_group_array(json_object('currency', t.currency, 'amount_cents', t.amount_cents,
          'rate', t.rate, 'rate_source', t.rate_source, 'rate_at', t.rate_at, 'converted_cents', t.converted_cents)
          order by t.currency), null) as source_amounts,
        total(iif(${size} > ${most}, 0, ${size})) over (order by t.partner_id) as reached
      from parts t where t.reason is null group by t.partner_id)
    select w.partner_id as partner_id, ${to} as currency, w.amount_cents as amount_cents,
      w.commission_count as commission_count, ${ofPartner(ctx)}, w.source_amounts as source_amounts, ${reason} as reason
    from wholes w cross join partners p on p.id = w.partner_id where not ${beyond}
    union all
    select t.partner_id, t.currency, t.amount_cents, t.commission_count, ${ofPartner(ctx)}, null,
      ifnull(t.reason, 'too_large')
    from parts t cross join partners p on p.id = t.partner_id
    where t.reason is not null or t.partner_id in (select partner_id from wholes where ${beyond})`;
}
