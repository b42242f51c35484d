import type { Commission } from "../../../core/ledger.ts";
import type { PartnerName } from "../../../core/names.ts";
import type { Payout } from "../../../core/payout-rows.ts";
import { PageHead } from "../layout.tsx";
import { Badge, countText, Money, providerText, When } from "../parts/figures.tsx";
import { Notice } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { Empty, Facts, Table } from "../parts/table.tsx";
import { payoutMethodText } from "../parts/payout-method.ts";
import { isOffered } from "../parts/payout-move.ts";

const AT = "/dashboard/payouts";
/** A page stays small; the list of commissions pages through all. */
const SHOWN = 50;

interface PayoutDetailProps {
  payout: Payout;
  commissions: readonly Commission[];
  partner: PartnerName | undefined;
}

export function PayoutDetail({ payout, commissions, partner }: PayoutDetailProps) {
  return (
    <>
      <PageHead
        title={
          <>
            Payout of <Money cents={payout.amount_cents} currency={payout.currency} /> <Badge state={payout.status} />
          </>
        }
        back={{ href: AT, label: "Payouts" }}
        actions={<Actions payout={payout} />}
      />
      {payout.failure_code === null ? null : (
        <Notice tone={payout.status === "failed" ? "bad" : "warn"}>
          <p>
            {payout.failure_message ?? "The provider gave no reason."} <code>{payout.failure_code}</code>
          </p>
        </Notice>
      )}
      <section class="card">
        <h2>Details</h2>
        <Facts
          rows={[
            ["Partner", partner ? <a href={`/dashboard/partners/${partner.id}`}>{partnerText(partner)}</a> : "–"],
            ["Paid by", payoutMethodText(payout.method)],
            [
              "Period",
              <>
                {payout.period_start === null ? "up to " : <When at={payout.period_start} only="day" />}
                {payout.period_start === null ? "" : " to "}
                <When at={payout.period_end} />
              </>,
            ],
            ["Due", <When at={payout.due_at} only="day" />],
            ["Prepared", <When at={payout.created_at} />],
            payout.paid_at === null ? null : ["Paid", <When at={payout.paid_at} />],
            payout.reference === null ? null : ["Reference", <code>{payout.reference}</code>],
            ["Id", <code>{payout.id}</code>],
          ]}
        />
      </section>
      <section class="card flush">
        <h2>Commissions in it</h2>
        {commissions.length === 0 ? (
          <Empty title="It holds none any more">They went back to be paid by a later payout.</Empty>
        ) : (
          <>
            <Table
              label="Commissions in this payout"
              columns={[{ label: "Dated" }, { label: "Kind" }, { label: "Amount", align: "end" }]}
              rows={commissions.slice(0, SHOWN).map((row) => [
                <a href={`/dashboard/commissions/${row.id}`}>
                  <When at={row.created_at} />
                </a>,
                row.kind === "sale" ? providerText(row.provider) : row.kind,
                <Money cents={row.amount_cents} currency={row.currency} />,
              ])}
            />
            {payout.commission_count > SHOWN ? (
              <p class="table-note">
                The newest {SHOWN} of {countText(payout.commission_count)}.{" "}
                <a href={`/dashboard/commissions?payout_id=${payout.id}`}>See all</a>
              </p>
            ) : null}
          </>
        )}
      </section>
    </>
  );
}

function Actions({ payout }: { payout: Payout }) {
  const { id, status } = payout;
  const byProvider = isOffered(payout, "pay");
  return (
    <>
      {byProvider ? (
        <a class="button primary" href={`${AT}/${id}/pay`}>
          {status === "failed" ? "Try again through provider A" : "Pay through provider A"}
        </a>
      ) : null}
      {isOffered(payout, "mark_paid") ? (
        <a class={byProvider ? "button" : "button primary"} href={`${AT}/${id}/mark-paid`}>
          Mark as paid
        </a>
      ) : null}
      {isOffered(payout, "cancel") ? (
        <a class="button danger" href={`${AT}/${id}/cancel`}>
          Cancel
        </a>
      ) : null}
    </>
  );
}
