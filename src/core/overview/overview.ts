import { sql, type SQL } from "drizzle-orm";
import { literals } from "../../db/client.ts";
import { amount, nullable, selectRows, text, whole, type Columns } from "../../db/rows.ts";
import { compareCurrencies } from "../../domain/amount.ts";
import { RATES_LAST_MS } from "../../domain/exchange.ts";
import { addUp, NOTHING, type Cents } from "../../domain/money.ts";
import { DAY, iso } from "../../lib/time.ts";
import { programSourcesOf, selectProgramSources, type ClickSources } from "../clicks/sources.ts";
import type { ProgramSourceKind } from "../kernel/click-sources.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { heldPayouts } from "../mails/owner-subjects.ts";
import { countUnknownCodes } from "../kernel/seen-codes.ts";
import { refusedMail, type RefusedMail } from "../mails/failed-mails.ts";
import { hasClicks, hasRecordedClicks } from "./installation.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import type { CurrencyStats } from "../kernel/views.ts";
import { accountSums, statsOf, type AccountSum } from "../ledger/journal.ts";
import { lastDays, selectCodeStats, type CodeStats } from "../partners/code-stats.ts";
import { countOnHold } from "../payouts/hold.ts";
import { readPricing, type Pricing } from "../payouts/exchange.ts";
import { canPrepare } from "../payouts/payable.ts";
import { booksStatus, type BooksStatus } from "../reconcile/findings.ts";
import { fillDays, daysBefore, daysOf, includesDay, type Daily, type Days } from "./days.ts";
import { earningsOf, selectPending, type Earnings } from "./earnings.ts";

/** Daily amounts in smallest units of one currency, because a chart cannot add up two. */
export interface DailyAmounts {
  currency: string;
  days: Daily<Cents>;
}

/** Money on its way to the partners, in one currency, from the stored balances. */
export interface Standing {
  /** Pending commissions, approved commissions that are not in a payout, and payouts neither paid nor canceled. */
  account: "pending" | "payable" | "in_payout";
  currency: string;
  amount_cents: Cents;
}

/** The numbers of objects that wait for a person, from the stored counts. */
export interface Waiting {
  pending: number;
  /** The flagged ones among the pending commissions. */
  flagged: number;
  /** Payouts neither paid nor canceled. */
  payouts: number;
  /** Among these payouts, the unpaid ones, and those with a failed transfer. */
  unpaid: number;
  failed: number;
  /** Among these payouts, those whose transfer waits until the owner stores an API key; counted by their rows. */
  held: number;
  /** Among the unpaid ones, those whose partner's payouts are on hold (OUT-24). */
  on_hold: number;
  /** 1 if a run can make a payout (OUT-2). */
  preparable: number;
  /** Promotion codes of the newest payments that belong to no partner, as `seenCodes` returns them. */
  unknown_codes: number;
  /** Open claims of missing sales. */
  claims: number;
  applications: number;
}

/** A webhook endpoint whose last attempt failed, or that was disabled because of failures. */
export interface FailingEndpoint {
  id: string;
  url: string;
  /** 1, or 0 if events cannot be sent to it. */
  active: number;
}

/** A used API key that expires soon, is in the second half of its life, and has no newer key of its name. */
export interface EndingKey {
  id: string;
  name: string;
  last4: string;
  expires_at: string;
}

const ENDING_KEY: Columns<EndingKey> = { id: text, name: text, last4: text, expires_at: text };
/** How long before its end a key is shown. */
const ENDS_SOON = 14 * DAY;
/** How long before their end the owner's exchange rates are shown. */
const RATES_END_SOON = 7 * DAY;

const WAITING: Columns<Waiting> = {
  ...{ pending: whole, flagged: whole, payouts: whole, unpaid: whole, failed: whole, held: whole },
  ...{ on_hold: whole, preparable: whole, unknown_codes: whole, claims: whole, applications: whole },
};

const FAILING: Columns<FailingEndpoint> = { id: text, url: text, active: whole };

