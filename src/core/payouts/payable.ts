/** The payable commissions of a program, and their sums by partner and currency. */
import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";
import { THREE_DECIMALS, ZERO_DECIMALS } from "../../domain/currency.ts";
import { LARGEST_BALANCE } from "../../domain/money.ts";
import { RELEASED } from "../../domain/payout.ts";
import { iso } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";
import { isSettled } from "../ledger/decisions.ts";
import { partnerLacksDetails } from "./take-details.ts";

export interface GenerationInput {
  /** Milliseconds. Stored on the payouts; commissions that rolled over from before it are paid as well. */
  period_start: number | null;
  /** Milliseconds; commissions from before it count (`isOfPeriod`), and later negative ones. */
  period_end: number;
  dry_run: boolean;
  /** Leaves out commissions that a payout canceled or returned after `period_end` can have contained, except debts. */
  spare_canceled?: boolean;
}

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
  const canceled = sql`select 1 from payouts x where x.partner_id = ${c}.partner_id and x.currency = ${c}.currency
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
 * Why the payable commissions `c` of one partner `p` and currency make no payout, null if they do. A payout is too
 * large if it would take the program's sum in payouts beyond the limit of a balance (PAY-22). That is looked up by
 * currency only if it is possible in any: otherwise a row for each partner would be read in vain.
 */
export function skipReason(ctx: Reader): SQL {
  const sum = sql.raw("sum(c.amount_cents)");
  const room = (of: SQL) => sql`${literal(LARGEST_BALANCE)} - (select coalesce(max(b.amount_cents), 0) from balances b
    where b.program_id = ${ctx.programId} and b.partner_id = '' and ${of} and b.account = 'in_payout')`;
  return sql`case when p.status = 'invited' then 'partner_invited' when ${sum} <= 0 then 'not_positive'
    when ${sum} > ${room(sql`true`)} and ${sum} > ${room(sql`b.currency = c.currency`)} then 'too_large'
    when ${sum} < ${minimum(ctx)} then 'below_minimum' end`;
}

/** `minimumIn` for the currency of the commissions `c`. SQLite computes the program's values once, not for each sum. */
function minimum(ctx: Reader): SQL {
  const own = (value: SQL) => sql`(select ${value} from programs where id = ${ctx.programId})`;
  const units = (code: SQL) => sql`case when ${code} in ${literals([...ZERO_DECIMALS])} then 1
    when ${code} in ${literals([...THREE_DECIMALS])} then 1000 else 100 end`;
  const least = own(sql`min_payout_cents`);
  const ownUnits = own(units(sql`currency`));
  return sql`case when c.currency = ${own(sql`currency`)} then ${least} else coalesce(
      (select value from json_each(${own(sql`min_payouts`)}) where key = c.currency),
      (2 * (${units(sql`c.currency`)}) * ${least} + ${ownUnits}) / (2 * ${ownUnits})) end`;
}

/** The sums by partner and currency, each with its `skipReason`; disputed ones are separate sums, and skipped. */
export function payableSums(ctx: Reader, input: GenerationInput, chunk?: Chunk): SQL {
  const within = chunk ? sql`and c.partner_id > ${chunk.after} and c.partner_id <= ${chunk.upto}` : sql``;
  return sql`select c.partner_id as partner_id, c.currency as currency, sum(c.amount_cents) as amount_cents,
      count(*) as commission_count, p.payout_method as method, ${partnerLacksDetails("p")} as lacks_details,
      case when ${disputed("c")} then 'disputed' else ${skipReason(ctx)} end as reason
    from commissions c cross join partners p on p.id = c.partner_id
    where ${dueOf(ctx.programId, "c", input)} ${within}
    group by c.partner_id, c.currency, ${disputed("c")}`;
}
