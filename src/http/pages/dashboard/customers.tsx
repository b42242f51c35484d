import type { Context } from "hono";
import { Hono } from "hono";
import * as z from "zod";
import { getCustomer, listCustomers, type Customer } from "../../../core/customers/customers.ts";
import { eraseCustomer } from "../../../core/customers/erase.ts";
import { readPartnerNames } from "../../../core/partners/display-names.ts";
import { sumUp } from "../../../domain/amount.ts";
import { ID_PATTERN } from "../../../lib/id.ts";
import type { PageEnv } from "../../session.ts";
import { filterOf } from "../filters.ts";
import { framed } from "../framed.tsx";
import { PageHead } from "../layout.tsx";
import { countText, providerText, Sums, When } from "../parts/figures.tsx";
import { Field, Form } from "../parts/form.tsx";
import { Done } from "../parts/notice.tsx";
import { PartnerLink } from "../parts/partner.tsx";
import { Empty, Facts, Table } from "../parts/table.tsx";
import { ActionLink } from "../rights.tsx";

const AT = "/dashboard/customers";

const DONE = { erased: "The customer is forgotten: the address and what the provider sent of it are gone." };

/** What the address of the list may hold. */
export const customerQuery = z.object({
  search: z.string().max(200).optional(),
  after: z.string().regex(ID_PATTERN).optional(),
});

/** `/dashboard/customers` (PAGE-21): customers with their partner and revenue, and their erasure. */
export const customers = new Hono<PageEnv>()
  .get("/", async (c) => {
    const { value, texts } = filterOf(c, customerQuery);
    const { customers: shown, next } = await listCustomers(c.var.ctx, value);
    const names = await readPartnerNames(
      c.var.ctx,
      shown.map(({ partner_id }) => partner_id),
    );
    const older = next === null ? null : new URLSearchParams({ ...texts, after: next }).toString();
    return framed(
      c,
      { title: "Customers", at: AT },
      <>
        <Done code={c.req.query("done")} texts={DONE} />
        <PageHead title="Customers" lede="Everybody the providers reported, by the newest payment." />
        <form method="get" action={AT} class="filter" role="search" aria-label="Customers">
          <Field
            name="search"
            label="Order, customer or partner"
            type="search"
            value={value.search}
            maxlength={200}
            class="grow"
          />
          <button type="submit">Search</button>
          {value.search || value.after ? <a href={AT}>Show all</a> : null}
        </form>
        <section class="card flush">
          {shown.length === 0 && next === null ? (
            <NoCustomers isFiltered={Object.keys(texts).length > 0} />
          ) : (
            <>
              <Table
                label="Customers"
                columns={[
                  { label: "Customer" },
                  { label: "Partner" },
                  { label: "First seen" },
                  { label: "Payments", align: "end" },
                  { label: "Revenue", align: "end", named: true },
                ]}
                rows={shown.map((customer) => [
                  <CustomerCell customer={customer} />,
                  <PartnerLink partner={customer.partner_id === null ? undefined : names.get(customer.partner_id)} />,
                  <When at={customer.first_seen} only="day" />,
                  countText(customer.payments),
                  <Sums of={sumUp(customer.revenue, c.var.session.program)} />,
                ])}
              />
              {older === null ? null : (
                <nav class="pager" aria-label="Pages">
                  <p class="pager-links">
                    <a rel="next" href={`${AT}?${older}`}>
                      Earlier customers →
                    </a>
                  </p>
                </nav>
              )}
            </>
          )}
        </section>
      </>,
    );
  })
  .get("/:id", (c) => customerPage(c, c.req.param("id")))
  .get("/:id/erase", (c) => erasePage(c, c.req.param("id")))
  .post("/:id/erase", async (c) => {
    const { id, email } = await getCustomer(c.var.ctx, c.req.param("id"));
    if (email === null) return c.redirect(`${AT}/${id}`, 303);
    await eraseCustomer(c.var.ctx, email);
    return c.redirect(`${AT}?done=erased`, 303);
  });

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
            ["E-mail", customer.email ?? <span class="muted">not known, or erased</span>],
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
