/** A customer with many payments can be erased, even if the program has many flows or very many stored bodies (JOB-1). */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { iso } from "../../src/lib/time.ts";
import { erase } from "../support/erasure.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makeProgram, type TestProgram, programOfJane } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { watchDatabase } from "../support/watched-database.ts";

async function eraseWatched(program: TestProgram, email: string) {
  const { binding, roundTrips } = watchDatabase(env.DB);
  return { erased: await erase(program, email, { DB: binding }), roundTrips };
}

it("forgets them whatever their traces come to: a statement takes no more than 2 MB in one parameter", async () => {
  const program = await programOfJane();
  const condition = { field: "customer_email", op: "eq", value: `${"x".repeat(400)}@shop.example` };
  const flow = { action_type: "percentage", action_value: 1, conditions: [condition, condition, condition] };
  for (let i = 0; i < 100; i++) {
    expect((await program.api("POST", "/api/v1/flows", { ...flow, name: `flow ${i}` })).status).toBe(201);
  }
  const email = "often@shop.example";
  for (let i = 0; i < 45; i++) await sendA(program, sessionCompleted({ email, ref: "jane", customer: "cus_often" }));
  const traces = (await ledgerOf(program)).payments.map(({ decision }) => JSON.stringify(decision).length);
  expect(traces.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(2_200_000);
  const { erased, roundTrips } = await eraseWatched(program, email);
  expect(erased).toMatchObject({ payments: 45, commissions: 45 });
  const parameters = roundTrips.flatMap((statements) => statements.flatMap(({ values }) => values));
  const bytes = parameters.map((value) => (typeof value === "string" ? new TextEncoder().encode(value).length : 0));
  expect(Math.max(...bytes)).toBeLessThan(2_000_000);
  const { payments } = await ledgerOf(program);
  expect(payments.filter(({ customer_email }) => customer_email !== null)).toEqual([]);
});

it("finds them among very many stored bodies within few statements, however many of these have to be read", async () => {
  const program = await makeProgram();
  const email = "once@shop.example";
  const made = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?2)
    insert into provider_events (program_id, provider, event_id, event_type, occurred_at, received_at, recorded_by, outcome,
      audit_event_id, body)
    select ?1, 'provider_a', printf('evt_%08d', i), 'invoice.paid', ?3, ?3, '', 'ignored', printf('evt_%d', i),
      json_object('of', i, 'url', iif(i % 2, 'https://shop.example/?by=other%40shop.example', ''), 'email', iif(i in (1, 9999, 10001, 30001), ?4, ''))
    from n`;
  await env.DB.prepare(made).bind(program.id, 30_001, iso(Date.now()), email).run();
  const { erased, roundTrips } = await eraseWatched(program, email);
  expect(erased).toMatchObject({ payments: 0, provider_events: 4 });
  expect(roundTrips.flat().length).toBeLessThan(60);
  const left = env.DB.prepare(
    "select count(*) as count from provider_events where program_id = ? and body is not null",
  );
  expect(await left.bind(program.id).first("count")).toBe(29_997);
});
