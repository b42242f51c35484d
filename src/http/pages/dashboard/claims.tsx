import type { Context } from "hono";
import { getClaim, listClaims } from "../../../core/claims/claims.ts";
import { declineClaim, grantClaim } from "../../../core/claims/decide.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import type { SaleClaim } from "../../../core/kernel/rows.ts";
import type { ClaimView } from "../../../core/kernel/views.ts";
import { readPartnerNames, type PartnerName } from "../../../core/partners/display-names.ts";
import { CLAIM_STATUSES, MAX_CLAIM_NOTE } from "../../../domain/claim.ts";
import { claimDecline, claimGrant } from "../../api/claims.ts";
import { claimQuery } from "../../queries.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { dateColumn, partnerColumn, textColumn, timeColumn, type ListOf, statusColumn } from "../list.tsx";
import { CLAIM_TEXTS, SaleOf } from "../parts/claim-words.tsx";
import { Badge, capitalized, When } from "../parts/figures.tsx";
import { ActionButton, Field, Form, TextArea, Actions } from "../parts/form.tsx";
import { partnerText } from "../parts/partner.tsx";
import { Empty, Facts } from "../parts/table.tsx";
import { Trace } from "../parts/trace.tsx";
import { IfMay } from "../rights.tsx";
import { act, type Sent } from "../act.ts";
import { FLASH, addressWithNote } from "../flash.ts";
import { listPage } from "../list-page.tsx";
import { Refused } from "../parts/notice.tsx";
import { choice } from "../parts/filter-fields.tsx";

const AT = "/dashboard/claims";

export type Listed = Pick<
  ClaimView,
  | ("id" | "partner_id" | "status" | "order_id" | "day" | "email_domain" | "payment_id" | "note")
  | ("created_at" | "decided_at")
>;

const LIST: ListOf<typeof claimQuery, Listed> = {
  name: "claims",
  label: "Claims",
  query: claimQuery,
  read: async (c, filter) => parsePage(await listClaims(c.var.ctx, filter)),
  partnerOf: (claim) => claim.partner_id,
  sort: "created_at",
  columns: [
    {
      ...partnerColumn<Listed>({ href: ({ id }) => `${AT}/${id}`, csv: { claim_id: "id" } }),
      sort: "ascending",
    },
    {
      key: "sale",
      label: "Sale",
      cell: (claim) => <SaleOf claim={claim} />,
      csv: { order_id: "order_id", day: "day", email_domain: "email_domain" },
    },
    textColumn("payment_id", "Payment"),
    textColumn("note", "Note"),
    timeColumn("decided_at", "Decided"),
    { ...statusColumn("State", CLAIM_TEXTS), sort: "ascending" },
    dateColumn("Sent", "created_at"),
  ],
};

/** `/dashboard/claims`: missing sales that partners report, each decided beside the payments that may match. */
export const claims = listPage(LIST, {
  at: AT,
  head: { lede: "Sales that partners report as missing." },
  filter: [choice("status", "State", CLAIM_STATUSES, (status) => capitalized(CLAIM_TEXTS[status]))],
  presets: [{ label: "Open", query: { status: "open" } }],
  empty: {
    title: "No claims yet",
    children: "If a partner reports a missing sale in the portal, the claim appears here.",
    action: (
      <a class="button" href="/dashboard/payments?outcome=no_ref">
        See payments without a partner
      </a>
    ),
  },
})
  .get("/:id", (c) => claimPage(c, c.req.param("id")))
  .post("/:id/grant", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: claimGrant,
      input: (fields) => ({ payment_id: fields.text("payment_id") || undefined }),
      verb: async (value) => {
        await grantClaim(c.var.ctx, id, value);
        return addressWithNote(`${AT}/${id}`, "granted");
      },
      page: (sent) => claimPage(c, id, sent),
    });
  })
  .post("/:id/decline", (c) => {
    const id = c.req.param("id");
    return act(c, {
      schema: claimDecline,
      input: (fields) => ({ note: fields.raw("note").trim() || null }),
      verb: async (value) => {
        await declineClaim(c.var.ctx, id, value);
        return addressWithNote(`${AT}/${id}`, "declined");
      },
      page: (sent) => claimPage(c, id, sent),
    });
  });

