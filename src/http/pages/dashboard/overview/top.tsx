import type { Child } from "../../../jsx.ts";
import type { ClickSources } from "../../../../core/clicks/sources.ts";
import { NO_REFERRER } from "../../../../core/kernel/click-sources.ts";
import type { Overview, TopPartner } from "../../../../core/overview/overview.ts";
import type { CodeStats } from "../../../../core/partners/code-stats.ts";
import { amountOf } from "../../../../domain/amount.ts";
import { InviteForm } from "../partners/fields.tsx";
import { COMMISSIONS } from "../commissions/columns.tsx";
import { countryText, currentLocale } from "../../locale.ts";
import { Count, Money } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { ShareBar } from "../../parts/plot.tsx";
import { spanText } from "../../parts/spans.tsx";
import { Table } from "../../parts/table.tsx";
import { instantsOf } from "../../../../core/overview/days.ts";

interface TopPartnersProps {
  overview: Overview;
  currency: string;
  /** The currencies of the sales, if there are several. */
  counted: string | undefined;
}

/** The partners with the highest revenue in one currency; each links to its commissions. The next one is invited here. */
export function TopPartners({ overview: { top, days }, currency, counted }: TopPartnersProps) {
  const rows = top.filter((row) => row.currency === currency);
  const href = ({ partner_id }: TopPartner) =>
    `${COMMISSIONS}?${new URLSearchParams({ partner_id, ...instantsOf(days) }).toString()}`;
  const most = Math.max(...rows.map((row) => Number(row.revenue_cents)), 0);
  return (
    <section class="card flush top-partners">
      <div class="card-head">
        <h2>Top partners</h2>
        <a href="/dashboard/partners">All partners</a>
      </div>
      {counted === undefined || rows.length === 0 ? null : <p class="inset muted small">Sales of {counted}</p>}
      {rows.length === 0 ? (
        <p class="inset muted">No sales in {spanText(days)}.</p>
      ) : (
        <Table
          label={`Top partners of ${spanText(days)} by revenue in ${currency}`}
          columns={[
            { label: "Partner", grow: true },
            { label: "Clicks", align: "end" },
            { label: "Sales", align: "end" },
            { label: "Revenue", align: "end" },
          ]}
          rows={rows.map((row) => [
            <span>
              <a href={href(row)}>{partnerText(row)}</a>
              <span class="second">{row.slug}</span>
            </span>,
            <Count of={row.clicks} />,
            <Count of={row.sales} />,
            <>
              <Money of={amountOf(row, row.revenue_cents)} />
              <span class="second">
                <Money of={amountOf(row, row.amount_cents)} /> earned
              </span>
              <ShareBar value={Number(row.revenue_cents)} of={most} />
            </>,
          ])}
        />
      )}
      <div class="inset after">
        <InviteForm />
      </div>
    </section>
  );
}

/** The promotion codes with the most revenue in one currency; each links to the codes of its partner. */
export function TopCodes({ overview: { codes, days }, currency }: { overview: Overview; currency: string }) {
  const rows = codes.filter((row) => row.currency === currency);
  const query = new URLSearchParams({ ...days }).toString();
  const href = ({ partner_id }: CodeStats) => `/dashboard/partners/${partner_id}/codes?${query}`;
  if (rows.length === 0) return null;
  return (
    <section class="card flush">
      <h2>Top codes</h2>
      <Table
        label={`Top codes of ${spanText(days)} by revenue in ${currency}`}
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