/** One of the partners with the highest revenue in a currency. */
export interface TopPartner {
  currency: string;
  partner_id: string;
  email: string;
  slug: string;
  first_name: string | null;
  last_name: string | null;
  /** Sales in all currencies, as in `Steps`. */
  sales: number;
  amount_cents: Cents;
  revenue_cents: Cents;
  clicks: number;
}

const TOP_PARTNER: Columns<TopPartner> = {
  currency: text,
  partner_id: text,
  email: text,
  slug: text,
  first_name: nullable(text),
  last_name: nullable(text),
  sales: whole,
  amount_cents: amount,
  revenue_cents: amount,
  clicks: whole,
};

/** The completed steps of the first-run checklist: observed, not only claimed. */
export interface SetupSeen {
  partners: boolean;
  endpoints: boolean;
  /** The tracking script (or a redirect link) has reported a click, recorded or not. */
  clicks: boolean;
  /** A click on an active partner's link was recorded. */
  recorded_clicks: boolean;
  /** A payment was received, in a provider's test mode or live; a lead, a payment with the amount 0, does not count. */
  payments: boolean;
}

/** The funnel from a click to a sale, over some days. */
export interface Steps {
  clicks: number;
  leads: number;
  /** Sales that are the first of a customer with the partner (PORTAL-4). */
  customers: number;
  /** Payments that earned, including renewals. */
  sales: number;
}

/** Amounts over some days, and over as many before. */
export interface MoneyFigure {
  days: Daily<Cents>;
  now: Cents;
  before: Cents;
}

/** The money of some days in one currency. */
export interface CurrencyFigures {
  currency: string;
  /** Sales net of tax and refunds. */
  revenue: MoneyFigure;
  /** Without rejected commissions. */
  commissions: MoneyFigure;
  /** The number of commissions, which unlike amounts compares currencies. */
  count: number;
}

export interface Overview {
  days: Days;
  /** The same number of days before. */
  daysBefore: Days;
  now: Steps;
  before: Steps;
  clicks: Daily<number>;
  sales: Daily<number>;
  /** Every currency with an amount in either span; sorted by currency, the program's first. */
  money: CurrencyFigures[];
  standing: Standing[];
  waiting: Waiting;
  /** The oldest first. */
  failing: FailingEndpoint[];
  /** The earliest to expire first. */
  ending: EndingKey[];
  /** When the owner's exchange rates expire (ISO 8601), if that is soon or past; else null (OUT-37). */
  rates_end: string | null;
  /** Sorted by currency, in each the highest revenue first. */
  top: TopPartner[];
  /** Sorted by currency, in each the highest revenue first. */
  codes: CodeStats[];
  /** Clicks by page of the site, by referring host and by country. */
  sources: Record<ProgramSourceKind, ClickSources>;
  seen: SetupSeen;
  books: BooksStatus;
}

const MOST_TOP = 5;
const NO_WAITING: Waiting = {
  ...{ pending: 0, flagged: 0, payouts: 0, unpaid: 0, failed: 0, held: 0 },
  ...{ on_hold: 0, preparable: 0, unknown_codes: 0, claims: 0, applications: 0 },
};

