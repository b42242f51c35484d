/** A settling reads as many rows for a customer with 10,000 payments as for one with few (FLOW-14). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { forProgram } from "../../src/core/kernel/context.ts";
import { settle } from "../../src/core/ledger/settle.ts";
import { openDatabase } from "../../src/db/client.ts";
import { ledgerOf } from "../support/ledger.ts";
import { meterRowsRead } from "../support/metered-database.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { callWith } from "../support/watched-database.ts";

const MANY = 10_000;
const CUSTOMER = { id: "often", email: "often@shop.example" };

const report = (program: TestProgram, external_id: string, ref: string, more: object = {}) =>
  program.api("POST", "/api/v1/track/sale", {
    ...{ external_id, ref, amount_cents: 10_000, currency: "USD", net_of_tax: true, customer: CUSTOMER },
    ...more,
  });

/** Copies the customer's first payment, as it is settled, until the customer has so many payments. */
async function addPayments(program: TestProgram, count: number): Promise<void> {
  const { results } = await env.DB.prepare("select name from pragma_table_info('payments')").all<{ name: string }>();
  const columns = results.map(({ name }) => name);
  const values: Record<string, string> = {
    id: "p.id || '_' || n.value",
    provider_transaction_id: "p.provider_transaction_id || '_' || n.value",
    created_at: "strftime('%Y-%m-%dT%H:%M:%fZ', p.created_at, '-' || n.value || ' minutes')",
  };
  await env.DB.prepare(
    `with recursive n (value) as (select 1 union all select value + 1 from n where value < ?)
      insert into payments (${columns.join(", ")})
      select ${columns.map((column) => values[column] ?? `p.${column}`).join(", ")} from payments p cross join n
      where p.program_id = ? and p.provider_transaction_id = 'first'`,
  )
    .bind(count, program.id)
    .run();
}

it.each([
  ["no condition", []],
  [
    "conditions on the customer's payments",
    [
      { field: "payment_number", op: "gt", value: 3 },
      { field: "months_since_first_payment", op: "lt", value: 1_200 },
      { field: "new_customer", op: "eq", value: true },
    ],
  ],
])("does not grow with 10,000 payments of one customer: a flow with %s", async (_what, conditions) => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  const flow = { name: "flow", action_type: "percentage", action_value: 50, conditions };
  expect((await program.api("POST", "/api/v1/flows", flow)).status).toBe(201);
  for (const id of ["first", "second", "few"]) expect((await report(program, id, slug)).status).toBe(200);
  const { binding, taken } = meterRowsRead(env.DB);
  const ctx = forProgram({ ...testContext(), db: openDatabase(binding) }, program.program);
  /** The rows read to settle a payment again, which is due. */
  const read = async (key: string) => {
    const payment = (await ledgerOf(program)).payments.find((row) => row.provider_transaction_id === key)!;
    await env.DB.prepare("update payments set facts_revision = facts_revision + 1 where id = ?").bind(payment.id).run();
    taken();
    expect(await settle(ctx, payment)).toBe("commission");
    return taken();
  };
  const few = await read("few");
  await addPayments(program, MANY);
  const many = await read("few");
  // A condition on the fourth payment reads that many of each customer.
  expect(many.rows, many.most.join("\n")).toBeLessThan(few.rows + 60);
});

it("leaves the payments that a late first one renumbers to the job, and other payments do not read them (FLOW-14)", async () => {
  const program = await makeProgram();
  const { slug } = await makePartner(program);
  const conditions = [{ field: "payment_number", op: "gt", value: 1 }];
  const flow = { name: "flow", action_type: "percentage", action_value: 50, conditions };
  expect((await program.api("POST", "/api/v1/flows", flow)).status).toBe(201);
  for (const id of ["first", "second"]) expect((await report(program, id, slug)).status).toBe(200);
  const { binding, taken } = meterRowsRead(env.DB);
  let others = 0;
  /** The rows read for a payment of another customer. */
  const readOther = async () => {
    const id = `other_${others++}`;
    taken();
    const body = { external_id: id, ref: slug, amount_cents: 100, currency: "USD", net_of_tax: true, customer: { id } };
    const headers = { "content-type": "application/json", authorization: `Bearer ${program.api_key}` };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    expect((await callWith({ DB: binding }, "/api/v1/track/sale", init)).status).toBe(200);
    return taken();
  };
  expect((await readOther()).rows).toBeGreaterThan(0);
  await addPayments(program, MANY);
  const occurred_at = new Date(Date.now() - 30 * 86_400_000).toISOString();
  expect((await report(program, "earlier", slug, { occurred_at })).status).toBe(200);
  const left = await env.DB.prepare(
    "select count(*) as n from payments where program_id = ? and settled_revision < facts_revision",
  )
    .bind(program.id)
    .first<number>("n");
  expect(left).toBeGreaterThanOrEqual(MANY);
  // The payments to settle at once are found among those that the request itself has marked.
  expect((await readOther()).most.join("\n")).not.toContain("exists (select 1 from payments own");
});
