import { Hono } from "hono";
import type { Decided } from "../../../core/kernel/rows.ts";
import type { PaymentView } from "../../../core/kernel/views.ts";
import { readPartnerNames } from "../../../core/partners/display-names.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import { getPayment, listPayments, reprocessPayment } from "../../../core/ledger/payments.ts";
import { COUNTED_ELSEWHERE, OUTCOMES, type Outcome } from "../../../domain/payment.ts";
import { VENDOR_NAMES } from "../../../providers/registry.ts";
import { amountOf } from "../../../domain/amount.ts";
import type { PageEnv } from "../../session.ts";
import { paymentQuery } from "../../queries.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import {
  amountCells,
  ListFilter,
  ListFoot,
  ListTable,
  partnerColumn,
  readList,
  textColumn,
  type ListOf,
  type Shown,
} from "../list.tsx";
import { ActionButton, SelectField } from "../parts/form.tsx";
import { Badge, Money, providerText, When } from "../parts/figures.tsx";
import { Done } from "../parts/notice.tsx";
import { partnerText } from "../parts/partner.tsx";
import { PaymentSearchField, ProviderField, RangeFields } from "../parts/filter-fields.tsx";
import { Empty } from "../parts/table.tsx";
import { Trace } from "../parts/trace.tsx";
import { EVENT_TEXTS, OUTCOME_TEXTS } from "../parts/words.ts";

const AT = "/dashboard/payments";

/** By the rules of its own time, whatever they are now (PAY-15, PAY-16). */
const DONE = {
  reprocessed: "Decided again by the rules of when it was made. The result is below.",
  unchanged: "Decided again by the rules of when it was made: nothing changed.",
};

/** What no recalculation changes. */
const FINAL: readonly Outcome[] = ["commission", ...COUNTED_ELSEWHERE];