/** Reads the owner's overview of some days and as many before, in one round trip; in two with a payout currency. */
export async function readOverview(ctx: ProgramCtx, days: Days): Promise<Overview> {
  const { db } = ctx;
  const pricing = await readPricing(ctx);
  const earlier = daysBefore(days);
  const both = { from: earlier.from, to: days.to };
  const own = sql`program_id = ${ctx.programId}`;
  const inBoth = sql`${own} and day between ${both.from} and ${both.to}`;
  const [clicks, sold, money, sums, [waiting], failing, ending, [rates], top, codes, sources, [seen], [books]] =
    await ctx.read(
      selectRows(db, DAY_COUNT, clickDays(ctx, both)),
      selectRows(
        db,
        SOLD,
        sql`select day, sum(leads) as leads, sum(first_sales) as customers, sum(sales) as sales
      from sale_days where ${inBoth} group by day`,
      ),
      selectRows(
        db,
        MONEY_DAY,
        sql`select day, currency, sum(commissions) as count, sum(amount_cents) as commissions,
        sum(revenue_cents) as revenue
      from earning_days where ${inBoth} group by 1, 2 having sum(commissions) > 0 or sum(revenue_cents) <> 0`,
      ),
      accountSums(ctx, ""),
      selectRows(db, WAITING, waitingCounts(ctx, pricing, own)),
      selectRows(db, FAILING, failingEndpoints(own)),
      selectRows(db, ENDING_KEY, endingKeys(ctx)),
      selectRows(db, { rated_at: text }, endingRates(ctx, own)),
      selectRows(db, TOP_PARTNER, topPartners(ctx, days)),
      selectCodeStats(ctx, days),
      selectProgramSources(ctx, days),
      selectRows(db, SEEN, seenSoFar(ctx, own)),
      booksStatus(ctx),
    );
  const byCurrency = <Row extends { currency: string }>(rows: Row[]) =>
    rows.toSorted((a, b) => compareCurrencies(a.currency, b.currency, ctx.program.currency));
  return {
    days,
    daysBefore: earlier,
    now: stepsIn(sold, clicks, days),
    before: stepsIn(sold, clicks, earlier),
    clicks: fillDays(clicks, days, 0),
    sales: fillDays(
      sold.map(({ day, sales }) => ({ day, value: sales })),
      days,
      0,
    ),
    money: byCurrency(figuresIn(money, days, earlier)),
    standing: sums.filter(isStanding),
    waiting: waiting ?? NO_WAITING,
    failing,
    ending,
    rates_end: rates ? iso(Date.parse(rates.rated_at) + RATES_LAST_MS) : null,
    top: byCurrency(top),
    codes: byCurrency(firstOfEach(codes)),
    sources: programSourcesOf(sources),
    seen: {
      ...{ partners: seen?.partners === 1, endpoints: seen?.endpoints === 1 },
      ...{ clicks: seen?.clicks === 1, recorded_clicks: seen?.recorded_clicks === 1 },
      payments: seen?.payments === 1,
    },
    books: books ?? { reconciled_at: null, differences: 0, deliveries_left: 0 },
  };
}

function endingKeys({ programId, now }: ProgramCtx): SQL {
  return sql`select id, name, last4, expires_at from api_keys k
    where program_id = ${programId} and last_used_at is not null and expires_at > ${iso(now)}
      and expires_at <= ${iso(now + ENDS_SOON)} and julianday(created_at) + julianday(expires_at) <= 2 * julianday(${iso(now)})
      and not exists (select 1 from api_keys n where n.program_id = k.program_id and n.id > k.id and n.name = k.name)
    order by expires_at, id`;
}

function endingRates({ program, now }: ProgramCtx, own: SQL): SQL {
  return sql`select rated_at from exchange_rates where ${own} and ${program.payout_currency} is not null
    and rates <> '{}' and rated_at <= ${iso(now + RATES_END_SOON - RATES_LAST_MS)}`;
}

function topPartners(ctx: ProgramCtx, { from, to }: Days): SQL {
  const range = { from: Date.parse(from), to: Date.parse(to) + DAY };
  const inSpan = sql`program_id = ${ctx.programId} and day between ${from} and ${to}`;
  return sql`with uncounted as materialized (
      select payload ->> 'partner_id' as partner_id, count(*) as n from ${uncountedClicks(ctx, range)} group by 1),
    sold as materialized (select partner_id, sum(sales) as n from sale_days where ${inSpan} group by 1)
    select t.currency as currency, t.partner_id as partner_id, p.email as email, p.slug as slug,
      p.first_name as first_name, p.last_name as last_name,
      coalesce((select n from sold where sold.partner_id = p.id), 0) as sales, t.amount_cents as amount_cents,
      t.revenue_cents as revenue_cents, (select coalesce(sum(k.count), 0) from click_counts k
        where k.program_id = p.program_id and k.partner_id = p.id and k.day between ${from} and ${to})
        + coalesce((select u.n from uncounted u where u.partner_id = p.id), 0) as clicks
    from (select currency, partner_id, sum(amount_cents) as amount_cents, sum(revenue_cents) as revenue_cents,
        row_number() over (partition by currency
          order by sum(revenue_cents) desc, sum(amount_cents) desc, partner_id) as place
      from earning_days where ${inSpan} group by 1, 2 having sum(commissions) > 0 or sum(revenue_cents) <> 0) t
    cross join partners p on p.id = t.partner_id where t.place <= ${MOST_TOP} order by t.place`;
}

