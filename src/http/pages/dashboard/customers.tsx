import type { Context } from "hono";
import { getCustomer, listCustomers, type Customer } from "../../../core/customers/customers.ts";
import { eraseCustomer } from "../../../core/customers/erase.ts";
import { readPartnerNames } from "../../../core/partners/display-names.ts";
import { sumUp, type Amounts } from "../../../domain/amount.ts";
import { customerQuery } from "../../queries.ts";
import type { PageEnv } from "../../session.ts";
import { framed, formPage } from "../framed.tsx";
import { dateColumn, partnerColumn, sumsColumn, textColumn, type ListOf } from "../list.tsx";
import { countText, providerText, Sums, When } from "../parts/figures.tsx";
import { PartnerLink } from "../parts/partner.tsx";
import { PAYMENT_SEARCH, PROVIDER_FIELD, RANGE_FIELDS } from "../parts/filter-fields.tsx";
import { Facts } from "../parts/table.tsx";
import { ActionLink } from "../rights.tsx";
import { FLASH, addressWithNote } from "../flash.ts";
import { listPage } from "../list-page.tsx";

const AT = "/dashboard/customers";

/** The display name of a customer: the address, if it is known. */
function nameOf({ email, customer_id }: Customer): string {
  return email ?? customer_id ?? "Customer without an address";
}

/** A customer in a list: the name as a link, the provider below it. */
export function CustomerCell({ customer }: { customer: Customer }) {
  return (
    <span class="address">
      <a href={`${AT}/${customer.id}`}>{nameOf(customer)}</a>
      <span class="second">{providerText(customer.provider)}</span>
    </span>
  );
}

export type Listed = Pick<
  Omit<Customer, "revenue"> & { revenue: Amounts },
  ("id" | "provider" | "customer_id" | "email" | "partner_id" | "first_seen" | "last_seen") | ("payments" | "revenue")
>;

const LIST: ListOf<typeof customerQuery, Listed> = {
  name: "customers",
  label: "Customers",
  query: customerQuery,
  async read(c, filter) {
    const { data, ...page } = await listCustomers(c.var.ctx, filter);
    const { program } = c.var.session;
    return { ...page, data: data.map((customer) => ({ ...customer, revenue: sumUp(customer.revenue, program) })) };
  },
  partnerOf: (customer) => customer.partner_id,
  sort: "last_seen",
  columns: [
    {
      key: "customer",
      label: "Customer",
      cell: (customer) => <CustomerCell customer={customer} />,
      csv: { newest_payment_id: "id", email: "email", customer_id: "customer_id", provider: "provider" },
    },
    textColumn("customer_id", "Customer id"),
    {
      ...sumsColumn<Listed>("revenue", "Revenue", ({ revenue }) => revenue, { sum: true, currency: "currency" }),
      sort: "descending",
    },
    partnerColumn(),
    {
      key: "payments",
      label: "Payments",
      align: "end",
      sort: "descending",
      cell: (customer) => countText(customer.payments),
      csv: { payments: "payments" },
    },
    {
      key: "first_seen",
      label: "First seen",
      extra: true,
      cell: (customer) => <When at={customer.first_seen} only="day" />,
      csv: { first_seen: "first_seen" },
    },
    dateColumn("Last seen", "last_seen", { only: "day" }),
  ],
};

/** `/dashboard/customers` (PAGE-21): customers with their partner and revenue, and the form that erases one. */
export const customers = listPage(LIST, {
  at: AT,
  done: FLASH.customers,
  head: { lede: "All customers that your providers reported." },
  filter: [PAYMENT_SEARCH, PROVIDER_FIELD, ...RANGE_FIELDS],
  empty: { title: "No customers yet", children: "They appear with their first payment or lead." },
})
  .get("/:id", (c) => customerPage(c, c.req.param("id")))
  .get("/:id/erase", (c) => erasePage(c, c.req.param("id")))
  .post("/:id/erase", async (c) => {
    const { id, email } = await getCustomer(c.var.ctx, c.req.param("id"));
    if (email === null) return c.redirect(`${AT}/${id}`, 303);
    await eraseCustomer(c.var.ctx, email);
    return c.redirect(addressWithNote(AT, "erased"), 303);
  });

async function customerPage(c: Context<PageEnv>, id: string) {
  const customer = await getCustomer(c.var.ctx, id);
  const names = await readPartnerNames(c.var.ctx, [customer.partner_id]);
  const { program } = c.var.session;
  const known = customer.customer_id ?? customer.email;
  const actions = (
    <>
      {known === null ? null : (
        <a class="button" href={`/dashboard/payments?${new URLSearchParams({ search: known }).toString()}`}>
          Payments
        </a>
      )}
      {customer.email === null ? null : (
        <ActionLink class="button danger" href={`${AT}/${customer.id}/erase`}>
          Erase
        </ActionLink>
      )}
    </>
  );
  return framed(
    c,
    {
      title: "Customer",
      at: AT,
      head: { title: nameOf(customer), back: { href: AT, label: "Customers" }, actions },
    },
    <section class="card">
      <Facts
        rows={[
          ["E-mail", customer.email ?? <span class="muted">Not known, or erased</span>],
          ["Provider", providerText(customer.provider)],
          customer.customer_id === null ? null : ["Customer id", <code>{customer.customer_id}</code>],
          [
            "Partner",
            <PartnerLink partner={customer.partner_id === null ? undefined : names.get(customer.partner_id)} />,
          ],
          ["First seen", <When at={customer.first_seen} />],
          ["Last seen", <When at={customer.last_seen} />],
          ["Payments", countText(customer.payments)],
          ["Revenue, net of tax and refunds", <Sums of={sumUp(customer.revenue, program)} />],
        ]}
      />
    </section>,
  );
}

async function erasePage(c: Context<PageEnv>, id: string) {
  const { id: found, email } = await getCustomer(c.var.ctx, id);
  return formPage(
    c,
    {
      title: email === null ? "Nothing to erase" : "Erase this customer?",
      at: AT,
      back: { href: `${AT}/${found}`, label: "The customer" },
      submit: email === null ? null : "Erase",
      kind: "danger",
      cancel: "Back",
    },
    email === null ? (
      <p>We do not store an address of this customer.</p>
    ) : (
      <>
        <p>
          <strong>{email}</strong>
        </p>
        <p>
          We remove the address, and the providers' data about every customer with it, from payments, commissions and
          stored events. Amounts and commissions do not change. This cannot be undone.
        </p>
      </>
    ),
  );
}
