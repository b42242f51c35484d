/**
 * A payment is decided and stored with any flows of its program: a row of the database holds at most 2 MB (PAY-14, FLOW-1).
 */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

it("of 100 flows with 20 conditions of 500 letters, each says why it did not match and the last all that it saw", async () => {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  const text = "長".repeat(500);

  const isSomebody = { field: "customer_email", op: "contains", value: "nobody" };
  const isAnybody = { field: "customer_email", op: "neq", value: text };
  const flow = { action_type: "percentage", action_value: 1 };
  for (let i = 0; i < 100; i++) {
    const conditions = i < 99 ? [...times(19, isAnybody), isSomebody] : times(20, isAnybody);
    expect((await program.api("POST", "/api/v1/flows", { ...flow, name: `flow ${i}`, conditions })).status).toBe(201);
  }

  const sale = sessionCompleted({ ref: "jane", email: "buyer@shop.example", payment_intent: "pi_1" });
  expect(await sendA(program, sale)).toMatchObject({ status: 200, body: { outcome: "commission" } });
  const refund = chargeRefunded({ payment_intent: "pi_1", refunded: 1_000 });
  expect(await sendA(program, refund)).toMatchObject({ status: 200, body: { outcome: "adjusted" } });

  const [payment] = (await ledgerOf(program)).payments;
  expect(new TextEncoder().encode(JSON.stringify(payment!.decision)).length).toBeLessThan(100_000);
  const { body } = await program.api<{ trace: { flows: { matched: boolean; conditions: object[] }[] } }>(
    "GET",
    `/api/v1/payments/${payment!.id}`,
  );
  const { flows } = body.trace;
  const failed = { ...isSomebody, saw: "buyer@shop.example", held: false };
  expect(flows.slice(0, 99).every(({ matched }) => !matched)).toBe(true);
  for (const { conditions } of flows.slice(0, 99)) expect(conditions).toEqual([failed]);
  expect(flows[99]).toMatchObject({ matched: true, conditions: times(20, { ...isAnybody, held: true }) });

  // A simulation over up to 1,000 such payments does not read their traces (FLOW-6).
  const [{ id: flow_id }] = (await program.api<{ data: [{ id: string }] }>("GET", "/api/v1/flows")).body.data;
  const apply_from = new Date(Date.now() - 60_000).toISOString();
  for (const input of [
    { flow_id, last: 1_000 },
    { flow_id, last: 1_000, apply_from },
  ]) {
    const { binding, roundTrips } = watchDatabase(env.DB);
    const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(input) };
    expect((await callWith({ DB: binding }, "/api/v1/flows/simulate", init)).status).toBe(200);
    const listed = roundTrips.flat().filter((sent) => /from "payments".*order by "payments"."id" desc/s.test(sent.sql));
    expect(listed).toHaveLength(1);
    for (const { sql, values } of listed) {
      const { results } = await env.DB.prepare(sql)
        .bind(...values)
        .all();
      expect([results.length, JSON.stringify(results).length < 10_000]).toEqual([1, true]);
    }
  }
});
