import type { Context } from "hono";
import type { PartnerOverview } from "../../../core/overview/overview.ts";
import { amountOf } from "../../../domain/amount.ts";
import type { PageEnv } from "../../session.ts";
import { countText, moneyText } from "./figures.tsx";
import { countOf, countSeries, DailyPlot, moneySeries, totalOf } from "./plot.tsx";
import { chosenCurrency, Currencies } from "./spans.tsx";

/** The days that it shows. */
export const PLOT_DAYS = 30;

interface PartnerPlotsProps {
  c: Context<PageEnv>;
  seen: Pick<PartnerOverview, "clicks" | "commissions">;
}

/** A partner's clicks and commissions by day, on the page of the request: amounts in one currency (PAGE-45). */
export function PartnerPlots({ c, seen: { clicks, commissions } }: PartnerPlotsProps) {
  const currencies = commissions.map(({ currency }) => currency);
  const currency = chosenCurrency(c, currencies);
  const points = commissions.find((one) => one.currency === currency)?.days ?? [];
  return (
    <>
      <div class="section-head">
        <h2>Last {PLOT_DAYS} days</h2>
        <Currencies at={c.req.path} currencies={currencies} currency={currency} />
      </div>
      <div class="grid pairs">
        <section class="card">
          <DailyPlot
            series={[countSeries(clicks, { title: "Clicks", tone: "one", total: countText(countOf(clicks)) })]}
          />
        </section>
        <section class="card">
          <DailyPlot
            series={[
              moneySeries(currency, points, {
                ...{ title: "Commissions", tone: "three" },
                total: moneyText(amountOf({ currency }, totalOf(points))),
              }),
            ]}
          />
        </section>
      </div>
    </>
  );
}
