import { type Context, Hono } from "hono";
import type { Child } from "../../jsx.ts";
import * as z from "zod";
import { getEvent } from "../../../core/events/events.ts";
import { findAll, findObject, type Found, type FoundObject, type FoundPayment } from "../../../core/overview/find.ts";
import { readPartnerNames } from "../../../core/partners/display-names.ts";
import { amountOf, sumUp } from "../../../domain/amount.ts";
import { AppError } from "../../../lib/errors.ts";
import { ID_PATTERN, ID_PREFIXES, instantOf } from "../../../lib/id.ts";
import { iso } from "../../../lib/time.ts";
import type { PageEnv } from "../../session.ts";
import { filterOf } from "../filters.ts";
import { framed } from "../framed.tsx";
import type { Names } from "../list.tsx";
import { Badge, countText, Money, Sums, When } from "../parts/figures.tsx";
import { Field } from "../parts/form.tsx";
import { PartnerLink } from "../parts/partner.tsx";
import { Empty, Table, type Column } from "../parts/table.tsx";
import { CustomerCell } from "./customers.tsx";
import { OutcomeCell } from "./payments/list.tsx";

const AT = "/dashboard/search";

export const searchQuery = z.object({ search: z.string().max(200).optional() });

/** `/dashboard/search` (PAGE-25): partners, customers and payments that match a text, or the page of an id. */
export const search = new Hono<PageEnv>().get("/", async (c) => {
  const { search: typed } = filterOf(c, searchQuery).value;
  const place = typed === undefined ? null : await placeOf(c, typed);
  if (place !== null) return c.redirect(place, 303);
  return framed(
    c,
    { title: "Find", at: "/dashboard", head: {} },
    <>
      <form method="get" action={AT} class="filter" role="search" aria-label="All sections">
        <Field
          name="search"
          label="Partner, customer, order or id"
          type="search"
          value={typed}
          maxlength={200}
          class="grow"
        />
        <button type="submit">Search</button>
      </form>
      {typed === undefined ? (
        <section class="card flush">
          <Empty title="Search tips">
            <HowToFind />
          </Empty>
        </section>
      ) : (
        await results(c, typed)
      )}
    </>,
  );
});

/** The page of an id; null for a text that is not the id of an existing object. */
async function placeOf(c: Context<PageEnv>, typed: string): Promise<string | null> {
  const id = typed.toLowerCase();
  if (!ID_PATTERN.test(id)) return null;
  if (id.startsWith(`${ID_PREFIXES.event}_`)) return placeOfEvent(c, id);
  if (id === c.var.session.program.id) return "/dashboard/settings";
  const found = await findObject(c.var.ctx, id);
  return found === null ? null : `/dashboard/${PLACES[found.kind](found)}`;
}

const PLACES: Record<FoundObject["kind"], (found: FoundObject) => string> = {
  partner: ({ id }) => `partners/${id}`,
  application: ({ id }) => `partners/applications/${id}`,
  code: ({ of }) => `partners/${of}/codes`,
  payment: ({ id }) => `payments/${id}`,
  commission: ({ id }) => `commissions/${id}`,
  payout: ({ id }) => `payouts/${id}`,
  claim: ({ id }) => `claims/${id}`,
  flow: ({ id }) => `flows/${id}`,
  endpoint: ({ id }) => `webhooks/${id}`,
  delivery: ({ of }) => `webhooks/${of}`,
  member: () => "settings/team",
  api_key: () => "settings/keys",
};

/** The audit log at the event's millisecond. */
async function placeOfEvent(c: Context<PageEnv>, id: string): Promise<string | null> {
  const event = await getEvent(c.var.ctx, id).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  });
  if (event === null) return null;
  const at = instantOf(id);
  const list = event.type === "click" ? "events/clicks" : "events";
  return `/dashboard/${list}?${new URLSearchParams({ from: iso(at), to: iso(at + 1) }).toString()}`;
}

