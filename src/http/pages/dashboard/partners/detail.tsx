import type { PartnerOverview } from "../../../../core/overview/overview.ts";
import type { Group, Partner, Program } from "../../../../core/kernel/rows.ts";
import type { CurrencyStats } from "../../../../core/kernel/views.ts";
import { amountOf, sumUp } from "../../../../domain/amount.ts";
import { PageHead } from "../../layout.tsx";
import { CopyLine } from "../../parts/copy.tsx";
import { ActionButton } from "../../parts/form.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Badge, Count, countText, plural, Stat, Sums, sumsText, When } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { CountPlot, MoneyPlots, countOf } from "../../parts/plot.tsx";
import { UtcDays } from "../../parts/spans.tsx";
import { referralLink, redirectLink } from "../../parts/snippets.ts";
import { Facts } from "../../parts/table.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { PARTNER, PARTNER_TEXTS, type PartnerText } from "../../../../resources/partner.ts";
import { ActionLink, IfMay, Masked } from "../../rights.tsx";

interface PartnerDetailProps {
  partner: Partner;
  group: Group;
  stats: readonly CurrencyStats[];
  clicks: number;
  overview: PartnerOverview;
  program: Program;
  origin: string;
}

const STATUS_TEXTS = {
  invited:
    "Invited: payments through this partner are held until the partner signs in or you activate them. Then they earn their commissions.",
  deactivated:
    "Deactivated: the partner cannot sign in, and new payments earn nothing. You can reactivate the partner at any time.",
};

type SummedField = Extract<keyof CurrencyStats, `${string}_cents`>;

/** A partner: results, contact and payout details. */
export function PartnerDetail({ partner, group, stats, clicks, overview, program, origin }: PartnerDetailProps) {
  const sum = (...fields: SummedField[]) =>
    sumUp(
      stats.flatMap((row) => fields.map((field) => amountOf(row, row[field]))),
      program,
    );
  const approved = sum("approved_cents");
  return (
    <>
      <PageHead
        title={
          <>
            {partnerText(partner)} <Badge state={partner.status} />
          </>
        }
        back={{ href: "/dashboard/partners", label: "Partners" }}
        actions={<PartnerActions partner={partner} />}
      />
      {partner.status === "active" ? null : (
        <Notice tone="warn">
          <p>{STATUS_TEXTS[partner.status]}</p>
        </Notice>
      )}
      <RefusedAddress refused={overview.refused} />
      <dl class="stats">
        <Stat
          label="Clicks"
          value={<Count of={clicks} />}
          note={plural(
            stats.reduce((total, row) => total + row.total_commissions, 0),
            "commission",
          )}
        />
        <Stat label="Earned" value={<Sums of={sum("total_earned_cents")} />} />
        <Stat
          label="To be paid"
          value={<Sums of={sum("pending_cents", "approved_cents")} />}
          note={`${sumsText(approved)} of it approved`}
        />
        <Stat label="Paid" value={<Sums of={sum("paid_cents")} />} />
      </dl>
      <div class="grid">
        <PartnerFacts partner={partner} group={group} program={program} />
        <section class="card">
          <h2>Links</h2>
          <p class="muted small">To your site, for pages that carry the script:</p>
          <CopyLine label="referral link" text={referralLink(program, partner.slug)} />
          <p class="muted small">Through us, for places without the script (e-mails, printed codes):</p>
          <CopyLine label="redirect link" text={redirectLink(origin, program, partner.slug)} />
        </section>
      </div>
      <UtcDays />
      <div class="grid pairs">
        <section class="card">
          <CountPlot
            title="Clicks, 30 days"
            tone="one"
            points={overview.clicks}
            total={countText(countOf(overview.clicks))}
          />
        </section>
        <MoneyPlots title="Commissions" days={30} tone="three" amounts={overview.commissions} />
      </div>
    </>
  );
}

