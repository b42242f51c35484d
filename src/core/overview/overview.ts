import { sql, type SQL } from "drizzle-orm";
import { literals } from "../../db/client.ts";
import { orNull, shaped, text, whole, type Columns } from "../../db/rows.ts";
import { compareCurrencies } from "../../domain/amount.ts";
import { NOTHING, type Sum } from "../../domain/money.ts";
import { DAY, utcDay } from "../../lib/time.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { refusedMail, type RefusedMail } from "../kernel/failed-mails.ts";
import { comparable, readSum, together } from "../kernel/sums.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import type { CurrencyStats } from "../kernel/views.ts";
import { partnerSums, programSums, statsOf, type AccountSum } from "../ledger/journal.ts";
import { earningsOf, selectPending, type Earnings } from "./earnings.ts";
import { booksStatus, type BooksStatus } from "../reconcile/findings.ts";

/** A number for each UTC day of a span, the days without any among them, oldest first. */
export type Daily<Value> = { day: string; value: Value }[];

/** Smallest units of one currency for each day: no plot can add up two. */
export interface DailyAmounts {
  currency: string;
  days: Daily<Sum>;
}

/** What is on the way to the partners' pockets, in one currency, from the kept balances. */
export interface Standing {
  /** `pending` commissions, those approved that no payout holds, and payouts neither paid nor canceled. */
  account: "pending" | "payable" | "in_payout";
  currency: string;
  amount_cents: Sum;
}

/** How many wait for somebody, from the kept counts. */
export interface Waiting {
  pending: number;
  /** Of the pending commissions. */
  flagged: number;
  /** Neither paid nor canceled. */
  payouts: number;
  /** Open claims of missing sales. */
  claims: number;
  applications: number;
}

const WAITING: Columns<Waiting> = {
  ...{ pending: whole, flagged: whole, payouts: whole },
  ...{ claims: whole, applications: whole },
};

/** One of those who earned most in a currency. */
export interface TopPartner {
  currency: string;
  partner_id: string;
  email: string;
  slug: string;
  first_name: string | null;
  last_name: string | null;
  commissions: number;
  amount_cents: Sum;
  clicks: number;
}

const TOP_PARTNER: Columns<Unread<TopPartner>> = {
  currency: text,
  partner_id: text,
  email: text,
  slug: text,
  first_name: orNull(text),
  last_name: orNull(text),
  commissions: whole,
  amount_cents: text,
  clicks: whole,
};

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
  clicks: Daily<number>;
  payments: Daily<number>;
  /** By currency, the program's first; rejected ones left out. */
  commissions: DailyAmounts[];
  standing: Standing[];
  waiting: Waiting;
  /** By currency, in each the one who earned most first. */
  top: TopPartner[];
  seen: SetupSeen;
  books: BooksStatus;
}

const TOP_PARTNERS = 5;

