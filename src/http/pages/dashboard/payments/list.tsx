import type { PaymentView } from "../../../../core/kernel/views.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import { getPayment, listPayments, reprocessPayment } from "../../../../core/ledger/payments.ts";
import { OUTCOMES, type Outcome, COUNTED_ELSEWHERE } from "../../../../domain/payment.ts";
import { amountOf } from "../../../../domain/amount.ts";
import { paymentQuery } from "../../../queries.ts";
import { framed } from "../../framed.tsx";
import { amountColumn, dateColumn, partnerColumn, textColumn, type ListOf } from "../../list.tsx";
import { ActionButton } from "../../parts/form.tsx";
import { Badge, capitalized, Money, providerText } from "../../parts/figures.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { choice, PAYMENT_SEARCH, PROVIDER_FIELD, RANGE_FIELDS } from "../../parts/filter-fields.tsx";
import { Trace } from "../../parts/trace.tsx";
import { EVENT_TEXTS, OUTCOME_TEXTS } from "../../parts/words.ts";
import { FLASH, addressWithNote } from "../../flash.ts";
import { listPage } from "../../list-page.tsx";
import { SETTINGS } from "../settings/tabs.tsx";

const AT = "/dashboard/payments";

/** Outcomes that a recalculation does not change. */
const FINAL: readonly Outcome[] = ["commission", ...COUNTED_ELSEWHERE];

export type Listed = Pick<
  PaymentView,
  | ("id" | "provider" | "outcome" | "partner_id" | "currency" | "txn_amount_cents" | "created_at" | "event")
  | ("provider_transaction_id" | "ref" | "adjusted_cents" | "customer_email" | "customer_id" | "subscription_id")
>;

/** A payment is named by its customer or, without one, by its order. */
function PaymentCell({ payment }: { payment: Listed }) {
  return (
    <span class="address">
      <a href={`${AT}/${payment.id}`}>
        {payment.customer_email ?? payment.customer_id ?? payment.provider_transaction_id}
      </a>
      <span class="second">
        {payment.event === "lead_created" ? EVENT_TEXTS.lead_created.name : providerText(payment.provider)}
      </span>
    </span>
  );
}

export function OutcomeCell({ outcome }: Pick<Listed, "outcome">) {
  if (outcome === null) return <Badge state="pending" />;
  return <Badge state={outcome} label={OUTCOME_TEXTS[outcome].short} />;
}

const LIST: ListOf<typeof paymentQuery, Listed> = {
  name: "payments",
  label: "Payments",
  query: paymentQuery,
  read: async (c, filter) => parsePage(await listPayments(c.var.ctx, filter)),
  partnerOf: (payment) => payment.partner_id,
  sort: "created_at",
  columns: [
    {
      key: "customer",
      label: "Customer",
      sort: "ascending",
      cell: (payment) => <PaymentCell payment={payment} />,
      csv: { payment_id: "id", customer_email: "customer_email", event: "event", provider: "provider" },
    },
    {
      ...amountColumn<Listed>("net", "Net of tax", (payment) => payment.txn_amount_cents, {
        sum: true,
        isShown: ({ event }) => event !== "lead_created",
      }),
      sort: "descending",
    },
    { ...partnerColumn(), sort: "ascending" },
    textColumn("provider_transaction_id", "Order"),
    textColumn("customer_id", "Customer id"),
    textColumn("subscription_id", "Subscription"),
    textColumn("ref", "Reference"),
    {
      key: "outcome",
      label: "Outcome",
      sort: "ascending",
      state: ({ outcome }) => outcome ?? "",
      cell: ({ outcome }) => <OutcomeCell outcome={outcome} />,
      csv: { outcome: "outcome" },
    },
    amountColumn("refunded", "Refunded", (payment) => payment.adjusted_cents, { extra: true }),
    dateColumn("Date", "created_at"),
  ],
};

/** `/dashboard/payments`: every payment from the providers, with its outcome. */
export const payments = listPage(LIST, {
  at: AT,
  head: {
    lede: "All payments that your providers reported, with or without a partner.",
    actions: (
      <>
        <a class="button" href={`${AT}/leads`}>
          Leads
        </a>
        <a class="button" href={`${AT}/codes`}>
          Promotion codes
        </a>
      </>
    ),
  },
  filter: [
    PAYMENT_SEARCH,
    choice("outcome", "Outcome", OUTCOMES, (outcome) => capitalized(OUTCOME_TEXTS[outcome].short)),
    PROVIDER_FIELD,
    ...RANGE_FIELDS,
  ],
  presets: [{ label: "Without a partner", query: { outcome: "no_ref" } }],
  empty: {
    title: "No payments yet",
    children: "They appear within seconds once a payment provider sends webhooks.",
    action: (
      <a class="button primary" href={`${SETTINGS}/providers`}>
        Connect a provider
      </a>
    ),
  },
})
  .get("/:id", async (c) => {
    const { payment, commissions, later_flows } = await getPayment(c.var.ctx, c.req.param("id"));
    const { time_zone } = c.var.session.program;
    const names = await readPartnerNames(c.var.ctx, [payment.partner_id]);
    const partner = payment.partner_id === null ? undefined : names.get(payment.partner_id);
    const isFinal = payment.outcome !== null && FINAL.includes(payment.outcome);
    return framed(
      c,
      {
        title: "Payment",
        at: AT,
        done: FLASH.payments,
        head: {
          title: <Heading payment={payment} />,
          back: { href: AT, label: "Payments" },
          actions: isFinal ? null : <ActionButton action={`${AT}/${payment.id}/reprocess`} label="Recalculate" />,
        },
      },
      <section class="card">
        <h2>Result</h2>
        <Trace
          payment={payment}
          rows={commissions}
          partner={partner ? { id: partner.id, name: partnerText(partner) } : null}
          later={{ flows: later_flows, time_zone }}
        />
        <p class="actions more">
          {commissions.length === 1 && commissions[0] ? (
            <a href={`/dashboard/commissions/${commissions[0].id}`}>Open the commission</a>
          ) : null}
          {payment.customer_id === null && payment.customer_email === null ? null : (
            <a href={`/dashboard/customers/${payment.id}`}>Open the customer</a>
          )}
        </p>
      </section>,
    );
  })
  .post("/:id/reprocess", async (c) => {
    const id = c.req.param("id");
    const before = await getPayment(c.var.ctx, id);
    const after = await reprocessPayment(c.var.ctx, id);
    const resultOf = ({ payment, commissions }: typeof after) =>
      JSON.stringify([payment.outcome, payment.partner_id, commissions.map((row) => [row.id, row.amount_cents])]);
    return c.redirect(
      addressWithNote(`${AT}/${id}`, resultOf(before) === resultOf(after) ? "unchanged" : "reprocessed"),
      303,
    );
  });

function Heading({ payment }: { payment: PaymentView }) {
  if (payment.event === "lead_created") return <>Lead</>;
  return (
    <>
      Payment of <Money of={amountOf(payment, payment.txn_amount_cents)} />
    </>
  );
}
