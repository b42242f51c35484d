import type { Child } from "../../../jsx.ts";
import type { ClickSources } from "../../../../core/clicks/sources.ts";
import { NO_REFERRER } from "../../../../core/kernel/click-sources.ts";
import type { Overview, TopPartner } from "../../../../core/overview/overview.ts";
import type { CodeStats } from "../../../../core/partners/code-stats.ts";
import { amountOf } from "../../../../domain/amount.ts";
import { COMMISSIONS } from "../commissions/columns.tsx";
import { countryText, currentLocale } from "../../locale.ts";
import { Count, Money } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { ShareBar } from "../../parts/plot.tsx";
import { spanText } from "../../parts/spans.tsx";
import { Empty, Table } from "../../parts/table.tsx";
import { instantsOf } from "../../../../core/overview/days.ts";

/** The partners with the highest earnings, a list for each currency; each links to its commissions. */
export function TopPartners({ overview: { top, days } }: { overview: Overview }) {
  const currencies = [...Map.groupBy(top, ({ currency }) => currency)];
  const href = ({ partner_id }: TopPartner) =>
    `${COMMISSIONS}?${new URLSearchParams({ partner_id, ...instantsOf(days) }).toString()}`;
  if (currencies.length === 0) {
    return (
      <section class="card flush">
        <h2>Top partners</h2>
        <Empty title={`No commissions in ${spanText(days)}`}>
          They appear with the first payment that belongs to a partner.
        </Empty>
      </section>
    );
  }
  return (
    <>
      {currencies.map(([currency, rows]) => {
        const title = currencies.length === 1 ? "Top partners" : `Top partners in ${currency}`;
        const most = Math.max(...rows.map((row) => Number(row.amount_cents)), 0);
        return (
          <section class="card flush">
            <h2>{title}</h2>
            <Table
              label={`${title} of ${spanText(days)} by commission`}
              columns={[
                { label: "Partner", grow: true },
                { label: "Clicks", align: "end" },
                { label: "Sales", align: "end" },
                { label: "Earned", align: "end" },
              ]}
              rows={rows.map((row) => [
                <span>
                  <a href={href(row)}>{partnerText(row)}</a>
                  <span class="second">{row.slug}</span>
                </span>,
                <Count of={row.clicks} />,
                <Count of={row.sales} />,
                <>
                  <Money of={row} />
                  <ShareBar value={Number(row.amount_cents)} of={most} />
                </>,
              ])}
            />
          </section>
        );
      })}
    </>
  );
}

/** The promotion codes with the most revenue, a list for each currency; each links to the codes of its partner. */
export function TopCodes({ overview: { codes, days } }: { overview: Overview }) {
  const currencies = [...Map.groupBy(codes, ({ currency }) => currency)];
  const query = new URLSearchParams({ ...days }).toString();
  const href = ({ partner_id }: CodeStats) => `/dashboard/partners/${partner_id}/codes?${query}`;
  return (
    <>
      {currencies.map(([currency, rows]) => {
        const title = currencies.length === 1 ? "Top codes" : `Top codes in ${currency}`;
        return (
          <section class="card flush">
            <h2>{title}</h2>
            <Table
              label={`${title} of ${spanText(days)} by revenue`}
              columns={[
                { label: "Code", grow: true },
                { label: "Sales", align: "end" },
                { label: "Earned", align: "end" },
                { label: "Revenue", align: "end" },
              ]}
              rows={rows.map((row) => [
                <a href={href(row)}>
                  <code>{row.code}</code>
                </a>,
                <Count of={row.sales} />,
                <Money of={amountOf(row, row.earned_cents)} />,
                <Money of={amountOf(row, row.revenue_cents)} />,
              ])}
            />
          </section>
        );
      })}
    </>
  );
}

/** The landing pages, the referring sites and the countries of visitors. */
export function TopSources({ overview: { sources, days } }: { overview: Overview }) {
  return (
    <>
      <SourceCard title="Top pages" column="Page" sources={sources.landing} span={spanText(days)} name={SourceName} />
      <SourceCard
        title="Top referrers"
        column="Host"
        sources={sources.referrer}
        span={spanText(days)}
        name={SourceName}
      />
      <SourceCard
        title="Top countries"
        column="Country"
        sources={sources.country}
        span={spanText(days)}
        name={CountryName}
      />
    </>
  );
}

/** The most entries that are shown, and characters of each. */
const MOST_SHOWN = 5;
const MOST_LETTERS = 120;

interface SourceCardProps {
  title: string;
  column: string;
  sources: ClickSources;
  span: string;
  name: (source: { value: string }) => Child;
}

function SourceCard({ title, column, sources: { top, others }, span, name }: SourceCardProps) {
  if (top.length === 0 && others === 0) return null;
  const shown = top.slice(0, MOST_SHOWN);
  const rest = top.slice(MOST_SHOWN).reduce((sum, { clicks }) => sum + clicks, others);
  const most = Math.max(...shown.map(({ clicks }) => clicks), 0);
  const rows = [
    ...shown.map(({ value, clicks }) => ({ name: name({ value }), clicks })),
    ...(rest === 0 ? [] : [{ name: <span class="muted">All others</span>, clicks: rest }]),
  ];
  return (
    <section class="card flush">
      <h2>{title}</h2>
      <Table
        label={`${title} of ${span} by clicks`}
        columns={[
          { label: column, grow: true },
          { label: "Clicks", align: "end" },
        ]}
        rows={rows.map(({ name, clicks }) => [
          name,
          <>
            <Count of={clicks} />
            <ShareBar value={Math.min(clicks, most)} of={most} />
          </>,
        ])}
      />
    </section>
  );
}

/** The name is in the reader's language, within English texts. */
function CountryName({ value }: { value: string }) {
  return <bdi lang={currentLocale() ?? undefined}>{countryText(value)}</bdi>;
}

function SourceName({ value }: { value: string }) {
  if (value === NO_REFERRER) return <span class="muted">No referrer</span>;
  if (value.length <= MOST_LETTERS) return <code>{value}</code>;
  return <code title={value}>{value.slice(0, MOST_LETTERS).toWellFormed()}…</code>;
}