/** The owner's overview of the last `days` UTC days, today included, in one round trip. */
export async function readOverview(ctx: ProgramCtx, days: number): Promise<Overview> {
  const { db } = ctx;
  const first = startOfSpan(ctx.now, days);
  const from = utcDay(first);
  const own = sql`program_id = ${ctx.programId}`;
  const inSpan = sql`${own} and day >= ${from}`;
  const [clicks, paid, earnings, sums, [waiting], top, [seen], [books]] = await ctx.read(
    shaped(db, DAY_COUNT, clickDays(ctx, first)),
    shaped(db, DAY_COUNT, paymentDays(own, from)),
    shaped(
      db,
      MONEY_ROW,
      sql`select day, currency, ${EARNED} as value from earning_days
      where ${inSpan} group by 1, 2 having sum(commissions) > 0`,
    ),
    programSums(ctx),
    shaped(db, WAITING, waitingCounts(own)),
    shaped(
      db,
      TOP_PARTNER,
      sql`with uncounted as materialized (
        select payload ->> 'partner_id' as partner_id, count(*) as n from ${uncountedClicks(ctx, { from: first })} group by 1)
      select t.currency as currency, t.partner_id as partner_id, p.email as email, p.slug as slug,
        p.first_name as first_name, p.last_name as last_name, t.commissions as commissions,
        t.amount_cents as amount_cents, (select coalesce(sum(k.count), 0) from click_counts k
          where k.program_id = p.program_id and k.partner_id = p.id and k.day >= ${from})
          + coalesce((select u.n from uncounted u where u.partner_id = p.id), 0) as clicks
      from (select currency, partner_id, sum(commissions) as commissions, ${EARNED} as amount_cents,
          row_number() over (partition by currency order by ${COMPARABLE} desc, partner_id) as place
        from earning_days where ${inSpan} group by 1, 2 having sum(commissions) > 0) t
      cross join partners p on p.id = t.partner_id where t.place <= ${TOP_PARTNERS} order by t.place`,
    ),
    shaped(
      db,
      { partners: whole, endpoints: whole, clicks: whole },
      sql`select
      exists (select 1 from partners where ${own}) as partners,
      exists (select 1 from webhook_endpoints where ${own} and deleted_at is null) as endpoints,
      exists (select 1 from event_counts where ${own} and type = 'click') or exists (select 1 from ${uncountedClicks(ctx)})
        or exists (select 1 from click_drops where ${own}) as clicks`,
    ),
    booksStatus(ctx),
  );
  return {
    from,
    clicks: daily(clicks, first, days, 0),
    payments: daily(paid, first, days, 0),
    commissions: dailyAmounts(ctx, earnings, first, days),
    standing: sums.filter(isStanding).map((row) => ({ ...row, amount_cents: readSum(row.amount_cents) })),
    waiting: waiting ?? { pending: 0, flagged: 0, payouts: 0, claims: 0, applications: 0 },
    top: top
      .map((row) => ({ ...row, amount_cents: readSum(row.amount_cents) }))
      .toSorted((a, b) => compareCurrencies(a.currency, b.currency, ctx.program.currency)),
    seen: { partners: seen?.partners === 1, endpoints: seen?.endpoints === 1, clicks: seen?.clicks === 1 },
    books: books ?? { reconciled_at: null, differences: 0, deliveries_left: 0 },
  };
}

export interface PartnerOverview {
  from: string;
  clicks: Daily<number>;
  /** By currency, the program's first; rejected ones left out. */
  commissions: DailyAmounts[];
  sums: CurrencyStats[];
  /** By currency, the program's first. */
  earnings: Earnings[];
  /** The last e-mail, where the partner's address refused it. */
  refused: RefusedMail | null;
}

/** The same for one partner: the portal's overview, and the partner's page of the dashboard. */
export async function readPartnerOverview(ctx: ProgramCtx, partner_id: string, days: number): Promise<PartnerOverview> {
  const { db } = ctx;
  const first = startOfSpan(ctx.now, days);
  const [clicks, earnings, sums, pending, [refused = null]] = await ctx.read(
    shaped(db, DAY_COUNT, clickDays(ctx, first, partner_id)),
    shaped(
      db,
      MONEY_ROW,
      sql`select e.day as day, e.currency as currency, ${together(sql`e.millions`, sql`e.rest`)} as value
      from json_each(${JSON.stringify(daysOf(first, days))}) span cross join earning_days e
        on e.program_id = ${ctx.programId} and e.day = span.value and e.partner_id = ${partner_id}
      where e.commissions > 0`,
    ),
    partnerSums(ctx, partner_id),
    selectPending(ctx, partner_id),
    refusedMail(ctx, partner_id),
  );
  return {
    from: utcDay(first),
    refused,
    clicks: daily(clicks, first, days, 0),
    commissions: dailyAmounts(ctx, earnings, first, days),
    sums: statsOf(sums),
    earnings: earningsOf(ctx, sums, pending),
  };
}

