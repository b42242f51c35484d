import { slugKey } from "../../../../domain/partner.ts";
import type { PartnerOverview } from "../../../../core/overview/overview.ts";
import type { Group, Partner, Program } from "../../../../core/kernel/rows.ts";
import type { CurrencyStats } from "../../../../core/kernel/views.ts";
import { amountOf, sumUp } from "../../../../domain/amount.ts";
import { iso } from "../../../../lib/time.ts";
import { PageHead } from "../../layout.tsx";
import type { Children } from "../../page.tsx";
import { CopyLine } from "../../parts/copy.tsx";
import { ActionButton, Form } from "../../parts/form.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Badge, Count, plural, Stat, Sums, sumsText, When } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { referralLink, redirectLink } from "../../parts/snippets.ts";
import { Facts } from "../../parts/table.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { PARTNER, PARTNER_TEXTS, type PartnerText } from "../../../../resources/partner.ts";
import { ActionLink, IfMay, Masked } from "../../rights.tsx";

interface PartnerDetailProps extends Children {
  partner: Partner;
  group: Group;
  stats: readonly CurrencyStats[];
  clicks: number;
  /** Every slug that leads to the partner, in lower case. */
  slugs: readonly string[];
  overview: PartnerOverview;
  program: Program;
  origin: string;
  now: number;
}

const STATUS_TEXTS = {
  invited:
    "Invited: payments through this partner are held until the partner signs in or you activate them. Then they earn their commissions.",
  deactivated:
    "Deactivated: the partner cannot sign in, and new payments earn nothing. You can reactivate the partner at any time.",
};

type SummedField = Extract<keyof CurrencyStats, `${string}_cents`>;

/** A partner: results, contact and payout details. */
export function PartnerDetail(props: PartnerDetailProps) {
  const { partner, group, stats, slugs, clicks, overview, program, origin, now, children } = props;
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
        actions={<PartnerActions partner={partner} overview={overview} />}
      />
      {partner.status === "active" ? null : (
        <Notice tone="warn">
          <p>{STATUS_TEXTS[partner.status]}</p>
        </Notice>
      )}
      <HoldNotice partner={partner} now={now} />
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
        <Links {...{ partner, slugs, program, origin }} />
      </div>
      {children}
    </>
  );
}

function Links({
  partner,
  slugs,
  program,
  origin,
}: Pick<PartnerDetailProps, "partner" | "slugs" | "program" | "origin">) {
  const others = slugs.filter((slug) => slug !== slugKey(partner.slug));
  return (
    <section class="card">
      <h2>Links</h2>
      <p class="muted small">To your site, for pages that carry the script:</p>
      <CopyLine label="referral link" text={referralLink(program, partner.slug)} />
      <p class="muted small">Through us, for places without the script (e-mails, printed codes):</p>
      <CopyLine label="redirect link" text={redirectLink(origin, program, partner.slug)} />
      {others.length === 0 ? null : (
        <p class="muted small">
          Links with these names lead to the partner too:{" "}
          {others.map((slug, i) => (
            <>
              {i === 0 ? "" : ", "}
              <code>{slug}</code>
            </>
          ))}
        </p>
      )}
    </section>
  );
}

/** The next step of the partner's status; the rest is in a menu. */
function PartnerActions({
  partner: { id, status },
  overview: { invited_at },
}: Pick<PartnerDetailProps, "partner" | "overview">) {
  const at = `/dashboard/partners/${id}`;
  const edit = (kind: string) => (
    <ActionLink class={kind} href={`${at}/edit`}>
      Edit
    </ActionLink>
  );
  const deactivate = (
    <ActionLink class="item danger" href={`${at}/deactivate`}>
      Deactivate
    </ActionLink>
  );
  const activate = (label: string, kind?: "primary") => (
    <ActionButton action={`${at}/activate`} label={label} {...(kind ? { kind } : {})} />
  );
  if (status === "deactivated") return [edit("button"), activate("Reactivate", "primary")];
  if (status === "invited") {
    return (
      <>
        {invited_at === null ? (
          <ActionButton action={`${at}/invite`} label="Send invitation" kind="primary" />
        ) : (
          <>
            <span class="muted">
              Invitation sent <When at={invited_at} />
            </span>
            <ActionButton action={`${at}/invite`} label="Resend" />
          </>
        )}
        <Menu items={[edit("item"), activate("Activate"), deactivate]} />
      </>
    );
  }
  return (
    <>
      <ActionLink class="button" href={`/dashboard/commissions/new?partner_id=${id}`}>
        Add commission
      </ActionLink>
      {edit("button")}
      <Menu items={[deactivate]} />
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
  | ("payout_method" | "payout_email" | "provider_a_account_id" | "bank_account" | "crypto_address" | "tax_data_id")
  | PartnerText
>;

function rateOf(partner: Detailed, group: Group, program: Program): string {
  if (partner.commission_pct !== null) return `${partner.commission_pct}\u00a0%`;
  if (group.commission_pct !== null) return `${group.commission_pct}\u00a0% (the group's)`;
  return `${program.default_commission_pct}\u00a0% (the program's)`;
}

/** The metadata without the mark that sample data has; null without any other. */
function metadataText({ metadata }: Detailed): string | null {
  const { sample_until, ...own } = metadata ?? {};
  return metadata === null || (sample_until !== undefined && Object.keys(own).length === 0)
    ? null
    : JSON.stringify(own);
}

function PartnerFacts({ partner, group, program }: { partner: Detailed; group: Group; program: Program }) {
  const metadata = metadataText(partner);
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
          [
            "Tax data",
            <ActionLink href={`/dashboard/partners/${partner.id}/tax-data`}>
              {partner.tax_data_id === null ? "None" : "Show in full"}
            </ActionLink>,
          ],
          ["Added", <When at={partner.created_at} />],
          metadata === null ? null : ["Metadata", <code class="wrap">{metadata}</code>],
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

/** The hold of the partner's payouts, and its release (OUT-26). */
function HoldNotice({ partner, now }: { partner: Partner; now: number }) {
  const { id, payouts_held_until: until } = partner;
  if (until === null || until <= iso(now)) return null;
  return (
    <Notice tone="warn">
      <p>
        Payouts to this partner are held until <When at={until} />, because their destination changed.{" "}
        <a href="/dashboard/events?type=partner.updated">See the change</a>. Confirm it with the partner by phone.
      </p>
      <Form action={`/dashboard/partners/${id}/release-hold`} class="inline" to="release the hold">
        <button type="submit" class="quiet">
          Release the hold
        </button>
      </Form>
    </Notice>
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
