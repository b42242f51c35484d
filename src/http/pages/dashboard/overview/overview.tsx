import { Hono, type Context } from "hono";
import { readOverview, type CurrencyFigures, type Overview } from "../../../../core/overview/overview.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { NOTHING } from "../../../../domain/money.ts";
import type { PageEnv } from "../../../session.ts";
import { framed } from "../../framed.tsx";
import { dayText } from "../../locale.ts";
import { plural, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { countSeries, DailyPlot, moneySeries } from "../../parts/plot.tsx";
import { chosenCurrency, chosenDays, currenciesIn, Spans } from "../../parts/spans.tsx";
import { IfMay } from "../../rights.tsx";
import { Figures, MoneyOnItsWay, Steps } from "./figures.tsx";
import { TopCodes, TopPartners, TopSources } from "./top.tsx";
import { Setup } from "./setup.tsx";
import { ToDo } from "./todo.tsx";

/** `/dashboard` (PAGE-16): open decisions, the program's figures, and the remaining setup. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const days = chosenDays(c);
  const { program } = c.var.session;
  const seen = await readOverview(c.var.ctx, days);
  const isNew = !hasBegun(seen);
  return framed(
    c,
    { title: "Overview", at: "/dashboard", head: {}, utcDays: !isNew },
    <>
      <Books books={seen.books} />
      <ToDo overview={seen} program={program} now={c.var.now} hidden={isNew} />
      <IfMay right="manage">
        <Setup program={program} seen={seen.seen} isNew={isNew} />
      </IfMay>
      {isNew ? (
        <p class="muted small after">Clicks, sales and revenue appear here with the first click.</p>
      ) : (
        <>
          <Results overview={seen} c={c} />
          <Checked books={seen.books} />
        </>
      )}
    </>,
  );
});

/** Whether there is anything to show: a click, a payment, or a commission by hand. */
function hasBegun({ seen, money, standing }: Overview): boolean {
  return (
    seen.clicks || seen.payments || money.length > 0 || standing.some(({ amount_cents }) => amount_cents !== NOTHING)
  );
}

interface ResultsProps {
  overview: Overview;
  c: Context<PageEnv>;
}

/** The figures of the days; amounts in one currency. */
function Results({ overview, c }: ResultsProps) {
  const { days } = overview;
  const { now } = c.var;
  const { program } = c.var.session;
  const currencies = currenciesOf(overview, program);
  const currency = chosenCurrency(c, currencies, defaultCurrency(overview, program));
  const counted = currencies.length > 1 ? "all currencies" : undefined;
  const money = overview.money.find((one) => one.currency === currency) ?? emptyFigures(currency, overview);
  return (
    <>
      <div class="section-head">
        <h2>
          {dayText(days.from)} to {dayText(days.to)}
        </h2>
        <Spans at="/dashboard" {...{ days, now, currencies, currency }} />
      </div>
      <Figures overview={overview} money={money} counted={counted} />
      <div class="columns">
        <section class="card">
          <DailyPlot
            series={[
              moneySeries(currency, money.revenue.days, { title: "Revenue", tone: "one" }),
              moneySeries(currency, money.commissions.days, { title: "Commissions", tone: "three" }),
            ]}
          />
        </section>
        <MoneyOnItsWay overview={overview} currency={currency} />
        <TopPartners overview={overview} currency={currency} counted={counted} />
        <Steps overview={overview} />
        <section class="card">
          <DailyPlot
            series={[
              countSeries(overview.clicks, { title: "Clicks", tone: "one" }),
              countSeries(overview.sales, { title: "Sales", tone: "two" }),
            ]}
          />
        </section>
        <TopCodes overview={overview} currency={currency} />
        <TopSources overview={overview} />
      </div>
    </>
  );
}

/** Every currency with an amount on the page; the program's first. */
function currenciesOf({ money, standing, codes }: Overview, program: Program): string[] {
  const standingNow = standing.filter(({ amount_cents }) => amount_cents !== NOTHING);
  return currenciesIn([...money, ...standingNow, ...codes], program);
}

/** The program's currency, or, without revenue in it, the one with the most commissions: amounts do not compare. */
function defaultCurrency({ money }: Overview, { currency }: Program): string {
  const hasRevenue = (one: CurrencyFigures) => one.revenue.now !== NOTHING;
  if (money.some((one) => one.currency === currency && hasRevenue(one))) return currency;
  const [most] = money.filter(hasRevenue).toSorted((a, b) => b.count - a.count);
  return most?.currency ?? currency;
}

function emptyFigures(currency: string, { clicks }: Overview): CurrencyFigures {
  const none = { days: clicks.map(({ day }) => ({ day, value: NOTHING })), now: NOTHING, before: NOTHING };
  return { currency, revenue: none, commissions: none, count: 0 };
}

/** Whether the ledger balances, once the daily check has run. */
function Books({ books: { differences, deliveries_left } }: { books: Overview["books"] }) {
  if (differences > 0) {
    return (
      <Notice tone="bad">
        <p>
          <strong>{plural(differences, "difference")} in the ledger.</strong> The daily check found amounts that do not
          add up. We have not changed anything. Do not pay them out, look at{" "}
          <a href="/dashboard/events?type=reconciliation.failed">the expected and the found amounts</a>, and inform the
          operator of this service. This notice disappears once a check finds no difference.
        </p>
      </Notice>
    );
  }
  if (deliveries_left > 0) {
    return (
      <Notice tone="warn">
        <p>
          The daily check found <strong>{plural(deliveries_left, "delivery", "deliveries")}</strong> to your{" "}
          <a href="/dashboard/webhooks">webhook endpoints</a> more than an hour late.
        </p>
      </Notice>
    );
  }
  return null;
}

function Checked({ books: { reconciled_at, differences, deliveries_left } }: { books: Overview["books"] }) {
  if (reconciled_at === null || differences > 0 || deliveries_left > 0) return null;
  return (
    <p class="muted small after">
      The ledger was last checked without a difference <When at={reconciled_at} />.
    </p>
  );
}
