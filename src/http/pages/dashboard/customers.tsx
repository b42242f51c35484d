import type { Context } from "hono";
import { Hono } from "hono";
import { getCustomer, listCustomers, type Customer } from "../../../core/customers/customers.ts";
import { eraseCustomer } from "../../../core/customers/erase.ts";
import type { Decided } from "../../../core/kernel/rows.ts";
import { readPartnerNames } from "../../../core/partners/display-names.ts";
import { sumUp, type Amount, type Amounts } from "../../../domain/amount.ts";
import { decimalAmount } from "../../../domain/currency.ts";
import { customerQuery } from "../../queries.ts";
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
  timeColumn,
  type ListOf,
  type Shown,
} from "../list.tsx";
import { countText, providerText, Sums, When } from "../parts/figures.tsx";
import { Form } from "../parts/form.tsx";
import { Done } from "../parts/notice.tsx";
import { PartnerLink } from "../parts/partner.tsx";
import { PaymentSearchField, ProviderField, RangeFields } from "../parts/filter-fields.tsx";
import { Empty, Facts } from "../parts/table.tsx";
import { ActionLink } from "../rights.tsx";

const AT = "/dashboard/customers";

const DONE = { erased: "The customer is forgotten: the address and what the provider sent of it are gone." };

/** `/dashboard/customers` (PAGE-21): customers with their partner and revenue, and their erasure. */
export const customers = new Hono<PageEnv>()
  .get("/", async (c) => {
    const shown = await readList(c, LIST);
    return framed(
      c,
      { title: "Customers", at: AT },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PageHead title="Customers" lede="Everybody the providers reported, by the newest payment." />
        <FilterForm shown={shown} />
        <section class="card flush">
          {shown.page.total === 0 ? (
            <NoCustomers isFiltered={shown.isFiltered} />
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
  .get("/:id", (c) => customerPage(c, c.req.param("id")))
  .get("/:id/erase", (c) => erasePage(c, c.req.param("id")))
  .post("/:id/erase", async (c) => {
    const { id, email } = await getCustomer(c.var.ctx, c.req.param("id"));
    if (email === null) return c.redirect(`${AT}/${id}`, 303);
    await eraseCustomer(c.var.ctx, email);
    return c.redirect(`${AT}?done=erased`, 303);
  });

function FilterForm({ shown }: { shown: Shown<typeof customerQuery, Listed> }) {
  const { value, texts } = shown.filter;
  return (
    <ListFilter list={LIST} shown={shown} path={AT} search>
      <PaymentSearchField value={texts["search"]} />
      <ProviderField value={value.provider} />
      <RangeFields texts={texts} />
    </ListFilter>
  );
}

/** What a customer is called: by the address, where it is known. */
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

/** A customer in the list. */
export type Listed = Decided<
  Omit<Customer, "revenue"> & { revenue: Amounts },
  ("id" | "provider" | "customer_id" | "email" | "partner_id" | "first_seen" | "last_seen") | ("payments" | "revenue"),
  never
>;

/** What of each currency is in one cell of a file. */
function ofEach(revenue: Amounts, cell: (amount: Amount) => string): string {
  return revenue.map(cell).join("; ");
}

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
  columns: [
    {
      key: "customer",
      label: "Customer",
      cell: (customer) => <CustomerCell customer={customer} />,
      csv: {
        newest_payment_id: (customer) => customer.id,
        email: (customer) => customer.email,
        customer_id: (customer) => customer.customer_id,
        provider: (customer) => customer.provider,
      },
    },
    textColumn("customer_id", "Customer id", (customer) => customer.customer_id),
    partnerColumn(),
    {
      key: "first_seen",
      label: "First seen",
      cell: (customer) => <When at={customer.first_seen} only="day" />,
      csv: { first_seen: (customer) => customer.first_seen },
    },
    timeColumn("last_seen", "Last seen", (customer) => customer.last_seen),
    {
      key: "payments",
      label: "Payments",
      align: "end",
      cell: (customer) => countText(customer.payments),
      csv: { payments: (customer) => customer.payments },
    },
    {
      key: "revenue",
      label: "Revenue",
      align: "end",
      named: true,
      cell: (customer) => <Sums of={customer.revenue} />,
      csv: {
        revenue: ({ revenue }) =>
          ofEach(revenue, ({ amount_cents, currency }) => decimalAmount(amount_cents, currency)),
        currency: ({ revenue }) => ofEach(revenue, ({ currency }) => currency),
        revenue_cents: ({ revenue }) => ofEach(revenue, ({ amount_cents }) => String(amount_cents)),
      },
    },
  ],
};

function NoCustomers({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No customer matches">
      <a href={AT}>Show all customers</a>
    </Empty>
  ) : (
    <Empty title="No customers yet">They appear with their first payment or lead.</Empty>
  );
}

async function customerPage(c: Context<PageEnv>, id: string) {
  const customer = await getCustomer(c.var.ctx, id);
  const names = await readPartnerNames(c.var.ctx, [customer.partner_id]);
  const { program } = c.var.session;
  const known = customer.customer_id ?? customer.email;
  return framed(
    c,
    { title: "Customer", at: AT },
    <>
      <PageHead
        title={nameOf(customer)}
        back={{ href: AT, label: "Customers" }}
        actions={
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
        }
      />
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
      </section>
    </>,
  );
}

async function erasePage(c: Context<PageEnv>, id: string) {
  const customer = await getCustomer(c.var.ctx, id);
  const title = customer.email === null ? "Nothing to erase" : "Erase this customer?";
  return framed(
    c,
    { title, at: AT },
    <>
      <PageHead title={title} back={{ href: `${AT}/${customer.id}`, label: "The customer" }} />
      <Form class="card stack form-narrow">
        {customer.email === null ? (
          <p>No address of this customer is kept.</p>
        ) : (
          <>
            <p>
              <strong>{customer.email}</strong>
            </p>
            <p>
              The address, and what the providers sent of everybody it belongs to, are removed from payments,
              commissions and stored events. Amounts and commissions stay as they are. This cannot be undone.
            </p>
          </>
        )}
        <div class="actions">
          {customer.email === null ? null : (
            <button type="submit" class="danger">
              Erase
            </button>
          )}
          <a href={`${AT}/${customer.id}`}>Back</a>
        </div>
      </Form>
    </>,
  );
}
