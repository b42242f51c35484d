import type { PartnerName } from "../../../../core/partners/display-names.ts";
import type { Commission, Payout, Program } from "../../../../core/kernel/rows.ts";
import type { RecipientChange } from "../../../../core/payouts/recipient.ts";
import { TRANSFER_METHOD } from "../../../../domain/partner.ts";
import { canMove } from "../../../../domain/payout.ts";
import { PageHead } from "../../layout.tsx";
import { Badge, countText, Money, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { Empty, Facts, Table } from "../../parts/table.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { Conversions } from "../../parts/statement.tsx";
import { isOffered, missingForTransfer } from "../../parts/payout-move.ts";
import { kindText } from "../../parts/words.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { ActionLink, Masked } from "../../rights.tsx";
import { providerSettings } from "../settings/tabs.tsx";

const AT = "/dashboard/payouts";
/** A page stays small; the list of commissions has pages for all. */
const SHOWN = 50;

interface PayoutDetailProps {
  payout: Payout;
  commissions: readonly Commission[];
  recipientChange: RecipientChange | null;
  partner: PartnerName | undefined;
  program: Program;
}

export function PayoutDetail({ payout, commissions, recipientChange, partner, program }: PayoutDetailProps) {
  const missing = payout.method === TRANSFER_METHOD ? missingForTransfer(payout, program) : null;
  const isOpen = canMove(payout.status, "pay");
  return (
    <>
      <PageHead
        title={
          <>
            Payout of <Money of={payout} /> <Badge state={payout.status} />
          </>
        }
        back={{ href: AT, label: "Payouts" }}
        actions={<Actions payout={payout} program={program} />}
      />
      {payout.failure_code === null ? null : (
        <Notice tone={payout.status === "failed" ? "bad" : "warn"}>
          <p>
            {payout.failure_message === null ? (
              "The provider gave no reason."
            ) : (
              <Masked>{payout.failure_message}</Masked>
            )}{" "}
            <code>{payout.failure_code}</code>
          </p>
        </Notice>
      )}
      {missing !== null && isOpen && payout.recipient !== null ? (
        <Notice tone="warn">
          <p>
            {missing} <a href={providerSettings(TRANSFER_METHOD)}>Open the settings</a>
          </p>
        </Notice>
      ) : null}
      {payout.held_until === null ? null : (
        <Notice tone="warn">
          <p>
            Held until <When at={payout.held_until} />: the destination of the partner's payouts changed.{" "}
            <a href={`/dashboard/partners/${payout.partner_id}`}>Check the partner</a>
          </p>
        </Notice>
      )}
      <PayoutFacts payout={payout} partner={partner} recipientChange={recipientChange} />
      <Conversions payout={payout} />
      <CommissionsIn payout={payout} commissions={commissions} />
    </>
  );
}

export type Detailed = Pick<
  Payout,
  | ("id" | "status" | "method" | "recipient" | "reference")
  | ("period_start" | "period_end" | "due_at" | "created_at" | "paid_at")
>;

interface PayoutFactsProps extends Pick<PayoutDetailProps, "partner" | "recipientChange"> {
  payout: Detailed;
}

function PayoutFacts({ payout, partner, recipientChange }: PayoutFactsProps) {
  return (
    <section class="card">
      <h2>Details</h2>
      <Facts
        rows={[
          ["Partner", partner ? <a href={`/dashboard/partners/${partner.id}`}>{partnerText(partner)}</a> : "–"],
          ["Paid by", payoutMethodText(payout.method)],
          ["Goes to", <Recipient payout={payout} change={recipientChange} />],
          [
            "Period",
            <>
              {payout.period_start === null ? "Up to " : <When at={payout.period_start} only="day" />}
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
  );
}

/** The destination was fixed when the payout was prepared, or when the partner first had payout details (OUT-18). */
function Recipient({ payout, change }: { payout: Detailed; change: RecipientChange | null }) {
  const { recipient, status } = payout;
  if (recipient !== null) {
    return (
      <span>
        <Masked>{change?.to ?? recipient}</Masked>
        {change === null ? null : (
          <span class="second">
            Changed: the <a href={`${AT}/${change.before.id}`}>payout before</a> (
            <When at={change.before.created_at} only="day" />) went to {payoutMethodText(change.before.method)},{" "}
            <Masked>{change.from}</Masked>
          </span>
        )}
      </span>
    );
  }
  if (status !== "pending" || payout.recipient !== null) return <>–</>;
  return (
    <>
      Unknown: the partner has no payout details yet. Once they are added, by the partner or by you, this payout goes
      there.
    </>
  );
}

function Actions({ payout, program }: Pick<PayoutDetailProps, "payout" | "program">) {
  const { id, status } = payout;
  const byProvider = isOffered("pay", payout, program);
  return (
    <>
      {byProvider ? (
        <ActionLink class="button primary" href={`${AT}/${id}/pay`}>
          {status === "failed" ? `Try again through ${TRANSFER_SERVICE}` : `Pay through ${TRANSFER_SERVICE}`}
        </ActionLink>
      ) : null}
      {isOffered("mark_paid", payout, program) ? (
        <ActionLink class={byProvider ? "button" : "button primary"} href={`${AT}/${id}/mark-paid`}>
          Mark as paid
        </ActionLink>
      ) : null}
      {isOffered("said_made", payout, program) ? (
        <>
          <ActionLink class="button" href={`${AT}/${id}/was-made`}>
            It was made
          </ActionLink>
          <ActionLink class="button danger" href={`${AT}/${id}/was-not-made`}>
            It was not made
          </ActionLink>
        </>
      ) : null}
      {isOffered("return", payout, program) ? (
        <ActionLink class="button" href={`${AT}/${id}/returned`}>
          Mark as returned
        </ActionLink>
      ) : null}
      {status === "canceled" ? null : (
        <ActionLink class="button" href={`${AT}/${id}/statement`}>
          Statement
        </ActionLink>
      )}
      {isOffered("cancel", payout, program) ? (
        <ActionLink class="button danger" href={`${AT}/${id}/cancel`}>
          Cancel
        </ActionLink>
      ) : null}
    </>
  );
}

function CommissionsIn({ payout, commissions }: Pick<PayoutDetailProps, "payout" | "commissions">) {
  return (
    <section class="card flush">
      <h2>Commissions in it</h2>
      {commissions.length === 0 ? (
        <Empty title="No commissions left">A later payout will pay them.</Empty>
      ) : (
        <>
          <Table
            label="Commissions in this payout"
            columns={[{ label: "Date" }, { label: "Source" }, { label: "Amount", align: "end" }]}
            rows={commissions.slice(0, SHOWN).map((row) => [
              <a href={`/dashboard/commissions/${row.id}`}>
                <When at={row.created_at} />
              </a>,
              kindText(row),
              <Money of={row} />,
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
  );
}
