import type { CodeStats } from "../../../core/partners/code-stats.ts";
import { amountOf } from "../../../domain/amount.ts";
import type { PartnerName } from "../../../core/partners/display-names.ts";
import { Count, Money, plural } from "./figures.tsx";
import { dateText, usePageZone } from "../locale.ts";
import { PartnerLink } from "./partner.tsx";
import { Table } from "./table.tsx";

interface CodeStatsProps {
  stats: readonly CodeStats[];
  days: number;
  currency: string;
  /** The partner of each code, if the card shows codes of several partners. */
  names?: ReadonlyMap<string, PartnerName>;
  /** Hides the customers' payments. */
  hidesSales?: boolean;
}

/** The results of promotion codes in one currency; hidden without results. */
export function CodeStatsCard({ stats: all, days, currency, names, hidesSales = false }: CodeStatsProps) {
  const zone = usePageZone();
  const stats = all.filter((row) => row.currency === currency);
  if (stats.length === 0) return null;
  const title = `Results of codes, ${plural(days, "day")}`;
  return (
    <section class="card flush">
      <h2>{title}</h2>
      <Table
        label={title}
        columns={[
          { label: "Code" },
          ...(names ? [{ label: "Partner" }] : []),
          { label: "Sales", align: "end" },
          ...(hidesSales ? [] : [{ label: "Revenue", align: "end" } as const]),
          { label: "Earned", align: "end" },
        ]}
        rows={stats.map((row) => [
          <span>
            <code>{row.code}</code>
            {row.ended_at === null ? null : <span class="second">until {dateText(row.ended_at, zone)}</span>}
          </span>,
          ...(names ? [<PartnerLink partner={names.get(row.partner_id)} />] : []),
          <Count of={row.sales} />,
          ...(hidesSales ? [] : [<Money of={amountOf(row, row.revenue_cents)} />]),
          <Money of={amountOf(row, row.earned_cents)} />,
        ])}
      />
    </section>
  );
}
