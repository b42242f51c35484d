/** Leads, sales and new customers by day: triggers keep the counts, in any order of changes. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { DAY } from "../../src/lib/time.ts";
import { REVENUE_DIFFERENCES } from "../support/by-revenue.ts";
import { BY_SALE } from "../support/by-sale.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { all } from "../support/rows.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInPartner, textOf } from "../support/visitor.ts";

let program: TestProgram;
let jane: { id: string; email: string };
let joe: { id: string };

beforeEach(async () => {
  program = await makeProgram({ domain: "shop.example" });
  jane = await makePartner(program, { slug: "jane", email: `${uniqueId("jane")}@partners.example` });
  joe = await makePartner(program, { slug: "joe" });
});

/** The kept counts, and the counts of the rows. */
async function both() {
  const columns = "select day, partner_id, leads, sales, first_sales";
  return [
    await all(
      `${columns} from sale_days where program_id = ? and (leads <> 0 or sales <> 0 or first_sales <> 0) order by 1, 2`,
      program.id,
    ),
    await all(`${columns} from (${BY_SALE}) where program_id = ? order by 1, 2`, program.id),
  ];
}

describe("leads, sales and new customers (PORTAL-4)", () => {
  it("count a renewal as a sale, a customer once, a lead that earns nothing, and no refused payment", async () => {
    const customer = uniqueId("cus_");
    const subscription = uniqueId("sub_");
    const first = { ref: "jane", customer, subscription, billing_reason: "subscription_create" };
    await sendA(program, invoicePaid(first));
    await sendA(program, invoicePaid({ ...first, billing_reason: "subscription_cycle" }));
    // Two payments without a customer's id, and one without a partner.
    await sendA(program, sessionCompleted({ ref: "jane", customer: null }));
    await sendA(program, sessionCompleted({ ref: "jane", customer: null }));
    await sendA(program, sessionCompleted({ ref: "nobody" }));
    const lead = { external_id: "signup-1", ref: "jane", customer: { id: "u1" } };
    expect((await program.api("POST", "/api/v1/track/lead", lead)).status).toBe(200);
    const visitor = await signInPartner(jane.email);
    const shown = textOf((await visitor.get("/portal/statistics")).body);
    for (const text of ["Leads 1 vs. previous 30 days: 0", "Sales 4 vs. previous", "New customers 3 vs. previous"])
      expect(shown).toContain(text);
    const [is, must] = await both();
    expect(is).toEqual(must);
  });

  it("make the earlier sale the first where it is reported later", async () => {
    const [customer, now] = [uniqueId("cus_"), Math.floor(Date.now() / 1_000)];
    const days = (ago: number) => now - (ago * DAY) / 1_000;
    for (const ago of [3, 40, 20])
      await sendA(program, sessionCompleted({ ref: "jane", customer, created: days(ago) }));
    const rows = await all("select first_sales from sale_days where program_id = ? order by day", program.id);
    expect(rows).toEqual([{ first_sales: 1 }, { first_sales: 0 }, { first_sales: 0 }]);
    const visitor = await signInPartner(jane.email);
    const shown = textOf((await visitor.get("/portal/statistics")).body);
    for (const text of ["Sales 2 vs. previous 30 days: 1", "New customers 0 vs. previous 30 days: 1"])
      expect(shown).toContain(text);
  });

  it("agree with the rows after any changes in any order", async () => {
    const ids = ["p1", "p2", "p3", "p4", "p5"].map((name) => `pmt_${name}_${program.id}`);
    const stamp = "2026-03-01T00:00:00.000Z";
    await env.DB.batch(
      ids.map((id, i) =>
        env.DB.prepare(
          `insert into payments (id, program_id, provider, provider_transaction_id, currency, txn_amount_cents, gross_cents,
            event, created_at, updated_at) values (?, ?, ?, ?, 'USD', 100, 100, ?, ?, ?)`,
        ).bind(
          id,
          program.id,
          i === 3 ? "provider_b" : "provider_a",
          id,
          i === 4 ? "lead_created" : "transaction_completed",
          stamp,
          stamp,
        ),
      ),
    );
    const change = fc.record({
      id: fc.constantFrom(...ids),
      outcome: fc.constantFrom("commission", "commission", "no_flow", "merged", null),
      partner_id: fc.constantFrom(jane.id, jane.id, joe.id, null),
      customer_id: fc.constantFrom("c1", "c1", "c2", null),
      day: fc.constantFrom("2026-03-01", "2026-03-02", "2026-03-03"),
      currency: fc.constantFrom("USD", "USD", "JPY"),
      adjusted: fc.constantFrom(0, 0, 30, 100),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 12 }), async (changes) => {
        await env.DB.batch(
          changes.map(({ id, outcome, partner_id, customer_id, day, currency, adjusted }) =>
            env.DB.prepare(
              `update payments set outcome = ?, partner_id = ?, customer_id = ?, created_at = ?, currency = ?,
                adjusted_cents = ? where id = ?`,
            ).bind(outcome, partner_id, customer_id, `${day}T00:00:00.000Z`, currency, adjusted, id),
          ),
        );
        const [is, must] = await both();
        expect(is).toEqual(must);
        expect(await all(REVENUE_DIFFERENCES, program.id)).toEqual([]);
      }),
      { numRuns: 60 },
    );
    await env.DB.prepare("delete from payments where program_id = ?").bind(program.id).run();
    expect((await both())[0]).toEqual([]);
    expect(await all(REVENUE_DIFFERENCES, program.id)).toEqual([]);
  });
});