function seenSoFar(ctx: ProgramCtx, own: SQL): SQL {
  return sql`select
    exists (select 1 from partners where ${own}) as partners,
    exists (select 1 from webhook_endpoints where ${own} and deleted_at is null) as endpoints,
    (select coalesce(sum(iif(list = 'payments', count, -count)), 0) > 0 from list_counts
      where ${own} and list in ('payments', 'leads')) as payments, ${hasClicks(ctx)} as clicks,
    ${hasRecordedClicks(ctx)} as recorded_clicks`;
}

function stepsIn(sold: readonly (Omit<Steps, "clicks"> & { day: string })[], clicks: readonly Row[], of: Days): Steps {
  const its = sold.filter(({ day }) => includesDay(of, day));
  const sumOf = (step: keyof Omit<Steps, "clicks">) => its.reduce((sum, row) => sum + row[step], 0);
  return { clicks: countIn(clicks, of), leads: sumOf("leads"), customers: sumOf("customers"), sales: sumOf("sales") };
}

function countIn(rows: readonly Row[], days: Days): number {
  return rows.reduce((sum, { day, value }) => (includesDay(days, day) ? sum + value : sum), 0);
}

function figuresIn(rows: readonly MoneyDay[], days: Days, earlier: Days): CurrencyFigures[] {
  const figure = (own: readonly MoneyDay[], of: "revenue" | "commissions"): MoneyFigure => {
    const sumIn = (span: Days) => addUp(own.filter(({ day }) => includesDay(span, day)).map((row) => row[of]));
    const daily = own.map((row) => ({ day: row.day, value: row[of] }));
    return { days: fillDays(daily, days, NOTHING), now: sumIn(days), before: sumIn(earlier) };
  };
  return [...Map.groupBy(rows, ({ currency }) => currency)].map(([currency, own]) => ({
    currency,
    revenue: figure(own, "revenue"),
    commissions: figure(own, "commissions"),
    count: own.reduce((sum, { day, count }) => (includesDay(days, day) ? sum + count : sum), 0),
  }));
}

function firstOfEach(stats: readonly CodeStats[]): CodeStats[] {
  return [...Map.groupBy(stats, ({ currency }) => currency).values()].flatMap((own) => own.slice(0, MOST_TOP));
}

export interface PartnerOverview {
  from: string;
  clicks: Daily<number>;
  /** Sorted by currency, the program's first; without rejected commissions. */
  commissions: DailyAmounts[];
  sums: CurrencyStats[];
  /** Sorted by currency, the program's first. */
  earnings: Earnings[];
  /** The last e-mail, if the partner's address refused it. */
  refused: RefusedMail | null;
  /** When the newest invitation was sent whose link is still valid. */
  invited_at: string | null;
}

/** Reads the overview of one partner, for the portal and for the partner's page of the dashboard. */
export async function readPartnerOverview(ctx: ProgramCtx, partner_id: string, days: number): Promise<PartnerOverview> {
  const { db } = ctx;
  const span = lastDays(ctx.now, days);
  const [clicks, earnings, sums, pending, [refused = null], [invitation]] = await ctx.read(
    selectRows(db, DAY_COUNT, clickDays(ctx, span, partner_id)),
    selectRows(
      db,
      MONEY_ROW,
      sql`select e.day as day, e.currency as currency, e.amount_cents as value
      from json_each(${JSON.stringify(daysOf(span))}) span cross join earning_days e
        on e.program_id = ${ctx.programId} and e.day = span.value and e.partner_id = ${partner_id}
      where e.commissions > 0`,
    ),
    accountSums(ctx, partner_id),
    selectPending(ctx, partner_id),
    refusedMail(ctx, partner_id),
    selectRows(
      db,
      { created_at: text },
      sql`select l.created_at as created_at from partners p join sign_in_links l on l.email = lower(p.email)
        where p.id = ${partner_id} and p.program_id = ${ctx.programId} and l.partner_id = p.id
          and l.purpose = 'invitation' and l.expires_at > ${iso(ctx.now)} order by l.created_at desc limit 1`,
    ),
  );
  return {
    from: span.from,
    ...{ refused, invited_at: invitation?.created_at ?? null },
    clicks: fillDays(clicks, span, 0),
    commissions: dailyAmounts(ctx, earnings, span),
    sums: statsOf(sums),
    earnings: earningsOf(ctx, sums, pending),
  };
}