/** `/dashboard/payments`: every payment the providers reported, with its outcome. */
export const payments = new Hono<PageEnv>()
  .get("/", async (c) => {
    const shown = await readList(c, LIST);
    const { page, isFiltered } = shown;
    return framed(
      c,
      { title: "Payments", at: AT },
      <>
        <ListHead />
        <FilterForm shown={shown} />
        <section class="card flush">
          {page.total === 0 ? (
            isFiltered ? (
              <Empty title="No payment matches">
                <a href={AT}>Show all payments</a>
              </Empty>
            ) : (
              <Empty
                title="No payments yet"
                action={
                  <a class="button primary" href={`/dashboard/settings#${VENDOR_NAMES[0]}`}>
                    Connect a provider
                  </a>
                }
              >
                They appear within seconds once a payment provider sends us its webhooks.
              </Empty>
            )
          ) : (
            <>
              <ListTable list={LIST} shown={shown} />
              <ListFoot shown={shown} path={AT} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/list.csv", (c) => csvOf(c, LIST))
  .get("/:id", async (c) => {
    const { payment, commissions } = await getPayment(c.var.ctx, c.req.param("id"));
    const names = await readPartnerNames(c.var.ctx, [payment.partner_id]);
    const partner = payment.partner_id === null ? undefined : names.get(payment.partner_id);
    return framed(
      c,
      { title: "Payment", at: AT },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PageHead
          title={
            payment.event === "lead_created" ? (
              "Lead"
            ) : (
              <>
                Payment of <Money of={amountOf(payment, payment.txn_amount_cents)} />
              </>
            )
          }
          back={{ href: AT, label: "Payments" }}
          actions={
            payment.outcome !== null && FINAL.includes(payment.outcome) ? undefined : (
              <ActionButton action={`${AT}/${payment.id}/reprocess`} label="Recalculate" />
            )
          }
        />
        <section class="card">
          <h2>Result</h2>
          <Trace
            payment={payment}
            rows={commissions}
            partner={partner ? { id: partner.id, name: partnerText(partner) } : null}
          />
          {commissions.length === 1 && commissions[0] ? (
            <p class="more">
              <a href={`/dashboard/commissions/${commissions[0].id}`}>Open the commission</a>
            </p>
          ) : null}
        </section>
      </>,
    );
  })
  .post("/:id/reprocess", async (c) => {
    const id = c.req.param("id");
    const before = await getPayment(c.var.ctx, id);
    const after = await reprocessPayment(c.var.ctx, id);
    const resultOf = ({ payment, commissions }: typeof after) =>
      JSON.stringify([payment.outcome, payment.partner_id, commissions.map((row) => [row.id, row.amount_cents])]);
    const done: keyof typeof DONE = resultOf(before) === resultOf(after) ? "unchanged" : "reprocessed";
    return c.redirect(`${AT}/${id}?done=${done}`, 303);
  });

function FilterForm({ shown }: { shown: Shown<typeof paymentQuery, Listed> }) {
  const { value, texts } = shown.filter;
  return (
    <ListFilter list={LIST} shown={shown} path={AT} search>
      <PaymentSearchField value={texts["search"]} />
      <SelectField
        name="outcome"
        label="Outcome"
        value={value.outcome}
        options={[
          { value: "", label: "Any" },
          ...OUTCOMES.map((value) => ({ value, label: OUTCOME_TEXTS[value].short })),
        ]}
      />
      <ProviderField value={value.provider} />
      <RangeFields texts={texts} />
    </ListFilter>
  );
}

function ListHead() {
  return (
    <PageHead
      title="Payments"
      lede="Everything the providers reported, with or without a partner."
      actions={
        <>
          <a class="button" href="/dashboard/payments/leads">
            Leads
          </a>
          <a class="button" href="/dashboard/payments/codes">
            Promotion codes
          </a>
        </>
      }
    />
  );
}

/** A payment in the list. */
export type Listed = Decided<
  PaymentView,
  | ("id" | "provider" | "outcome" | "partner_id" | "currency" | "txn_amount_cents" | "created_at" | "event")
  | ("provider_transaction_id" | "ref" | "adjusted_cents" | "customer_email" | "customer_id" | "subscription_id"),
  "program_id" | "code_id" | "updated_at"
>;

function PaymentCell({ payment }: { payment: Listed }) {
  return (
    <span>
      <a href={`${AT}/${payment.id}`}>
        <When at={payment.created_at} />
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
  columns: [
    {
      key: "payment",
      label: "Payment",
      cell: (payment) => <PaymentCell payment={payment} />,
      csv: {
        payment_id: (payment) => payment.id,
        created_at: (payment) => payment.created_at,
        event: (payment) => payment.event,
        provider: (payment) => payment.provider,
      },
    },
    partnerColumn(),
    textColumn("provider_transaction_id", "Order", (payment) => payment.provider_transaction_id),
    textColumn("customer_email", "Customer", (payment) => payment.customer_email),
    textColumn("customer_id", "Customer id", (payment) => payment.customer_id),
    textColumn("subscription_id", "Subscription", (payment) => payment.subscription_id),
    textColumn("ref", "Reference", (payment) => payment.ref),
    {
      key: "outcome",
      label: "Outcome",
      cell: ({ outcome }) => <OutcomeCell outcome={outcome} />,
      csv: { outcome: (payment) => payment.outcome },
    },
    {
      key: "refunded",
      label: "Refunded",
      align: "end",
      extra: true,
      cell: (payment) => <Money of={amountOf(payment, payment.adjusted_cents)} />,
      csv: amountCells("refunded", (payment) => payment.adjusted_cents),
    },
    {
      key: "net",
      label: "Net of tax",
      align: "end",
      cell: (payment) =>
        payment.event === "lead_created" ? "–" : <Money of={amountOf(payment, payment.txn_amount_cents)} />,
      csv: amountCells("net", (payment) => payment.txn_amount_cents),
    },
  ],
};
