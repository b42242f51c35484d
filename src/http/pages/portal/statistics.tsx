import { Hono } from "hono";
import type { ClickSources } from "../../../core/clicks/sources.ts";
import { readPartnerStatistics, type Results } from "../../../core/overview/statistics.ts";
import { amountOf, type Amount } from "../../../domain/amount.ts";
import { NOTHING } from "../../../domain/money.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { CodeStatsCard } from "../parts/code-stats.tsx";
import { beforeText, changeText, Count, countText, Money, moneyText, shareText, Stat } from "../parts/figures.tsx";
import { dayText } from "../locale.ts";
import { chosenCurrency, chosenDays, currenciesIn, Spans } from "../parts/spans.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { programOf, selfOf } from "./self.ts";
import { programText } from "../parts/shown-name.ts";

const AT = "/portal/statistics";

/** `/portal/statistics`: results of the partner's links and codes in some days, beside those before (PORTAL-2). */
export const statistics = new Hono<PageEnv>().get("/", async (c) => {
  const days = chosenDays(c);
  const program = programOf(c);
  const seen = await readPartnerStatistics(c.var.ctx, selfOf(c).id, days);
  const count = seen.days.length;
  const currencies = currenciesIn([...seen.now.earned, ...seen.before.earned, ...seen.codes], program);
  const currency = chosenCurrency(c, currencies);
  return framed(
    c,
    {
      title: "Statistics",
      at: AT,
      utcDays: true,
      head: {
        lede: `${dayText(days.from)} to ${dayText(days.to)}.`,
      },
    },
    <>
      <Spans at={AT} {...{ days, currencies, currency }} now={c.var.now} />
      <Head now={seen.now} before={seen.before} days={count} currency={currency} />
      <p class="muted small explains">
        A lead is a sign-up that {programText(program)} reported. A sale is a payment that earned, by the day of the
        payment; a new customer is a customer's first sale through you. Renewals count as sales, not as new customers.
        Conversion is new customers per hundred clicks.{currencies.length > 1 ? " These count every currency." : null}
      </p>
      <SourceCard title="Clicks by page" column="Page" sources={seen.sources.landing} />
      <SourceCard
        title="Clicks by sub-id"
        column="Sub-id"
        sources={seen.sources.sub}
        note="Payments do not contain sub-ids, so sales and earnings cannot be split by sub-id or page."
      />
      <CodeStatsCard
        stats={seen.codes}
        days={count}
        currency={currency}
        hidesSales={program.sale_amounts === "hidden"}
      />
      <ByDay days={seen.days} currency={currency} />
    </>,
  );
});

function earnedOf({ earned }: Results, currency: string): Amount {
  return earned.find((row) => row.currency === currency) ?? amountOf({ currency }, NOTHING);
}

/** The days with results of the partner's links and codes. */
function ByDay({ days, currency }: { days: readonly (Results & { day: string })[]; currency: string }) {
  const shown = days.filter((day) => day.clicks > 0 || day.leads > 0 || day.sales > 0 || day.earned.length > 0);
  return (
    <section class="card flush">
      <h2>By day</h2>
      {shown.length === 0 ? (
        <Empty title="Nothing in this period">
          Share <a href="/portal/assets">your link</a>, or choose other days.
        </Empty>
      ) : (
        <Table
          label="By day"
          columns={[
            { label: "Day" },
            { label: "Clicks", align: "end" },
            { label: "Leads", align: "end" },
            { label: "Sales", align: "end" },
            { label: "New customers", align: "end" },
            { label: "Earned", align: "end" },
          ]}
          rows={shown.map((day) => [
            dayText(day.day),
            <Count of={day.clicks} />,
            <Count of={day.leads} />,
            <Count of={day.sales} />,
            <Count of={day.first_sales} />,
            <Money of={earnedOf(day, currency)} />,
          ])}
        />
      )}
    </section>
  );
}

interface HeadProps {
  now: Results;
  before: Results;
  /** The number of days of each. */
  days: number;
  currency: string;
}

function Head({ now, before, days, currency }: HeadProps) {
  const note = (of: "clicks" | "leads" | "sales" | "first_sales") =>
    beforeText(days, countText(before[of]), changeText(now[of], before[of]));
  const [earned, earlier] = [earnedOf(now, currency), earnedOf(before, currency)];
  return (
    <dl class="stats">
      <Stat label="Clicks" value={<Count of={now.clicks} />} note={note("clicks")} />
      <Stat label="Leads" value={<Count of={now.leads} />} note={note("leads")} />
      <Stat label="Sales" value={<Count of={now.sales} />} note={note("sales")} />
      <Stat label="New customers" value={<Count of={now.first_sales} />} note={note("first_sales")} />
      <Stat
        label="Conversion"
        value={rateText(now)}
        note={before.clicks === 0 ? null : beforeText(days, rateText(before), "")}
      />
      <Stat
        label="Earned"
        value={<Money of={earned} />}
        note={beforeText(
          days,
          moneyText(earlier),
          changeText(Number(earned.amount_cents), Number(earlier.amount_cents)),
        )}
      />
    </dl>
  );
}

/** First sales per hundred clicks. */
function rateText({ clicks, first_sales }: Results): string {
  return shareText(first_sales, clicks);
}

interface SourceCardProps {
  title: string;
  column: string;
  sources: ClickSources;
  note?: string;
}

function SourceCard({ title, column, sources, note }: SourceCardProps) {
  if (sources.top.length === 0 && sources.others === 0) return null;
  return (
    <section class="card flush">
      <h2>{title}</h2>
      {note === undefined ? null : <p class="muted small">{note}</p>}
      <Table
        label={title}
        columns={[
          { label: column, grow: true },
          { label: "Clicks", align: "end" },
        ]}
        rows={[
          ...sources.top.map(({ value, clicks }) => [<code>{value}</code>, <Count of={clicks} />]),
          ...(sources.others === 0 ? [] : [["All others", <Count of={sources.others} />]]),
        ]}
      />
    </section>
  );
}
