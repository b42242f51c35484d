import { listLeads, type Lead } from "../../../../core/customers/leads.ts";
import { parsePage } from "../../../../core/kernel/list-page.ts";
import { leadQuery } from "../../../queries.ts";
import { dateColumn, partnerColumn, textColumn, type ListOf } from "../../list.tsx";
import { When } from "../../parts/figures.tsx";
import { choice, RANGE_FIELDS } from "../../parts/filter-fields.tsx";
import { OutcomeCell } from "./list.tsx";
import { listPage } from "../../list-page.tsx";

const PAYMENTS = "/dashboard/payments";

export type Listed = Pick<
  Lead,
  | ("id" | "provider_transaction_id" | "outcome" | "partner_id" | "ref" | "customer_email" | "customer_id")
  | ("created_at" | "first_sale")
>;

/** A lead is named by its customer or, without one, by the id that the owner's server gave it. */
function LeadCell({ lead }: { lead: Listed }) {
  return (
    <a href={`${PAYMENTS}/${lead.id}`} class="address">
      {lead.customer_email ?? lead.customer_id ?? lead.provider_transaction_id}
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
  sort: "created_at",
  columns: [
    {
      key: "customer",
      label: "Customer",
      cell: (lead) => <LeadCell lead={lead} />,
      csv: { lead_id: "id", customer_email: "customer_email", customer_id: "customer_id" },
    },
    textColumn("customer_id", "Customer id"),
    textColumn("provider_transaction_id", "Your id"),
    partnerColumn(),
    textColumn("ref", "Reference", false),
    {
      key: "outcome",
      label: "Outcome",
      state: ({ outcome }) => outcome ?? "",
      cell: ({ outcome }) => <OutcomeCell outcome={outcome} />,
      csv: { outcome: "outcome" },
    },
    {
      key: "first_sale",
      label: "First sale",
      cell: (lead) => <FirstSaleCell lead={lead} />,
      csv: {
        first_sale_id: (lead) => lead.first_sale?.id ?? null,
        first_sale_at: (lead) => lead.first_sale?.created_at ?? null,
      },
    },
    dateColumn("Date", "created_at"),
  ],
};

/** `/dashboard/payments/leads` (PAGE-24): sign-ups that the owner's server reported, and whether they bought. */
export const leads = listPage(LIST, {
  at: PAYMENTS,
  path: `${PAYMENTS}/leads`,
  head: {
    lede: "Sign-ups reported by your server, and whether they became customers.",
    back: { href: PAYMENTS, label: "Payments" },
  },
  filter: [
    choice("credited", "Counts for a partner", ["true", "false"], (is) => (is === "true" ? "Yes" : "No")),
    ...RANGE_FIELDS,
  ],
  empty: {
    title: "No leads yet",
    children: (
      <>
        They appear when your server reports sign-ups:{" "}
        <a href="/docs/integrate#facts-from-your-own-server">how to report them</a>.
      </>
    ),
  },
});
