/** Contract §12: the customer's e-mail disappears from payments, commissions and stored provider bodies; sums stay. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { chargeRefunded, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";

const ADDRESS = "Jo.Buyer+1@example.com";

/** Every text of the program that any table holds. */
async function everything(program: TestProgram): Promise<string> {
  const tables = await env.DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name not like '_cf%' and name <> 'd1_migrations'",
  ).all<{ name: string }>();
  const dumps: string[] = [];
  for (const { name } of tables.results) {
    const rows = await env.DB.prepare(`select * from ${name}`).all();
    dumps.push(JSON.stringify(rows.results.filter((row) => JSON.stringify(row).includes(program.id))));
  }
  return dumps.join("\n").toLowerCase();
}

describe("erasure", () => {
  it("forgets the address everywhere, whatever its case, and keeps every sum", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    const flow = await program.api("POST", "/api/v1/flows", {
      name: "example.com buyers",
      action_type: "percentage",
      action_value: 30,
      conditions: [{ field: "customer_email", op: "contains", value: "buyer" }],
    });
    expect(flow.status).toBe(201);
    const ids = { payment_intent: "pi_e", customer: "cus_e" };
    await sendA(
      program,
      sessionCompleted({ ref: "jane", email: ADDRESS, amount: 10_000, created: 1_780_000_000, ...ids }),
    );
    await sendA(
      program,
      invoicePaid({ ref: "jane", email: ADDRESS.toUpperCase(), subscription: "sub_e", created: 1_780_000_100 }),
    );
    await sendA(program, sessionCompleted({ ref: "jane", email: "other@example.com", created: 1_780_000_200 }));
    const before = await ledgerOf(program);
    expect(before.commissions.map((row) => row.amount_cents)).toEqual([3_000, 3_000, 2_000]);
    expect(await everything(program)).toContain("jo.buyer+1@example.com");

    const erased = await program.api<{ erased: object }>("POST", "/api/v1/customers/erase", {
      email: "jo.buyer+1@EXAMPLE.com",
    });
    expect(erased).toMatchObject({
      status: 200,
      body: { erased: { payments: 2, commissions: 2, provider_events: 2 } },
    });
    expect(await everything(program)).not.toContain("jo.buyer+1@example.com");
    expect(await everything(program)).toContain("other@example.com");

    // A refund afterwards still applies the rule that was recorded, although its condition can no longer be seen.
    await sendA(program, chargeRefunded({ charge: "ch_e", payment_intent: "pi_e", amount: 10_000, refunded: 1_000 }));
    const after = await ledgerOf(program);
    expect(after.commissions.map((row) => row.amount_cents)).toEqual([2_700, 3_000, 2_000]);
    expect(after.commissions.map((row) => row.customer_email)).toEqual([null, null, "other@example.com"]);
    for (const { id } of after.payments) {
      expect((await program.api("POST", `/api/v1/payments/${id}/reprocess`)).status).toBe(200);
    }
    expect((await ledgerOf(program)).commissions.map((row) => row.amount_cents)).toEqual([2_700, 3_000, 2_000]);
  });

  it("touches no other program", async () => {
    const [mine, theirs] = [await makeProgram(), await makeProgram()];
    for (const program of [mine, theirs]) {
      await makePartner(program, { slug: "jane" });
      await sendA(program, sessionCompleted({ ref: "jane", email: ADDRESS }));
    }
    await mine.api("POST", "/api/v1/customers/erase", { email: ADDRESS });
    expect((await ledgerOf(theirs)).payments).toMatchObject([{ customer_email: ADDRESS }]);
  });

  it("refuses what is no address", async () => {
    const program = await makeProgram();
    for (const body of [{}, { email: "" }, { email: "nobody" }, { email: 7 }, { email: "a@b.example", more: 1 }]) {
      expect((await program.api("POST", "/api/v1/customers/erase", body)).status).toBe(422);
    }
  });
});
