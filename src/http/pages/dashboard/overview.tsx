import { Hono } from "hono";
import { readOverview, type Daily, type Overview, type Standing } from "../../../core/overview.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { Count, countText, Money, moneyText, plural, Stat } from "../parts/figures.tsx";
import { DailyPlot, ShareBar } from "../parts/plot.tsx";
import { PartnerLink } from "../parts/partner.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { Setup } from "./setup.tsx";

const SPANS = [7, 30, 90] as const;
const DEFAULT_SPAN = 30;

/** `/dashboard`: how the program does, and what still has to be set up. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const days = SPANS.find((span) => String(span) === c.req.query("days")) ?? DEFAULT_SPAN;
  const { program } = c.var.session;
  const seen = await readOverview(c.var.ctx, days);
  return framed(
    c,
    { title: "Overview", at: "/dashboard" },
    <>
      <PageHead title="Overview" actions={<Spans days={days} />} />
      <Setup program={program} seen={seen.seen} />
      <Owed overview={seen} currency={program.currency} />
      <div class="grid three">
        <Plots overview={seen} currency={program.currency} />
      </div>
      <Top overview={seen} currency={program.currency} days={days} />
    </>,
  );
});

function Spans({ days }: { days: number }) {
  return (
    <nav aria-label="Span" class="spans">
      {SPANS.map((span) => (
        <a href={`/dashboard?days=${span}`} aria-current={span === days ? "true" : undefined}>
          {span} days
        </a>
      ))}
    </nav>
  );
}

function Owed({ overview, currency }: { overview: Overview; currency: string }) {
  const at = (station: Standing["station"]) => overview.standing.filter((row) => row.station === station);
  const pending = at("pending");
  const count = pending.reduce((sum, row) => sum + row.count, 0);
  const flagged = pending.reduce((sum, row) => sum + row.flagged, 0);
  const payouts = at("payouts").reduce((sum, row) => sum + row.count, 0);
  return (
    <dl class="stats">
      <Stat
        label="To review"
        value={<Count of={count} />}
        note={count === 0 ? "Nothing waits" : <ReviewLink flagged={flagged} />}
      />
      <Stat
        label="Pending"
        value={<OwnMoney rows={pending} currency={currency} />}
        note={otherMoney(pending, currency)}
      />
      <Stat
        label="Approved, not yet in a payout"
        value={<OwnMoney rows={at("approved")} currency={currency} />}
        note={otherMoney(at("approved"), currency) || <a href="/dashboard/payouts/new">Prepare payouts</a>}
      />
      <Stat
        label="In open payouts"
        value={<OwnMoney rows={at("payouts")} currency={currency} />}
        note={payouts === 0 ? "None open" : <a href="/dashboard/payouts">{plural(payouts, "payout")}</a>}
      />
    </dl>
  );
}

function ReviewLink({ flagged }: { flagged: number }) {
  return flagged > 0 ? (
    <a href="/dashboard/commissions?status=pending&flagged=true">{countText(flagged)} flagged</a>
  ) : (
    <a href="/dashboard/commissions?status=pending">Review them</a>
  );
}

function OwnMoney({ rows, currency }: { rows: Standing[]; currency: string }) {
  return <Money cents={rows.find((row) => row.currency === currency)?.amount_cents ?? 0} currency={currency} />;
}

/** Other currencies cannot be added up: they stand beside. */
function otherMoney(rows: Standing[], currency: string): string {
  const others = rows.filter((row) => row.currency !== currency);
  return others.map((row) => `+ ${moneyText(row.amount_cents, row.currency)}`).join(" ");
}

function Plots({ overview, currency }: { overview: Overview; currency: string }) {
  const money = (cents: number) => moneyText(cents, currency);
  return (
    <>
      <section class="card">
        <DailyPlot
          title="Clicks"
          tone="one"
          points={overview.clicks}
          format={countText}
          total={countText(totalOf(overview.clicks))}
        />
      </section>
      <section class="card">
        <DailyPlot
          title="Payments"
          tone="two"
          points={overview.payments}
          format={countText}
          total={countText(totalOf(overview.payments))}
        />
      </section>
      <section class="card">
        <DailyPlot
          title="Commissions"
          tone="three"
          points={overview.commissions}
          format={money}
          total={money(totalOf(overview.commissions))}
        />
        {overview.other_currencies.map((row) => (
          <p class="muted small">
            and {plural(row.commissions, "commission")} in {row.currency}: {moneyText(row.amount_cents, row.currency)}
          </p>
        ))}
      </section>
    </>
  );
}

function Top({ overview, currency, days }: { overview: Overview; currency: string; days: number }) {
  const most = Math.max(...overview.top.map((row) => row.amount_cents), 0);
  return (
    <section class="card flush">
      <h2>Top partners</h2>
      {overview.top.length === 0 ? (
        <Empty title={`No commissions in ${days} days`}>
          They appear here with the first payment that names a partner.
        </Empty>
      ) : (
        <Table
          label={`Top partners of ${days} days by commission`}
          columns={[
            { label: "Partner" },
            { label: "Clicks", align: "end" },
            { label: "Sales", align: "end" },
            { label: "Earned", align: "end" },
          ]}
          rows={overview.top.map((row) => [
            <PartnerLink partner={{ ...row, id: row.partner_id, status: "active" }} />,
            <Count of={row.clicks} />,
            <Count of={row.commissions} />,
            <>
              <Money cents={row.amount_cents} currency={currency} />
              <ShareBar value={row.amount_cents} of={most} />
            </>,
          ])}
        />
      )}
    </section>
  );
}

function totalOf(points: Daily): number {
  return points.reduce((sum, { value }) => sum + value, 0);
}
