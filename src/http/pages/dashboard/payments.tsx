import { Hono } from "hono";
import type * as z from "zod";
import type { Decided } from "../../../core/kernel/rows.ts";
import type { PaymentView } from "../../../core/kernel/views.ts";
import { readPartnerNames, type PartnerName } from "../../../core/partners/display-names.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import { getPayment, listPayments, reprocessPayment } from "../../../core/ledger/payments.ts";
import { OUTCOMES } from "../../../domain/payment.ts";
import { PROVIDER_NAMES, VENDOR_NAMES } from "../../../providers/registry.ts";
import { amountOf } from "../../../domain/amount.ts";
import type { PageEnv } from "../../session.ts";
import { paymentQuery } from "../../queries.ts";
import { filterOf, type Filter } from "../filters.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { ActionButton, Field, SelectField } from "../parts/form.tsx";
import { Badge, Money, providerText, When } from "../parts/figures.tsx";
import { Done } from "../parts/notice.tsx";
import { PartnerLink, partnerText } from "../parts/partner.tsx";
import { Empty, Pager, Table } from "../parts/table.tsx";
import { Trace } from "../parts/trace.tsx";
import { EVENT_TEXTS, OUTCOME_TEXTS } from "../parts/words.ts";

const AT = "/dashboard/payments";

/** `/dashboard/payments`: every payment the providers reported, with its outcome. */
export const payments = new Hono<PageEnv>()
  .get("/", async (c) => {
    const filter = filterOf(c, paymentQuery);
    const page = parsePage(await listPayments(c.var.ctx, filter.value));
    const names = await readPartnerNames(
      c.var.ctx,
      page.data.map((payment) => payment.partner_id),
    );
    const isFiltered = Object.keys(filter.texts).length > 0;
    return framed(
      c,
      { title: "Payments", at: AT },
      <>
        <ListHead />
        <FilterForm filter={filter} isFiltered={isFiltered} />
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
              <PaymentTable payments={page.data} names={names} />
              <Pager page={page} path={AT} query={filter.texts} />
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/:id", async (c) => {
    const { payment, commissions } = await getPayment(c.var.ctx, c.req.param("id"));
    const names = await readPartnerNames(c.var.ctx, [payment.partner_id]);
    const partner = payment.partner_id === null ? undefined : names.get(payment.partner_id);
    return framed(
      c,
      { title: "Payment", at: AT },
      <>
        <Done code={c.req.query("done")} texts={{ reprocessed: "Recalculated by the rules as they are now." }} />
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
            payment.outcome === "commission" || payment.outcome === "merged" ? undefined : (
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
    const { payment } = await reprocessPayment(c.var.ctx, c.req.param("id"));
    return c.redirect(`${AT}/${payment.id}?done=reprocessed`, 303);
  });

function FilterForm({
  filter: { value, texts },
  isFiltered,
}: {
  filter: Filter<z.output<typeof paymentQuery>>;
  isFiltered: boolean;
}) {
  return (
    <form method="get" action={AT} class="filter" aria-label="Filter payments">
      <Field
        name="search"
        label="Order, customer or partner"
        type="search"
        value={texts.search}
        maxlength={200}
        class="grow"
      />
      <SelectField
        name="outcome"
        label="Outcome"
        value={value.outcome}
        options={[
          { value: "", label: "Any" },
          ...OUTCOMES.map((value) => ({ value, label: OUTCOME_TEXTS[value].short })),
        ]}
      />
      <SelectField
        name="provider"
        label="Provider"
        value={value.provider}
        options={[
          { value: "", label: "Any" },
          ...PROVIDER_NAMES.map((value) => ({ value, label: providerText(value) })),
        ]}
      />
      <Field name="from" label="From" type="date" value={texts.from} />
      <Field name="to" label="To" type="date" value={texts.to} />
      {value.partner_id ? <input type="hidden" name="partner_id" value={value.partner_id} /> : null}
      <button type="submit">Filter</button>
      {isFiltered ? <a href={AT}>Show all</a> : null}
    </form>
  );
}

function ListHead() {
  return (
    <PageHead
      title="Payments"
      lede="Everything the providers reported, with or without a partner."
      actions={
        <a class="button" href="/dashboard/payments/codes">
          Promotion codes
        </a>
      }
    />
  );
}

/** A payment in the list. */
export type Listed = Decided<
  PaymentView,
  "id" | "provider" | "outcome" | "partner_id" | "currency" | "txn_amount_cents" | "created_at" | "event",
  | ("program_id" | "provider_transaction_id" | "ref" | "code_id" | "adjusted_cents")
  | ("customer_email" | "customer_id" | "subscription_id" | "updated_at")
>;

interface PaymentTableProps {
  payments: readonly Listed[];
  names: ReadonlyMap<string, PartnerName>;
}

function PaymentTable({ payments: shown, names }: PaymentTableProps) {
  return (
    <Table
      label="Payments"
      columns={[
        { label: "Payment" },
        { label: "Partner" },
        { label: "Outcome" },
        { label: "Net of tax", align: "end" },
      ]}
      rows={shown.map((payment) => [
        <span>
          <a href={`${AT}/${payment.id}`}>
            <When at={payment.created_at} />
          </a>
          <span class="second">
            {payment.event === "lead_created" ? EVENT_TEXTS.lead_created.name : providerText(payment.provider)}
          </span>
        </span>,
        <PartnerLink partner={payment.partner_id === null ? undefined : names.get(payment.partner_id)} />,
        payment.outcome === null ? (
          <Badge state="pending" />
        ) : (
          <Badge state={payment.outcome} label={OUTCOME_TEXTS[payment.outcome].short} />
        ),
        payment.event === "lead_created" ? "–" : <Money of={amountOf(payment, payment.txn_amount_cents)} />,
      ])}
    />
  );
}
