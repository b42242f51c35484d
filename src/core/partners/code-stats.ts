/** The results of promotion codes, from the sums stored by day (CODE-6). */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { amount, nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import type { Cents } from "../../domain/money.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { DAY, utcDay } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";

/** One code in one currency. A code that moved has an entry for each holder, with their own results. */
export interface CodeStats {
  code_id: string;
  partner_id: string;
  provider: ProviderName;
  code: string;
  /** When it was removed or moved to another partner; null while it is valid. */
  ended_at: string | null;
  currency: string;
  /** Payments that the code decided and that earn, or whose commissions were rejected. */
  sales: number;
  /** The revenue of these payments, net of tax and refunds. Smallest units. */
  revenue_cents: Cents;
  /** The partner's commissions for these payments that are not rejected, with clawbacks. */
  earned_cents: Cents;
}

export interface StatsFilter {
  partner_id?: string | undefined;
  /** UTC days, both included. */
  from: string;
  to: string;
}

export const MOST_CODES = 100;

const CODE_STATS: Columns<CodeStats> = {
  code_id: text,
  partner_id: text,
  provider: textOf<ProviderName>(),
  code: text,
  ended_at: nullable(text),
  currency: text,
  sales: whole,
  revenue_cents: amount,
  earned_cents: amount,
};

/**
 * Reads the codes with results in these days, of the program or of one partner: in each currency the `MOST_CODES` with
 * the highest revenue, highest first. The cost depends on the days, codes and currencies, not on the number of
 * payments.
 */
export async function readCodeStats(ctx: Reader, filter: StatsFilter): Promise<CodeStats[]> {
  const [rows] = await ctx.read(selectCodeStats(ctx, filter));
  return rows;
}

/** The statement of `readCodeStats`, for a read together with others. */
export function selectCodeStats(ctx: Reader, filter: StatsFilter) {
  return selectRows(
    ctx.db,
    CODE_STATS,
    sql`select t.code_id as code_id, t.partner_id as partner_id, k.provider as provider, k.code as code,
        k.ended_at as ended_at, t.currency as currency, t.sales as sales, t.revenue_cents as revenue_cents,
        t.earned_cents as earned_cents
      from (select d.code_id, d.partner_id, d.currency, sum(d.sales) as sales, sum(d.revenue_cents) as revenue_cents,
          sum(d.earned_cents) as earned_cents,
          row_number() over (partition by d.currency order by sum(d.revenue_cents) desc, d.code_id) as place
        ${daysOf(ctx, filter)} group by 1, 2, 3
        having sum(d.sales) <> 0 or sum(d.revenue_cents) <> 0 or sum(d.earned_cents) <> 0) t
      cross join partner_codes k on k.id = t.code_id
      where t.place <= ${literal(MOST_CODES)} order by t.currency, t.place`,
  );
}

/** The last `days` UTC days, today included. */
export function lastDays(now: number, days: number): { from: string; to: string } {
  return { from: utcDay(now - (days - 1) * DAY), to: utcDay(now) };
}

/** A FROM clause over `code_days d`; a partner's days are looked up singly, past the rows of others. */
function daysOf(ctx: Reader, { partner_id, from, to }: StatsFilter): SQL {
  if (partner_id === undefined) {
    return sql`from code_days d where d.program_id = ${ctx.programId} and d.day between ${from} and ${to}`;
  }
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) days.push(utcDay(at));
  return sql`from json_each(${JSON.stringify(days)}) span cross join code_days d on d.program_id = ${ctx.programId}
    and d.day = span.value and d.partner_id = ${partner_id}`;
}
