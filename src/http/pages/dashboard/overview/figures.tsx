import type { Overview, Standing } from "../../../../core/overview/overview.ts";
import { type Days, instantsOf } from "../../../../core/overview/days.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { amountOf, compareCurrencies } from "../../../../domain/amount.ts";
import { addUp } from "../../../../domain/money.ts";
import { changeText, Count, countText, Money, shareText, Stat } from "../../parts/figures.tsx";
import { Table } from "../../parts/table.tsx";

/** The partners' money by state, a row for each currency. */
export function MoneyTable({ overview, program }: { overview: Overview; program: Program }) {
  const { earned, standing } = overview;
  const currencies = [...new Set([program.currency, ...[...earned, ...standing].map(({ currency }) => currency)])];
  const at = (account: Standing["account"], currency: string) => {
    const own = standing.filter((row) => row.account === account && row.currency === currency);
    return <Money of={amountOf({ currency }, addUp(own.map(({ amount_cents }) => amount_cents)))} />;
  };
  return (
    <section class="card flush">
      <h2>Money</h2>
      <Table
        label="Money by currency"
        columns={[
          { label: "Currency" },
          { label: "Commissions in this period", align: "end", named: true },
          { label: "Before", align: "end", named: true },
          { label: "Pending now", align: "end", named: true },
          { label: "Approved, not yet in a payout", align: "end", named: true },
          { label: "In open payouts", align: "end", named: true },
        ]}
        rows={currencies
          .toSorted((a, b) => compareCurrencies(a, b, program.currency))
          .map((currency) => {
            const { now, before } = earned.find((row) => row.currency === currency) ?? {
              now: addUp([]),
              before: addUp([]),
            };
            return [
              currency,
              <Money of={amountOf({ currency }, now)} />,
              <span>
                <Money of={amountOf({ currency }, before)} />
                <span class="second">{changeText(Number(now), Number(before))}</span>
              </span>,
              at("pending", currency),
              at("payable", currency),
              at("in_payout", currency),
            ];
          })}
      />
    </section>
  );
}

/** The funnel from click to sale, with each step's share and previous value. */
export function Steps({ overview: { now, before }, days }: { overview: Overview; days: Days }) {
  const leads = new URLSearchParams({ credited: "true", ...instantsOf(days) }).toString();
  const note = (count: number, earlier: number, ...shares: string[]) => (
    <>
      {shares.map((share) => (
        <span class="stat-line">{share}</span>
      ))}
      <span class="stat-line">
        {countText(earlier)} before{earlier === 0 ? "" : `, ${changeText(count, earlier)}`}
      </span>
    </>
  );
  const share = (part: number, whole: number, of: string) => (whole === 0 ? [] : [`${shareText(part, whole)} ${of}`]);
  const ofClicks = (count: number) => share(count, now.clicks, "of clicks");
  return (
    <section class="card flush">
      <h2>From click to sale</h2>
      <dl class="stats">
        <Stat label="Clicks" value={<Count of={now.clicks} />} note={note(now.clicks, before.clicks)} />
        <Stat
          label="Leads"
          value={
            <a href={`/dashboard/payments/leads?${leads}`}>
              <Count of={now.leads} />
            </a>
          }
          note={note(now.leads, before.leads, ...ofClicks(now.leads))}
        />
        <Stat
          label="New customers"
          value={<Count of={now.customers} />}
          note={note(
            now.customers,
            before.customers,
            ...ofClicks(now.customers),
            ...share(now.customers, now.leads, "of leads"),
          )}
        />
        <Stat
          label="Sales"
          value={<Count of={now.sales} />}
          note={note(
            now.sales,
            before.sales,
            ...ofClicks(now.sales),
            ...share(now.customers, now.sales, "by new customers"),
          )}
        />
      </dl>
      <p class="table-note">
        A lead is a reported sign-up. A new customer is a customer's first sale through a partner; renewals and further
        purchases count as sales. Not every customer was a lead first.
      </p>
    </section>
  );
}
