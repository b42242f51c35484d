import { canBecome } from "../../../../domain/commission.ts";
import type { Commission } from "../../../../core/kernel/rows.ts";
import type { CommissionDetail } from "../../../../core/commissions/detail.ts";
import { PageHead } from "../../layout.tsx";
import { ActionButton, Field, Form, Hidden } from "../../parts/form.tsx";
import { Badge, capitalized, Flag, Money, providerText, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { Facts } from "../../parts/table.tsx";
import { reviewText, Trace, whyText } from "../../parts/trace.tsx";
import { IfMay } from "../../rights.tsx";

const AT = "/dashboard/commissions";

/** A commission: its calculation, its status and its actions. */
export function CommissionDetail({
  story,
  time_zone,
  now,
}: {
  story: CommissionDetail;
  time_zone: string;
  now: string;
}) {
  const { commission, payment, payout } = story;
  const review = reviewText(commission);
  return (
    <>
      <PageHead
        title={
          <>
            Commission of <Money of={commission} /> <Badge state={commission.status} />{" "}
            {commission.flagged ? <Flag label="flagged" /> : null}
          </>
        }
        back={{ href: AT, label: "Commissions" }}
        lede={whyText(commission, payment)}
        actions={
          <IfMay right="money">
            <StatusActions story={story} now={now} />
          </IfMay>
        }
      />
      {review === null ? null : (
        <Notice
          tone="warn"
          undo={
            payout === null ? (
              <ActionButton
                action={`${AT}/${commission.id}`}
                values={{ flagged: "false" }}
                label="Looks fine: unflag"
              />
            ) : null
          }
        >
          <p>
            <strong>Please review this commission.</strong> {review}
          </p>
        </Notice>
      )}
      <HeldNotice story={story} now={now} />
      <div class="grid wide-left">
        <Calculation story={story} time_zone={time_zone} />
        <CommissionFacts story={story} />
      </div>
    </>
  );
}

function Calculation({ story, time_zone }: { story: CommissionDetail; time_zone: string }) {
  const { commission, partner, payment, rows, later_flows } = story;
  return (
    <section class="card">
      <h2>Why this amount</h2>
      {payment ? (
        <Trace
          payment={payment}
          rows={rows}
          current={commission.id}
          partner={partner ? { id: partner.id, name: partnerText(partner) } : null}
          later={{ flows: later_flows, time_zone }}
        />
      ) : (
        <p>{commission.note ?? "It was added by hand."}</p>
      )}
      {commission.source_commission_id === null ? null : (
        <p>
          It corrects <a href={`${AT}/${commission.source_commission_id}`}>an earlier commission</a> that was already
          paid or in a payout.
        </p>
      )}
    </section>
  );
}

/** Warns that a commission is on hold before it is approved (COM-6). */
function HeldNotice({ story: { commission, payout }, now }: { story: CommissionDetail; now: string }) {
  const { status, hold_until } = commission;
  if (payout !== null || !canBecome(status, "approved") || hold_until === null || hold_until <= now) return null;
  return (
    <Notice tone="calm">
      <p>
        On hold until <When at={hold_until} />. You can approve it before then.
      </p>
    </Notice>
  );
}

function StatusActions({ story: { commission, payout }, now }: { story: CommissionDetail; now: string }) {
  const { id, status } = commission;
  if (payout !== null) return null;
  return (
    <>
      {canBecome(status, "approved") ? (
        <ActionButton
          action={`${AT}/${id}`}
          values={{ status: "approved", seen_at: now }}
          label="Approve"
          kind="primary"
        />
      ) : null}
      {canBecome(status, "pending") ? (
        <ActionButton action={`${AT}/${id}`} values={{ status: "pending", seen_at: now }} label="Review again" />
      ) : null}
      {canBecome(status, "rejected") ? (
        <details class="drop">
          <summary class="button danger">Reject</summary>
          <Form action={`${AT}/${id}`} class="drop-body stack">
            <Hidden values={{ status: "rejected", seen_at: now }} />
            <Field name="reason" label="Reason" maxlength={500} hint="The partner sees this." />
            <button type="submit" class="danger">
              Reject this commission
            </button>
          </Form>
        </details>
      ) : null}
    </>
  );
}

export type Detailed = Pick<
  Commission,
  | ("id" | "kind" | "status" | "flagged" | "rejected_reason" | "provider" | "subscription_id")
  | ("created_at" | "approved_at" | "paid_at" | "hold_until")
>;

type FactsProps = Omit<CommissionDetail, "commission"> & { commission: Detailed };

function CommissionFacts({ story: { commission, partner, payment, payout } }: { story: FactsProps }) {
  return (
    <section class="card">
      <h2>Details</h2>
      <Facts
        rows={[
          ["Partner", partner ? <a href={`/dashboard/partners/${partner.id}`}>{partnerText(partner)}</a> : "–"],
          ["Kind", capitalized(commission.kind)],
          ["Date", <When at={commission.created_at} />],
          commission.hold_until === null ? null : ["Held until", <When at={commission.hold_until} />],
          commission.approved_at === null ? null : ["Approved", <When at={commission.approved_at} />],
          commission.paid_at === null ? null : ["Paid", <When at={commission.paid_at} />],
          commission.rejected_reason === null ? null : ["Rejected because", commission.rejected_reason],
          [
            "Payout",
            payout ? (
              <>
                <a href={`/dashboard/payouts/${payout.id}`}>
                  <When at={payout.created_at} only="day" />
                </a>{" "}
                <Badge state={payout.status} />
              </>
            ) : (
              "Not in a payout yet"
            ),
          ],
          commission.provider === null ? null : ["Provider", providerText(commission.provider)],
          commission.subscription_id === null ? null : ["Subscription", <code>{commission.subscription_id}</code>],
          payment === null ? null : ["Payment", <a href={`/dashboard/payments/${payment.id}`}>Open the payment</a>],
          ["Id", <code>{commission.id}</code>],
        ]}
      />
      {commission.flagged || payout !== null || commission.status === "paid" ? null : (
        <IfMay right="money">
          <p class="more">
            <ActionButton action={`${AT}/${commission.id}`} values={{ flagged: "true" }} label="Flag for review" />
          </p>
        </IfMay>
      )}
    </section>
  );
}
