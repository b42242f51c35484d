import type { Child } from "../../../jsx.ts";
import type { CurrencyFigures, MoneyFigure, Overview, Standing } from "../../../../core/overview/overview.ts";
import { daysOf, instantsOf } from "../../../../core/overview/days.ts";
import { amountOf } from "../../../../domain/amount.ts";
import { addUp, cents } from "../../../../domain/money.ts";
import { beforeText, changeText, Count, countText, Money, moneyText, shareText, Stat } from "../../parts/figures.tsx";
import { Trend } from "../../parts/plot.tsx";
import { ActionLink } from "../../rights.tsx";

interface FiguresProps {
  overview: Overview;
  money: CurrencyFigures;
  /** The scope of the counts, if the amounts are those of one of several currencies. */
  counted: string | undefined;
}

/** The four figures of the first row, each beside the previous days. */
export function Figures({ overview, money, counted }: FiguresProps) {
  const { now, before } = overview;
  const amount = (title: string, figure: MoneyFigure) => {
    const format = (value: MoneyFigure["now"]) => moneyText(amountOf(money, value));
    return (
      <Figure
        title={title}
        value={<Money of={amountOf(money, figure.now)} />}
        before={beforeText(
          daysOf(overview.days).length,
          format(figure.before),
          changeText(Number(figure.now), Number(figure.before)),
        )}
        trend={<Trend points={figure.days} />}
      />
    );
  };
  const count = (title: string, of: "sales" | "clicks") => (
    <Figure
      title={
        <>
          {title}
          {counted === undefined ? null : <span class="small"> ({counted})</span>}
        </>
      }
      value={<Count of={now[of]} />}
      before={beforeText(daysOf(overview.days).length, countText(before[of]), changeText(now[of], before[of]))}
      trend={<Trend points={overview[of].map(({ day, value }) => ({ day, value: cents(value) }))} />}
    />
  );
  return (
    <dl class="figures">
      {amount("Revenue", money.revenue)}
      {amount("Commissions", money.commissions)}
      {count("Sales", "sales")}
      {count("Clicks", "clicks")}
    </dl>
  );
}

interface FigureProps {
  title: Child;
  value: Child;
  before: string;
  trend: Child;
}

function Figure({ title, value, before, trend }: FigureProps) {
  return (
    <div class="figure">
      <dt>{title}</dt>
      <dd>
        <span class="stat-value">{value}</span>
        <span class="stat-note">{before}</span>
        {trend}
      </dd>
    </div>
  );
}

/** The partners' money that is not paid yet, in one currency. */
export function MoneyOnItsWay({ overview: { standing }, currency }: { overview: Overview; currency: string }) {
  const at = (account: Standing["account"]) => {
    const own = standing.filter((row) => row.account === account && row.currency === currency);
    return <Money of={amountOf({ currency }, addUp(own.map(({ amount_cents }) => amount_cents)))} />;
  };
  return (
    <section class="card flush money-to-pay">
      <h2>Money to pay</h2>
      <dl class="stats">
        <Stat label="Pending" value={at("pending")} note={<a href="/dashboard/commissions?status=pending">Review</a>} />
        <Stat
          label="Ready to pay"
          value={at("payable")}
          note={<ActionLink href="/dashboard/payouts/new">Prepare</ActionLink>}
        />
        <Stat label="In open payouts" value={at("in_payout")} note={<a href="/dashboard/payouts">Payouts</a>} />
      </dl>
    </section>
  );
}

/** The steps between a click and a sale, each with its share. */
export function Steps({ overview }: { overview: Overview }) {
  const { now, before, days } = overview;
  const leads = new URLSearchParams({ credited: "true", ...instantsOf(days) }).toString();
  const share = (part: number, whole: number, of: string) => (whole === 0 ? [] : [`${shareText(part, whole)} ${of}`]);
  const note = (of: "leads" | "customers", ...shares: string[]) => (
    <>
      {shares.map((text) => (
        <span class="stat-line">{text}</span>
      ))}
      <span class="stat-line">
        {beforeText(daysOf(overview.days).length, countText(before[of]), changeText(now[of], before[of]))}
      </span>
    </>
  );
  return (
    <section class="card flush">
      <h2>From click to sale</h2>
      <dl class="stats">
        <Stat
          label="Leads"
          value={
            <a href={`/dashboard/payments/leads?${leads}`}>
              <Count of={now.leads} />
            </a>
          }
          note={note("leads", ...share(now.leads, now.clicks, "of clicks"))}
        />
        <Stat
          label="New customers"
          value={<Count of={now.customers} />}
          note={note(
            "customers",
            ...share(now.customers, now.clicks, "of clicks"),
            // Not every customer was a lead.
            ...(now.customers <= now.leads ? share(now.customers, now.leads, "of leads") : []),
            ...share(now.customers, now.sales, "of sales"),
          )}
        />
      </dl>
      <p class="table-note">A lead is a reported sign-up, a new customer a first sale through a partner.</p>
    </section>
  );
}