/** What `earning_days` come to: for `readSum`, and to order by. */
const EARNED = together(sql.raw("sum(millions)"), sql.raw("sum(rest)"));
const COMPARABLE = comparable(sql.raw("sum(millions)"), sql.raw("sum(rest)"));

/** Clicks by day, of the program or of one partner, those of them that are not rolled up yet from their rows. */
function clickDays(ctx: ProgramCtx, first: number, partner_id?: string): SQL {
  const inSpan = sql`program_id = ${ctx.programId} and day >= ${utcDay(first)}`;
  const uncounted = sql`select substr(created_at, 1, 10), 1 from ${uncountedClicks(ctx, { from: first })}`;
  const parts =
    partner_id === undefined
      ? sql`select day, count from event_counts where ${inSpan} and type = 'click' union all ${uncounted}`
      : sql`select day, count from click_counts where ${inSpan} and partner_id = ${partner_id}
          union all ${uncounted} and payload ->> 'partner_id' = ${partner_id}`;
  return sql`select day, sum(count) as value from (${parts}) group by day`;
}

/** Payments by day, those of them that are not settled yet from their rows. */
function paymentDays(own: SQL, from: string): SQL {
  return sql`select day, sum(count) as value from (
      select day, count from list_days
      where ${own} and list = 'payments' and day >= ${from} and state not in ('merged', 'test_mode')
      union all
      select substr(created_at, 1, 10), 1 from payments indexed by payments_outcome
      where ${own} and outcome is null and created_at >= ${from})
    group by day`;
}

interface Row<Value = number> {
  day: string;
  value: Value;
}

const DAY_COUNT = { day: text, value: whole };

interface MoneyRow {
  day: string;
  currency: string;
  value: string;
}

const MONEY_ROW: Columns<MoneyRow> = { day: text, currency: text, value: text };

/** A row as the database gives it: sums are texts. */
type Unread<T> = { [K in keyof T]: bigint extends T[K] ? string : T[K] };

function readRow({ day, value }: MoneyRow): Row<Sum> {
  return { day, value: readSum(value) };
}

function isStanding(row: AccountSum): row is Unread<Standing> & AccountSum {
  return row.account === "pending" || row.account === "payable" || row.account === "in_payout";
}

function waitingCounts(own: SQL): SQL {
  // A program that is new has no row yet.
  const count = (list: string, ...states: string[]) => sql`coalesce(sum(iif(list = ${list}
    and state in ${literals(states)}, count, 0)), 0)`;
  return sql`select ${count("commissions", "pending")} as pending, ${count("flagged", "pending")} as flagged,
      ${count("payouts", "pending", "processing", "failed")} as payouts,
      ${count("claims", "open")} as claims, ${count("applications", "pending")} as applications
    from list_counts where ${own}`;
}

/** The first instant of the UTC day `days - 1` days ago. */
function startOfSpan(now: number, days: number): number {
  return Math.floor(now / DAY) * DAY - (days - 1) * DAY;
}

function daysOf(first: number, days: number): string[] {
  return Array.from({ length: days }, (_, i) => utcDay(first + i * DAY));
}

/** `none` is the value of a day without a row. */
function daily<Value>(rows: readonly Row<Value>[], first: number, days: number, none: Value): Daily<Value> {
  const byDay = new Map(rows.map(({ day, value }) => [day, value]));
  return daysOf(first, days).map((day) => ({ day, value: byDay.get(day) ?? none }));
}

/** Of the program's own currency where there is none, so that a plot is shown. */
function dailyAmounts({ program }: ProgramCtx, rows: readonly MoneyRow[], first: number, days: number): DailyAmounts[] {
  const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
  if (byCurrency.size === 0) byCurrency.set(program.currency, []);
  return [...byCurrency]
    .map(([currency, own]) => ({ currency, days: daily(own.map(readRow), first, days, NOTHING) }))
    .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
}