function PartnerActions({ partner }: { partner: Partner }) {
  return (
    <>
      <ActionLink class="button" href={`/dashboard/partners/${partner.id}/edit`}>
        Edit
      </ActionLink>
      {partner.status === "active" ? (
        <ActionLink class="button" href={`/dashboard/commissions/new?partner_id=${partner.id}`}>
          Add commission
        </ActionLink>
      ) : (
        <ActionButton
          action={`/dashboard/partners/${partner.id}/activate`}
          label={partner.status === "deactivated" ? "Reactivate" : "Activate"}
          kind="primary"
        />
      )}
      {partner.status === "invited" ? (
        <ActionButton action={`/dashboard/partners/${partner.id}/invite`} label="Send invitation" />
      ) : null}
      {partner.status === "deactivated" ? null : (
        <ActionLink class="button danger" href={`/dashboard/partners/${partner.id}/deactivate`}>
          Deactivate
        </ActionLink>
      )}
    </>
  );
}

const SEALED = [
  ["bank_account", "Bank account"],
  ["crypto_address", "Crypto address"],
] as const;

const IN_TITLE: ReadonlySet<PartnerText> = new Set(["first_name", "last_name"]);

export type Detailed = Pick<
  Partner,
  | ("id" | "email" | "slug" | "commission_pct" | "metadata" | "created_at")
  | ("payout_method" | "payout_email" | "provider_a_account_id" | "bank_account" | "crypto_address")
  | PartnerText
>;

function rateOf(partner: Detailed, group: Group, program: Program): string {
  if (partner.commission_pct !== null) return `${partner.commission_pct}\u00a0%`;
  if (group.commission_pct !== null) return `${group.commission_pct}\u00a0% (the group's)`;
  return `${program.default_commission_pct}\u00a0% (the program's)`;
}

function PartnerFacts({ partner, group, program }: { partner: Detailed; group: Group; program: Program }) {
  return (
    <section class="card">
      <h2>Details</h2>
      <Facts
        rows={[
          ["E-mail", partner.email],
          ["Slug", <code>{partner.slug}</code>],
          ...PARTNER_TEXTS.map((column) =>
            IN_TITLE.has(column) || partner[column] === null
              ? null
              : ([PARTNER[column].form.label, partner[column]] as const),
          ),
          [PARTNER.group_id.form.label, <a href={`/dashboard/partners/groups/${group.id}`}>{group.name}</a>],
          ["Rate", rateOf(partner, group, program)],
          [PARTNER.payout_method.form.label, payoutMethodText(partner.payout_method)],
          partner.payout_email === null
            ? null
            : [PARTNER.payout_email.form.label, <Masked>{partner.payout_email}</Masked>],
          partner.provider_a_account_id === null
            ? null
            : [
                `${TRANSFER_SERVICE} account`,
                <>
                  <Masked>
                    <code>{partner.provider_a_account_id}</code>
                  </Masked>{" "}
                  <ActionLink class="small" href={`/dashboard/partners/${partner.id}/forget-account`}>
                    Disconnect
                  </ActionLink>
                </>,
              ],
          ...SEALED.map(([column, label]) =>
            partner[column] === null
              ? null
              : ([
                  label,
                  <>
                    <Masked>{partner[column]}</Masked>{" "}
                    <ActionLink class="small" href={`/dashboard/partners/${partner.id}/payout-details`}>
                      Show in full
                    </ActionLink>
                  </>,
                ] as const),
          ),
          ["Added", <When at={partner.created_at} />],
          partner.metadata === null ? null : ["Metadata", <code class="wrap">{JSON.stringify(partner.metadata)}</code>],
        ]}
      />
      <p class="actions more">
        <a href={`/dashboard/commissions?partner_id=${partner.id}`}>Commissions</a>
        <a href={`/dashboard/payouts?partner_id=${partner.id}`}>Payouts</a>
        <a href={`/dashboard/payments?partner_id=${partner.id}`}>Payments</a>
        <a href={`/dashboard/partners/${partner.id}/codes`}>Promotion codes</a>
      </p>
    </section>
  );
}

function RefusedAddress({ refused }: Pick<PartnerOverview, "refused">) {
  if (refused === null) return null;
  return (
    <Notice tone="warn">
      <p>
        E-mails to <Masked>{refused.recipient}</Masked> are refused
        {refused.reason === null ? null : <IfMay right="details"> ({refused.reason})</IfMay>}: ask the partner for
        another address, or have this one removed from the suppression list.
      </p>
    </Notice>
  );
}
