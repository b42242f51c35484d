/** A customer who has paid often, in a program with as many flows as it may have, is erased too (JOB-1). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

it("forgets them whatever their traces come to: a statement takes no more than 2 MB in one parameter", async () => {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  const condition = { field: "customer_email", op: "eq", value: `${"x".repeat(400)}@shop.example` };
  const flow = { action_type: "percentage", action_value: 1, conditions: [condition, condition, condition] };
  for (let i = 0; i < 100; i++) {
    expect((await program.api("POST", "/api/v1/flows", { ...flow, name: `flow ${i}` })).status).toBe(201);
  }
  const email = "often@shop.example";
  for (let i = 0; i < 20; i++) await sendA(program, sessionCompleted({ email, ref: "jane", customer: "cus_often" }));
  const traces = (await ledgerOf(program)).payments.map(({ decision }) => JSON.stringify(decision).length);
  expect(traces.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(2_200_000);
  const { binding, roundTrips } = watchDatabase(env.DB);
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify({ email }) };
  const erased = await callWith({ DB: binding }, "/api/v1/customers/erase", init);
  expect(erased).toMatchObject({ status: 200, body: { erased: { payments: 20, commissions: 20 } } });
  const parameters = roundTrips.flatMap((statements) => statements.flatMap(({ values }) => values));
  const bytes = parameters.map((value) => (typeof value === "string" ? new TextEncoder().encode(value).length : 0));
  expect(Math.max(...bytes)).toBeLessThan(2_000_000);
  const { payments } = await ledgerOf(program);
  expect(payments.filter(({ customer_email }) => customer_email !== null)).toEqual([]);
});