async function claimPage(c: Context<PageEnv>, id: string, sent?: Sent) {
  const { claim, payments } = await getClaim(c.var.ctx, id);
  const names = await readPartnerNames(c.var.ctx, [
    claim.partner_id,
    ...payments.map(({ payment }) => payment.partner_id),
  ]);
  const partner = names.get(claim.partner_id);
  const isOpen = claim.status === "open";
  return framed(
    c,
    {
      title: "Claim",
      at: AT,
      problems: sent?.problems,
      done: FLASH.claims,
      head: { title: partner ? `Claim of ${partnerText(partner)}` : "Claim", back: { href: AT, label: "Claims" } },
    },
    <>
      <Refused problems={sent?.problems} />
      <ClaimFacts claim={claim} partner={partner} />
      {payments.length === 0 ? (
        <section class="card flush">
          <Empty title="No payment was found">
            No payment with this order id can be assigned to a partner, and no payment without a partner matches this
            day and domain. If you know the payment, enter its id below; otherwise decline.
          </Empty>
        </section>
      ) : null}
      {payments.map(({ payment, commissions }) => {
        const whose = payment.partner_id === null ? undefined : names.get(payment.partner_id);
        return (
          <section class="card">
            <h2>
              <a href={`/dashboard/payments/${payment.id}`}>
                Payment of <When at={payment.created_at} />
              </a>
            </h2>
            <Trace
              payment={payment}
              rows={commissions}
              partner={whose ? { id: whose.id, name: partnerText(whose) } : null}
            />
            {isOpen ? (
              <IfMay right="manage">
                <p class="more">
                  <ActionButton
                    action={`${AT}/${id}/grant`}
                    label="Approve"
                    values={{ payment_id: payment.id }}
                    kind="primary"
                  />
                </p>
              </IfMay>
            ) : null}
          </section>
        );
      })}
      {isOpen ? <Decision at={`${AT}/${id}`} isOrder={claim.order_id !== null} sent={sent} /> : null}
    </>,
  );
}

export type Detailed = Pick<
  SaleClaim,
  | ("id" | "partner_id" | "status" | "order_id" | "day" | "email_domain" | "note")
  | ("created_at" | "decided_at" | "payment_id")
>;

function ClaimFacts({ claim, partner }: { claim: Detailed; partner: PartnerName | undefined }) {
  return (
    <section class="card">
      <h2>Claim</h2>
      <Facts
        rows={[
          ["Sale", <SaleOf claim={claim} />],
          [
            "Partner",
            <a href={`/dashboard/partners/${claim.partner_id}`}>{partner ? partnerText(partner) : claim.partner_id}</a>,
          ],
          ["State", <Badge state={claim.status} label={CLAIM_TEXTS[claim.status]} />],
          ["Sent", <When at={claim.created_at} />],
          claim.decided_at === null ? null : ["Decided", <When at={claim.decided_at} />],
          claim.payment_id === null
            ? null
            : ["Payment", <a href={`/dashboard/payments/${claim.payment_id}`}>Open the payment</a>],
          claim.note === null ? null : ["Note to the partner", claim.note],
          ["Id", <code>{claim.id}</code>],
        ]}
      />
    </section>
  );
}

/** The notice about the text that the partner reads after a decline, by order id and by day (CLAIM-3). */
const OUTCOME_SHOWN = "The partner also sees the payment's outcome, or that we found no payment.";
const OUTCOME_HIDDEN = "The partner sees that you declined the claim, and your note.";

interface DecisionProps {
  at: string;
  isOrder: boolean;
  sent: Sent | undefined;
}

function Decision({ at, isOrder, sent }: DecisionProps) {
  return (
    <>
      <Form action={`${at}/grant`} class="card stack form-narrow" values={sent?.fields}>
        <h2>Another payment</h2>
        <Field
          name="payment_id"
          label="Id of the payment"
          problems={sent?.problems}
          required={true}
          maxlength={64}
          hint="It begins with pmt_. You find it in the address of the payment's page."
        />
        <Actions submit="Approve" kind="plain" />
      </Form>
      <Form action={`${at}/decline`} class="card stack form-narrow" values={sent?.fields}>
        <h2>Decline</h2>
        <TextArea
          name="note"
          label="Note to the partner"
          problems={sent?.problems}
          hint={`At most ${MAX_CLAIM_NOTE} characters. ${isOrder ? OUTCOME_SHOWN : OUTCOME_HIDDEN}`}
        />
        <Actions submit="Decline" kind="danger" />
      </Form>
    </>
  );
}
