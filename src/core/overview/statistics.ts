import { sql } from "drizzle-orm";
import { amount, selectRows, text, whole } from "../../db/rows.ts";
import { compareCurrencies } from "../../domain/amount.ts";
import { addUp, type Cents } from "../../domain/money.ts";
import { DAY } from "../../lib/time.ts";
import { selectClickSources, sourcesOf, type ClickSources } from "../clicks/sources.ts";
import type { SourceKind } from "../kernel/click-sources.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { selectCodeStats, type CodeStats } from "../partners/code-stats.ts";
import { daysBefore, daysOf, type Days } from "./days.ts";

/** A partner's results over some days. */
export interface Results {
  clicks: number;
  leads: number;
  /** Payments that earned, including renewals, in any state of their commissions. */
  sales: number;
  /** The sales that are the first of a customer with the partner. */
  first_sales: number;
  /** Commissions that are not rejected, with corrections after refunds; sorted by currency, the program's first. */
  earned: { currency: string; amount_cents: Cents }[];
}

export interface PartnerStatistics {
  now: Results;
  /** The results of the same number of days before. */
  before: Results;
  /** Each day with its clicks and commissions, the newest first. */
  days: (Results & { day: string })[];
  sources: Record<SourceKind, ClickSources>;
  codes: CodeStats[];
}

/** Reads a partner's results over some days and over the same number before, from stored sums, in one round trip. */
export async function readPartnerStatistics(
  ctx: ProgramCtx,
  partner_id: string,
  days: Days,
): Promise<PartnerStatistics> {
  const { db } = ctx;
  const span = daysOf(days);
  const before = daysBefore(days);
  const earlier = daysOf(before);
  const first = before.from;
  const range = { from: Date.parse(first), to: Date.parse(days.to) + DAY };
  const [clicks, sold, earnings, sources, codes] = await ctx.read(
    selectRows(
      db,
      { day: text, clicks: whole },
      sql`select day, sum(n) as clicks from (
        select day, count as n from click_counts where program_id = ${ctx.programId} and partner_id = ${partner_id}
          and day between ${first} and ${days.to}
        union all select substr(created_at, 1, 10), 1 from ${uncountedClicks(ctx, range)}
          and payload ->> 'partner_id' = ${partner_id})
        group by day`,
    ),
    selectRows(
      db,
      { day: text, leads: whole, sales: whole, first_sales: whole },
      sql`select d.day as day, d.leads as leads, d.sales as sales, d.first_sales as first_sales
      from json_each(${JSON.stringify([...earlier, ...span])}) span cross join sale_days d
        on d.program_id = ${ctx.programId} and d.day = span.value and d.partner_id = ${partner_id}`,
    ),
    selectRows(
      db,
      { day: text, currency: text, amount_cents: amount },
      sql`select e.day as day, e.currency as currency, e.amount_cents as amount_cents
      from json_each(${JSON.stringify([...earlier, ...span])}) span cross join earning_days e
        on e.program_id = ${ctx.programId} and e.day = span.value and e.partner_id = ${partner_id}
      where e.commissions > 0`,
    ),
    selectClickSources(ctx, partner_id, days),
    selectCodeStats(ctx, { ...days, partner_id }),
  );
  const clicksByDay = new Map(clicks.map((row) => [row.day, row.clicks]));
  const soldByDay = new Map(sold.map((row) => [row.day, row]));
  const earningsByDay = Map.groupBy(earnings, ({ day }) => day);
  const resultsOf = (some: readonly string[]): Results => {
    const own = some.flatMap((day) => earningsByDay.get(day) ?? []);
    const counted = (field: "leads" | "sales" | "first_sales") =>
      some.reduce((sum, day) => sum + (soldByDay.get(day)?.[field] ?? 0), 0);
    return {
      clicks: some.reduce((sum, day) => sum + (clicksByDay.get(day) ?? 0), 0),
      leads: counted("leads"),
      sales: counted("sales"),
      first_sales: counted("first_sales"),
      earned: [...Map.groupBy(own, ({ currency }) => currency)]
        .map(([currency, rows]) => ({ currency, amount_cents: addUp(rows.map((row) => row.amount_cents)) }))
        .toSorted((a, b) => compareCurrencies(a.currency, b.currency, ctx.program.currency)),
    };
  };
  return {
    now: resultsOf(span),
    before: resultsOf(earlier),
    days: span.toReversed().map((day) => ({ day, ...resultsOf([day]) })),
    sources: sourcesOf(sources),
    codes,
  };
}
