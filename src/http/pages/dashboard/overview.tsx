import { Hono } from "hono";
import { readOverview, type Overview, type Standing, type Waiting } from "../../../core/overview/overview.ts";
import type { Program } from "../../../core/kernel/rows.ts";
import { sumUp } from "../../../domain/amount.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { Count, countText, Flag, Money, plural, Stat, Sums, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { DailyPlot, MoneyPlots, ShareBar, countOf } from "../parts/plot.tsx";
import { PartnerLink } from "../parts/partner.tsx";
import { Spans, spanOf } from "../parts/spans.tsx";
import { Empty, Table } from "../parts/table.tsx";
import { Setup } from "./setup.tsx";

/** `/dashboard`: how the program does, and what still has to be set up. */
export const overview = new Hono<PageEnv>().get("/", async (c) => {
  const days = spanOf(c.req.query("days"));
  const { program } = c.var.session;
  const seen = await readOverview(c.var.ctx, days);
  return framed(
    c,
    { title: "Overview", at: "/dashboard" },
    <>
      <PageHead title="Overview" actions={<Spans at="/dashboard" days={days} />} />
      <Books books={seen.books} />
      <Setup program={program} seen={seen.seen} />
      <Owed overview={seen} program={program} />
      <Plots overview={seen} />
      <Top overview={seen} days={days} />
    </>,
  );
});

/** Whether the money adds up, once the daily check has gone through it. */
function Books({ books: { reconciled_at, differences, deliveries_left } }: { books: Overview["books"] }) {
  if (differences > 0) {
    return (
      <Notice tone="bad">
        <p>
          <strong>{plural(differences, "difference")} in the ledger.</strong> The daily check has found money that does
          not add up. Nothing was changed. Pay out nothing that it concerns, look at{" "}
          <a href="/dashboard/events?type=reconciliation.failed">what was expected and what was found</a>, and inform
          whoever runs this service. This notice goes with the first check that finds no difference.
        </p>
      </Notice>
    );
  }
  if (deliveries_left > 0) {
    return (
      <Notice tone="warn">
        <p>
          The daily check found <strong>{plural(deliveries_left, "delivery", "deliveries")}</strong> to your{" "}
          <a href="/dashboard/webhooks">webhook endpoints</a> waiting more than an hour beyond the time.
        </p>
      </Notice>
    );
  }
  if (reconciled_at === null) return null;
  return (
    <p class="muted small">
      The ledger was last checked without a difference <When at={reconciled_at} />.
    </p>
  );
}

function Owed({ overview, program }: { overview: Overview; program: Program }) {
  const at = (account: Standing["account"]) => overview.standing.filter((row) => row.account === account);
  const approved = at("payable");
  const { pending, payouts, claims, applications } = overview.waiting;
  const decisions = pending + claims + applications;
  return (
    <dl class="stats">
      <Stat
        label="To review"
        value={<Count of={decisions} />}
        note={decisions === 0 ? "Nothing waits" : <ReviewLinks waiting={overview.waiting} />}
      />
      <Stat label="Pending" value={<Sums of={sumUp(at("pending"), program)} />} />
      <Stat
        label="Approved, not yet in a payout"
        value={<Sums of={sumUp(approved, program)} />}
        note={approved.length === 0 ? "Nothing waits" : <a href="/dashboard/payouts/new">Prepare payouts</a>}
      />
      <Stat
        label="In open payouts"
        value={<Sums of={sumUp(at("in_payout"), program)} />}
        note={payouts === 0 ? "None open" : <a href="/dashboard/payouts">{plural(payouts, "payout")}</a>}
      />
    </dl>
  );
}

/** What there is to decide, each with its number and its page. */
function ReviewLinks({ waiting }: { waiting: Waiting }) {
  const { pending, flagged, claims, applications } = waiting;
  return (
    <>
      {flagged > 0 ? (
        <a href="/dashboard/commissions?status=pending&flagged=true" class="flag-link">
          <Flag label={`${countText(flagged)} flagged`} />
        </a>
      ) : null}{" "}
      {pending > 0 ? <a href="/dashboard/commissions?status=pending">{plural(pending, "commission")}</a> : null}{" "}
      {applications > 0 ? <a href="/dashboard/partners/applications">{plural(applications, "application")}</a> : null}{" "}
      {claims > 0 ? <a href="/dashboard/claims">{plural(claims, "claim")}</a> : null}
    </>
  );
}

/** One row of three where there is one currency; else the amounts have a row of their own. */
function Plots({ overview }: { overview: Overview }) {
  const counts = (
    <>
      <section class="card">
        <DailyPlot
          title="Clicks"
          tone="one"
          points={overview.clicks}
          none={0}
          format={countText}
          total={countText(countOf(overview.clicks))}
        />
      </section>
      <section class="card">
        <DailyPlot
          title="Payments"
          tone="two"
          points={overview.payments}
          none={0}
          format={countText}
          total={countText(countOf(overview.payments))}
        />
      </section>
    </>
  );
  const amounts = <MoneyPlots title="Commissions" tone="three" amounts={overview.commissions} />;
  return overview.commissions.length === 1 ? (
    <div class="grid three">
      {counts}
      {amounts}
    </div>
  ) : (
    <>
      <div class="grid">{counts}</div>
      <div class="grid pairs">{amounts}</div>
    </>
  );
}

function Top({ overview, days }: { overview: Overview; days: number }) {
  const currencies = Map.groupBy(overview.top, ({ currency }) => currency);
  if (currencies.size === 0) {
    return (
      <section class="card flush">
        <h2>Top partners</h2>
        <Empty title={`No commissions in ${days} days`}>
          They appear here with the first payment that names a partner.
        </Empty>
      </section>
    );
  }
  return (
    <div class="grid pairs">
      {[...currencies].map(([currency, rows]) => {
        const title = currencies.size === 1 ? "Top partners" : `Top partners in ${currency}`;
        const most = Math.max(...rows.map((row) => Number(row.amount_cents)), 0);
        return (
          <section class="card flush">
            <h2>{title}</h2>
            <Table
              label={`${title} of ${days} days by commission`}
              columns={[
                { label: "Partner" },
                { label: "Clicks", align: "end" },
                { label: "Sales", align: "end" },
                { label: "Earned", align: "end" },
              ]}
              rows={rows.map((row) => [
                <PartnerLink partner={{ ...row, id: row.partner_id, status: "active" }} />,
                <Count of={row.clicks} />,
                <Count of={row.commissions} />,
                <>
                  <Money of={row} />
                  <ShareBar value={Number(row.amount_cents)} of={most} />
                </>,
              ])}
            />
          </section>
        );
      })}
    </div>
  );
}