/** Clicks by day, of the program or of one partner, including those that are not rolled up yet. */
function clickDays(ctx: ProgramCtx, { from, to }: Days, partner_id?: string): SQL {
  const inSpan = sql`program_id = ${ctx.programId} and day between ${from} and ${to}`;
  const range = { from: Date.parse(from), to: Date.parse(to) + DAY };
  const uncounted = sql`select substr(created_at, 1, 10), 1 from ${uncountedClicks(ctx, range)}`;
  const parts =
    partner_id === undefined
      ? sql`select day, count from event_counts where ${inSpan} and type = 'click' union all ${uncounted}`
      : sql`select day, count from click_counts where ${inSpan} and partner_id = ${partner_id}
          union all ${uncounted} and payload ->> 'partner_id' = ${partner_id}`;
  return sql`select day, sum(count) as value from (${parts}) group by day`;
}

interface Row<Value = number> {
  day: string;
  value: Value;
}

const DAY_COUNT = { day: text, value: whole };
const SOLD = { day: text, leads: whole, customers: whole, sales: whole };
const SEEN = { partners: whole, endpoints: whole, clicks: whole, recorded_clicks: whole, payments: whole };

interface MoneyDay {
  day: string;
  currency: string;
  count: number;
  commissions: Cents;
  revenue: Cents;
}

const MONEY_DAY: Columns<MoneyDay> = { day: text, currency: text, count: whole, commissions: amount, revenue: amount };

interface MoneyRow {
  day: string;
  currency: string;
  value: Cents;
}

const MONEY_ROW: Columns<MoneyRow> = { day: text, currency: text, value: amount };

function isStanding(row: AccountSum): row is Standing & AccountSum {
  return row.account === "pending" || row.account === "payable" || row.account === "in_payout";
}

function waitingCounts(ctx: ProgramCtx, pricing: Pricing, own: SQL): SQL {
  // A new program has no row yet.
  const count = (list: string, ...states: string[]) => sql`coalesce(sum(iif(list = ${list}
    and state in ${literals(states)}, count, 0)), 0)`;
  return sql`select ${count("commissions", "pending")} as pending, ${count("flagged", "pending")} as flagged,
      ${count("payouts", "pending", "processing", "failed")} as payouts,
      ${count("payouts", "pending")} as unpaid, ${count("payouts", "failed")} as failed,
      (${heldPayouts(own)}) as held, (${countOnHold(ctx)}) as on_hold, ${canPrepare(ctx, pricing)} as preparable,
      (${countUnknownCodes(ctx.programId)}) as unknown_codes,
      ${count("claims", "open")} as claims, ${count("applications", "pending")} as applications
    from list_counts where ${own}`;
}

function failingEndpoints(own: SQL): SQL {
  return sql`select id, url, active from webhook_endpoints where ${own} and deleted_at is null
    and (disabled_at is not null or (active = 1 and failing_since is not null)) order by id`;
}

/** Adds the program's own currency if there are no amounts, so that a chart is shown. */
function dailyAmounts({ program }: ProgramCtx, rows: readonly MoneyRow[], days: Days): DailyAmounts[] {
  const byCurrency = Map.groupBy(
    rows.filter(({ day }) => includesDay(days, day)),
    ({ currency }) => currency,
  );
  if (byCurrency.size === 0) byCurrency.set(program.currency, []);
  return [...byCurrency]
    .map(([currency, own]) => ({ currency, days: fillDays(own, days, NOTHING) }))
    .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
}