function HowToFind() {
  return (
    <>
      Search for a partner by part of the name, slug or e-mail address; for a customer by the whole e-mail address or
      id; for a payment by order id, customer or partner; and for anything by its id, such as{" "}
      <code>{ID_PREFIXES.payout}_…</code>.
    </>
  );
}

async function results(c: Context<PageEnv>, typed: string) {
  const found = await findAll(c.var.ctx, typed);
  const { partners, customers, payments } = found;
  const owners = [...customers.rows, ...payments.rows].map(({ partner_id }) => partner_id);
  const names = await readPartnerNames(c.var.ctx, owners);
  if (partners.rows.length + customers.rows.length + payments.rows.length === 0) {
    return (
      <section class="card flush">
        <Empty title="Nothing matches">
          <HowToFind />
        </Empty>
      </section>
    );
  }
  return (
    <>
      <FoundPartners {...partners} typed={typed} />
      <Section
        {...customers}
        typed={typed}
        place="customers"
        label="Customers"
        columns={[
          { label: "Customer" },
          { label: "Partner" },
          { label: "Payments" },
          { label: "Revenue", align: "end" },
        ]}
        cells={(customer) => [
          <CustomerCell customer={customer} />,
          <PartnerLink partner={customer.partner_id === null ? undefined : names.get(customer.partner_id)} />,
          countText(customer.payments),
          <Sums of={sumUp(customer.revenue, c.var.session.program)} />,
        ]}
      />
      <FoundPayments {...payments} typed={typed} names={names} />
    </>
  );
}

interface SectionProps<Row> {
  rows: readonly Row[];
  more: boolean;
  typed: string;
  /** The list with the same search. */
  place: "partners" | "customers" | "payments";
  label: string;
  columns: readonly Column[];
  cells: (row: Row) => readonly Child[];
}

function Section<Row>({ rows, more, typed, place, label, columns, cells }: SectionProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <section class="card flush">
      <div class="card-head">
        <h2>{label}</h2>
        {more ? (
          <a href={`/dashboard/${place}?${new URLSearchParams({ search: typed }).toString()}`}>
            All {place} that match
          </a>
        ) : null}
      </div>
      <Table label={label} columns={columns} rows={rows.map(cells)} />
    </section>
  );
}

function FoundPartners({ rows, more, typed }: Found["partners"] & { typed: string }) {
  return (
    <Section
      {...{ rows, more, typed }}
      place="partners"
      label="Partners"
      columns={[{ label: "Partner" }, { label: "E-mail" }, { label: "Status", align: "end" }]}
      cells={(partner) => [
        <PartnerLink partner={partner} />,
        <span class="whole">{partner.email}</span>,
        <Badge state={partner.status} />,
      ]}
    />
  );
}

function FoundPayments({ rows, more, typed, names }: Found["payments"] & { typed: string; names: Names }) {
  return (
    <Section
      {...{ rows, more, typed }}
      place="payments"
      label="Payments"
      columns={[
        { label: "Payment" },
        { label: "Customer" },
        { label: "Partner" },
        { label: "Outcome" },
        { label: "Net of tax", align: "end" },
      ]}
      cells={(payment) => [
        <PaymentCell payment={payment} />,
        <span class="whole">{payment.customer_email ?? payment.customer_id ?? "–"}</span>,
        <PartnerLink partner={payment.partner_id === null ? undefined : names.get(payment.partner_id)} />,
        <OutcomeCell outcome={payment.outcome} />,
        payment.event === "lead_created" ? "–" : <Money of={amountOf(payment, payment.txn_amount_cents)} />,
      ]}
    />
  );
}

function PaymentCell({ payment }: { payment: FoundPayment }) {
  return (
    <span>
      <a href={`/dashboard/payments/${payment.id}`}>
        <When at={payment.created_at} />
      </a>
      <span class="second whole">{payment.provider_transaction_id}</span>
    </span>
  );
}
