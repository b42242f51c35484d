import { Hono } from "hono";
import { listLeads, type Lead } from "../../../core/customers/leads.ts";
import { parsePage } from "../../../core/kernel/list-page.ts";
import type { Decided } from "../../../core/kernel/rows.ts";
import { leadQuery } from "../../queries.ts";
import type { PageEnv } from "../../session.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { csvOf } from "../list-csv.ts";
import {
  ListFilter,
  ListFoot,
  ListTable,
  partnerColumn,
  readList,
  textColumn,
  type ListOf,
  type Shown,
} from "../list.tsx";
import { When } from "../parts/figures.tsx";
import { SelectField } from "../parts/form.tsx";
import { RangeFields } from "../parts/filter-fields.tsx";
import { Empty } from "../parts/table.tsx";
import { OutcomeCell } from "./payments.tsx";

const PAYMENTS = "/dashboard/payments";
const AT = `${PAYMENTS}/leads`;

/** `/dashboard/payments/leads` (PAGE-24): sign-ups that the owner's server reported, and which of them bought. */
export const leads = new Hono<PageEnv>()
  .get("/", async (c) => {
    const shown = await readList(c, LIST);
    return framed(
      c,
      { title: "Leads", at: PAYMENTS },
      <>
        <PageHead
          title="Leads"
          lede="Sign-ups that your server reported, and whether they became customers."
          back={{ href: PAYMENTS, label: "Payments" }}
        />
        <FilterForm shown={shown} />
        <section class="card flush">
          {shown.page.total === 0 ? (
            <NoLeads isFiltered={shown.isFiltered} />
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
  .get("/list.csv", (c) => csvOf(c, LIST));

function FilterForm({ shown }: { shown: Shown<typeof leadQuery, Listed> }) {
  const { texts } = shown.filter;
  return (
    <ListFilter list={LIST} shown={shown} path={AT}>
      <SelectField
        name="credited"
        label="Counts for a partner"
        value={texts["credited"]}
        options={[
          { value: "", label: "Any" },
          { value: "true", label: "yes" },
          { value: "false", label: "no" },
        ]}
      />
      <RangeFields texts={texts} />
    </ListFilter>
  );
}

function NoLeads({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No lead matches">
      <a href={AT}>Show all leads</a>
    </Empty>
  ) : (
    <Empty title="No leads yet">
      They appear when your server reports sign-ups: <a href="/docs/integrate">how to report them</a>.
    </Empty>
  );
}

/** A lead in the list. */
export type Listed = Decided<
  Lead,
  | ("id" | "provider_transaction_id" | "outcome" | "partner_id" | "ref" | "customer_email" | "customer_id")
  | ("created_at" | "first_sale"),
  never
>;

function CustomerCell({ lead: { id, customer_email, customer_id } }: { lead: Listed }) {
  const name = customer_email ?? customer_id;
  if (name === null) return <span class="muted">–</span>;
  return (
    <a href={`/dashboard/customers/${id}`} class="address">
      {name}
    </a>
  );
}

function FirstSaleCell({ lead: { first_sale } }: { lead: Listed }) {
  if (first_sale === null) return <span class="muted one-line">no sale yet</span>;
  return (
    <a href={`${PAYMENTS}/${first_sale.id}`}>
      <When at={first_sale.created_at} />
    </a>
  );
}

const LIST: ListOf<typeof leadQuery, Listed> = {
  name: "leads",
  label: "Leads",
  query: leadQuery,
  read: async (c, filter) => parsePage(await listLeads(c.var.ctx, filter)),
  partnerOf: (lead) => lead.partner_id,
  columns: [
    {
      key: "lead",
      label: "Lead",
      cell: (lead) => (
        <a href={`${PAYMENTS}/${lead.id}`}>
          <When at={lead.created_at} />
        </a>
      ),
      csv: { lead_id: (lead) => lead.id, created_at: (lead) => lead.created_at },
    },
    {
      key: "customer",
      label: "Customer",
      cell: (lead) => <CustomerCell lead={lead} />,
      csv: { customer_email: (lead) => lead.customer_email, customer_id: (lead) => lead.customer_id },
    },
    textColumn("customer_id", "Customer id", (lead) => lead.customer_id),
    textColumn("provider_transaction_id", "Your id", (lead) => lead.provider_transaction_id),
    partnerColumn(),
    { ...textColumn<Listed, "ref">("ref", "Reference", (lead) => lead.ref), extra: false },
    {
      key: "outcome",
      label: "Outcome",
      cell: ({ outcome }) => <OutcomeCell outcome={outcome} />,
      csv: { outcome: (lead) => lead.outcome },
    },
    {
      key: "first_sale",
      label: "First sale",
      align: "end",
      cell: (lead) => <FirstSaleCell lead={lead} />,
      csv: {
        first_sale_id: (lead) => lead.first_sale?.id ?? null,
        first_sale_at: (lead) => lead.first_sale?.created_at ?? null,
      },
    },
  ],
};
