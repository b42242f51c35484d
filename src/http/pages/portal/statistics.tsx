import { Hono } from "hono";
import type { ClickSources } from "../../../core/clicks/sources.ts";
import { readPartnerStatistics, type Days, type Results } from "../../../core/overview/statistics.ts";
import { amountOf, sumUp } from "../../../domain/amount.ts";
import { DAY, utcDay } from "../../../lib/time.ts";
import type { PageEnv } from "../../session.ts";
import { timeRange } from "../../validate.ts";
import { filterOf } from "../filters.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { CodeStatsCard } from "../parts/code-stats.tsx";
import { Count, countText, Stat, Sums } from "../parts/figures.tsx";
import { dayText, numberText } from "../locale.ts";
import { Field } from "../parts/form.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { programOf, selfOf, type OwnProgram } from "./self.ts";

const AT = "/portal/statistics";
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

/** `/portal/statistics`: what the partner's links and codes brought in some days, beside as many days before (PORTAL-2). */
export const statistics = new Hono<PageEnv>().get("/", async (c) => {
  const filter = filterOf(c, timeRange);
  const days = spanOf(filter.value, c.var.now);
  const program = programOf(c);
  const seen = await readPartnerStatistics(c.var.ctx, selfOf(c).id, days);
  const count = seen.days.length;
  return framed(
    c,
    { title: "Statistics", at: AT },
    <>
      <PageHead title="Statistics" lede={`${dayText(days.from)} to ${dayText(days.to)}, beside as many days before.`} />
      <form method="get" action={AT} class="filter" aria-label="Choose the days">
        <Field name="from" label="From" type="date" value={days.from} />
        <Field name="to" label="To" type="date" value={days.to} />
        <button type="submit">Show</button>
        {Object.keys(filter.texts).length > 0 ? <a href={AT}>Last {DEFAULT_DAYS} days</a> : null}
      </form>
      <Head now={seen.now} before={seen.before} program={program} />
      <p class="muted small explains">
        A lead is a sign-up that {program.name} reported. A sale is a payment that earned, by the day of the payment; a
        new customer is the first sale of a customer through you, so a renewal is a sale and no new customer. Conversion
        is new customers for each hundred clicks.
      </p>
      <SourceCard title="Clicks by page" column="Page" sources={seen.sources.landing} />
      <SourceCard
        title="Clicks by sub-id"
        column="Sub-id"
        sources={seen.sources.sub}
        note="A payment carries your reference and no sub-id: what you sold and earned cannot be split by sub-id or page."
      />
      <CodeStatsCard stats={seen.codes} days={count} hidesSales={program.sale_amounts === "hidden"} />
      <ByDay days={seen.days} program={program} />
    </>,
  );
});

/** The days that are asked for, the last thirty unless said otherwise, and never more than 366. */
function spanOf({ from, to }: { from?: number | undefined; to?: number | undefined }, now: number): Days {
  const last = Math.max((to ?? now + 1) - 1, 0);
  const first = from ?? last - (DEFAULT_DAYS - 1) * DAY;
  return { from: utcDay(Math.min(Math.max(first, last - (MAX_DAYS - 1) * DAY), last)), to: utcDay(last) };
}

function earnedOf(results: Results, program: OwnProgram) {
  return sumUp(
    results.earned.map((row) => amountOf(row, row.amount_cents)),
    program,
  );
}

/** The days on which something came of the partner's links and codes. */
function ByDay({ days, program }: { days: readonly (Results & { day: string })[]; program: OwnProgram }) {
  const shown = days.filter((day) => day.clicks > 0 || day.leads > 0 || day.sales > 0 || day.earned.length > 0);
  return (
    <section class="card flush">
      <h2>By day</h2>
      {shown.length === 0 ? (
        <Empty title="Nothing in these days">Share your link, or choose other days.</Empty>
      ) : (
        <Table
          label="By day"
          columns={[
            { label: "Day (UTC)" },
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
            <Sums of={earnedOf(day, program)} />,
          ])}
        />
      )}
    </section>
  );
}

function Head({ now, before, program }: { now: Results; before: Results; program: OwnProgram }) {
  return (
    <dl class="stats">
      <Stat label="Clicks" value={<Count of={now.clicks} />} note={`${countText(before.clicks)} before`} />
      <Stat label="Leads" value={<Count of={now.leads} />} note={`${countText(before.leads)} before`} />
      <Stat label="Sales" value={<Count of={now.sales} />} note={`${countText(before.sales)} before`} />
      <Stat
        label="New customers"
        value={<Count of={now.first_sales} />}
        note={`${countText(before.first_sales)} before`}
      />
      <Stat label="Conversion" value={rateText(now)} note={`${rateText(before)} before`} />
      <Stat
        label="Earned"
        value={<Sums of={earnedOf(now, program)} />}
        note={
          <>
            <Sums of={earnedOf(before, program)} /> before
          </>
        }
      />
    </dl>
  );
}

/** Customers who bought first, for each hundred clicks; none of them where nobody clicked. */
function rateText({ clicks, first_sales }: Results): string {
  return clicks === 0 ? "–" : `${numberText(((first_sales / clicks) * 100).toFixed(1))}\u00a0%`;
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
