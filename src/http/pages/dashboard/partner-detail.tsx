import type { Program } from "../../../core/context.ts";
import type { PartnerOverview } from "../../../core/overview.ts";
import type { CurrencyStats, Partner } from "../../../core/partners.ts";
import { PageHead } from "../layout.tsx";
import { CopyLine } from "../parts/copy.tsx";
import { Badge, Count, countText, Money, moneyText, Stat, When } from "../parts/figures.tsx";
import { partnerText } from "../parts/partner.tsx";
import { DailyPlot } from "../parts/plot.tsx";
import { referralLink, redirectLink } from "../parts/snippets.ts";
import { Facts, Table } from "../parts/table.tsx";
import { payoutMethodText } from "../parts/payout-method.ts";

interface PartnerDetailProps {
  partner: Partner;
  stats: readonly CurrencyStats[];
  clicks: number;
  overview: PartnerOverview;
  program: Program;
  origin: string;
}

/** One partner: what they have brought, how they are reached and paid. */
export function PartnerDetail({ partner, stats, clicks, overview, program, origin }: PartnerDetailProps) {
  const own = stats.find(({ currency }) => currency === program.currency);
  const others = stats.filter(({ currency }) => currency !== program.currency);
  const money = (cents: number) => moneyText(cents, program.currency);
  return (
    <>
      <PageHead
        title={
          <>
            {partnerText(partner)} <Badge state={partner.status} />
          </>
        }
        back={{ href: "/dashboard/partners", label: "Partners" }}
        actions={
          <>
            <a class="button" href={`/dashboard/partners/${partner.id}/edit`}>
              Edit
            </a>
            {partner.status === "deactivated" ? null : (
              <a class="button danger" href={`/dashboard/partners/${partner.id}/deactivate`}>
                Deactivate
              </a>
            )}
          </>
        }
      />
      <dl class="stats">
        <Stat label="Clicks" value={<Count of={clicks} />} />
        <Stat label="Commissions" value={<Count of={own?.total_commissions ?? 0} />} />
        <Stat label="Earned" value={<Money cents={own?.total_earned_cents ?? 0} currency={program.currency} />} />
        <Stat
          label="To be paid"
          value={<Money cents={(own?.pending_cents ?? 0) + (own?.approved_cents ?? 0)} currency={program.currency} />}
          note={`${money(own?.approved_cents ?? 0)} of it approved`}
        />
      </dl>
      {others.length > 0 ? (
        <section class="card flush">
          <h2>Other currencies</h2>
          <Table
            label="Earned in other currencies"
            columns={[
              { label: "Currency" },
              { label: "Commissions", align: "end" },
              { label: "Earned", align: "end" },
              { label: "Paid", align: "end" },
            ]}
            rows={others.map((row) => [
              row.currency,
              <Count of={row.total_commissions} />,
              <Money cents={row.total_earned_cents} currency={row.currency} />,
              <Money cents={row.paid_cents} currency={row.currency} />,
            ])}
          />
        </section>
      ) : null}
      <div class="grid">
        <section class="card">
          <h2>Details</h2>
          <Facts
            rows={[
              ["E-mail", partner.email],
              ["Slug", <code>{partner.slug}</code>],
              [
                "Rate",
                partner.commission_pct === null
                  ? `${program.default_commission_pct}\u00a0% (the program's)`
                  : `${partner.commission_pct}\u00a0%`,
              ],
              ["Paid by", payoutMethodText(partner.payout_method)],
              partner.payout_email === null ? null : ["Wallet e-mail", partner.payout_email],
              partner.provider_a_account_id === null
                ? null
                : ["Provider A account", <code>{partner.provider_a_account_id}</code>],
              ["Added", <When at={partner.created_at} />],
              partner.metadata === null
                ? null
                : ["Metadata", <code class="wrap">{JSON.stringify(partner.metadata)}</code>],
            ]}
          />
          <p class="actions more">
            <a href={`/dashboard/commissions?partner_id=${partner.id}`}>Commissions</a>
            <a href={`/dashboard/payouts?partner_id=${partner.id}`}>Payouts</a>
            <a href={`/dashboard/payments?partner_id=${partner.id}`}>Payments</a>
          </p>
        </section>
        <section class="card">
          <h2>Links</h2>
          <p class="muted small">To your site, for pages that carry the script:</p>
          <CopyLine label="referral link" text={referralLink(program, partner.slug)} />
          <p class="muted small">Through us, where no script runs (e-mails, printed codes):</p>
          <CopyLine label="redirect link" text={redirectLink(origin, program, partner.slug)} />
        </section>
        <section class="card">
          <DailyPlot
            title="Clicks, 30 days"
            tone="one"
            points={overview.clicks}
            format={countText}
            total={countText(overview.clicks.reduce((sum, { value }) => sum + value, 0))}
          />
        </section>
        <section class="card">
          <DailyPlot
            title="Commissions, 30 days"
            tone="three"
            points={overview.commissions}
            format={money}
            total={money(overview.commissions.reduce((sum, { value }) => sum + value, 0))}
          />
        </section>
      </div>
    </>
  );
}
