import { sql, type SQL } from "drizzle-orm";
import { firstIdAt } from "../lib/id.ts";
import { DAY, utcDay } from "../lib/time.ts";
import type { ProgramCtx } from "./context.ts";

/** A number for each UTC day of a span, the days without any among them, oldest first. */
export type Daily = { day: string; value: number }[];

/** One partner's commissions of one currency by status; rejected ones left out. */
export interface StatusSums {
  currency: string;
  pending_cents: number;
  approved_cents: number;
  paid_cents: number;
}

/** What stands at one station on the way to the partners' pockets, in one currency. */
export interface Standing {
  /** `pending` and `approved` commissions that no payout holds, and payouts neither paid nor canceled. */
  station: "pending" | "approved" | "payouts";
  currency: string;
  count: number;
  amount_cents: number;
  /** Of the pending ones, how many are flagged. */
  flagged: number;
}

export interface TopPartner {
  partner_id: string;
  email: string;
  slug: string;
  first_name: string | null;
  last_name: string | null;
  commissions: number;
  amount_cents: number;
  clicks: number;
}

/** What the first-run checklist ticks off: seen to happen, not merely said. */
export interface SetupSeen {
  partners: boolean;
  endpoints: boolean;
  /** The tracking script (or a redirect link) has reported a click, recorded or not. */
  clicks: boolean;
}

export interface Overview {
  /** First day of the span (UTC). */
  from: string;
  clicks: Daily;
  payments: Daily;
  /** Smallest units of the program's currency; rejected ones left out. */
  commissions: Daily;
  /** Commissions of the span in other currencies, which no plot can add up. */
  other_currencies: { currency: string; amount_cents: number; commissions: number }[];
  standing: Standing[];
  top: TopPartner[];
  seen: SetupSeen;
}

const TOP_PARTNERS = 5;

/** The owner's overview of the last `days` UTC days, today included, in one round trip. */
export async function readOverview(ctx: ProgramCtx, days: number): Promise<Overview> {
  const { db } = ctx;
  const first = startOfSpan(ctx.now, days);
  const from = utcDay(first);
  const own = sql`program_id = ${ctx.programId}`;
  const earned = sql`c.program_id = ${ctx.programId} and c.id >= ${firstIdAt("commission", first)}
    and c.status <> 'rejected'`;
  const [clicks, paid, earnings, standing, top, [seen]] = await ctx.read(
    db.all<Row>(sql`select day, count as value from event_counts
      where ${own} and type = 'click' and day >= ${from}`),
    db.all<Row>(sql`select substr(created_at, 1, 10) as day, count(*) as value from payments
      where ${own} and id >= ${firstIdAt("payment", first)} and outcome is not 'merged' group by 1`),
    db.all<Row & { currency: string; commissions: number }>(sql`select substr(c.created_at, 1, 10) as day,
        c.currency as currency, sum(c.amount_cents) as value, count(*) as commissions
      from commissions c where ${earned} group by 1, 2`),
    db.all<Standing>(standingSums(own)),
    db.all<TopPartner>(sql`select t.partner_id as partner_id, p.email as email, p.slug as slug,
        p.first_name as first_name, p.last_name as last_name, t.commissions as commissions,
        t.amount_cents as amount_cents, (select coalesce(sum(k.count), 0) from click_counts k
          where k.program_id = p.program_id and k.partner_id = p.id and k.day >= ${from}) as clicks
      from (select c.partner_id as partner_id, count(*) as commissions, sum(c.amount_cents) as amount_cents
        from commissions c where ${earned} and c.currency = ${ctx.program.currency}
        group by 1 order by 3 desc, 1 limit ${TOP_PARTNERS}) t
      cross join partners p on p.id = t.partner_id order by t.amount_cents desc, t.partner_id`),
    db.all<{ partners: number; endpoints: number; clicks: number }>(sql`select
      exists (select 1 from partners where ${own}) as partners,
      exists (select 1 from webhook_endpoints where ${own} and deleted_at is null) as endpoints,
      exists (select 1 from event_counts where ${own} and type = 'click')
        or exists (select 1 from click_drops where ${own}) as clicks`),
  );
  const inOwn = earnings.filter(({ currency }) => currency === ctx.program.currency);
  const others = Map.groupBy(
    earnings.filter(({ currency }) => currency !== ctx.program.currency),
    ({ currency }) => currency,
  );
  return {
    from,
    clicks: daily(clicks, first, days),
    payments: daily(paid, first, days),
    commissions: daily(inOwn, first, days),
    other_currencies: [...others].map(([currency, rows]) => ({
      currency,
      amount_cents: total(rows.map(({ value }) => value)),
      commissions: total(rows.map((row) => row.commissions)),
    })),
    standing,
    top,
    seen: { partners: seen?.partners === 1, endpoints: seen?.endpoints === 1, clicks: seen?.clicks === 1 },
  };
}

export interface PartnerOverview {
  from: string;
  clicks: Daily;
  /** Smallest units of `currency`; rejected ones left out. */
  commissions: Daily;
  sums: StatusSums[];
}

/** The same for one partner: the portal's overview, and the partner's page of the dashboard. */
export async function readPartnerOverview(ctx: ProgramCtx, partner_id: string, days: number): Promise<PartnerOverview> {
  const { db } = ctx;
  const first = startOfSpan(ctx.now, days);
  const from = utcDay(first);
  const own = sql`program_id = ${ctx.programId} and partner_id = ${partner_id}`;
  const [clicks, earnings, sums] = await ctx.read(
    db.all<Row>(sql`select day, count as value from click_counts where ${own} and day >= ${from}`),
    db.all<Row>(sql`select substr(created_at, 1, 10) as day, sum(amount_cents) as value from commissions
      where ${own} and id >= ${firstIdAt("commission", first)} and status <> 'rejected'
        and currency = ${ctx.program.currency} group by 1`),
    db.all<StatusSums>(statusSums(own)),
  );
  return { from, clicks: daily(clicks, first, days), commissions: daily(earnings, first, days), sums };
}

interface Row {
  day: string;
  value: number;
}

/** Only what is still on its way is summed, by the indexes of its states: the paid past may be long. */
function standingSums(own: SQL): SQL {
  const sums = sql`currency, count(*) as count, sum(amount_cents) as amount_cents`;
  return sql`select 'pending' as station, ${sums}, sum(flagged) as flagged from commissions
      where ${own} and status = 'pending' group by currency
    union all select 'approved', ${sums}, 0 from commissions
      where ${own} and status = 'approved' and payout_id is null group by currency
    union all select 'payouts', ${sums}, 0 from payouts
      where ${own} and status in ('pending', 'processing', 'failed') group by currency`;
}

function statusSums(own: SQL): SQL {
  const sum = (status: string) => sql`sum(iif(status = ${status}, amount_cents, 0))`;
  return sql`select currency, ${sum("pending")} as pending_cents, ${sum("approved")} as approved_cents,
      ${sum("paid")} as paid_cents
    from commissions where ${own} and status <> 'rejected' group by currency order by count(*) desc`;
}

/** The first instant of the UTC day `days - 1` days ago. */
function startOfSpan(now: number, days: number): number {
  return Math.floor(now / DAY) * DAY - (days - 1) * DAY;
}

function daily(rows: readonly Row[], first: number, days: number): Daily {
  const byDay = new Map<string, number>();
  for (const { day, value } of rows) byDay.set(day, (byDay.get(day) ?? 0) + value);
  return Array.from({ length: days }, (_, i) => {
    const day = utcDay(first + i * DAY);
    return { day, value: byDay.get(day) ?? 0 };
  });
}

function total(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
