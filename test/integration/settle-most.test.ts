/**
 * One request settles only as many payments as the platform's statement limit allows; the minute's job settles the rest.
 */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { settleUnsettled } from "../../src/core/inbound/settle-jobs.ts";
import { MAX_INLINE } from "../../src/core/ledger/settle.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { serveAll } from "../support/jobs.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

/** Jobs use 900 of the platform's 1,000 statements. */
const STATEMENTS = 900;
const SALES = 2 * MAX_INLINE;

async function askedFor(program: TestProgram, method: string, path: string, body: object): Promise<number> {
  const { binding, roundTrips } = watchDatabase(env.DB);
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json" };
  const reply = await callWith({ DB: binding }, path, { method, headers, body: JSON.stringify(body) });
  expect(reply.status).toBe(200);
  return roundTrips.flat().length;
}

async function unsettled(program: TestProgram): Promise<number> {
  const { payments } = await ledgerOf(program);
  return payments.filter((row) => row.settled_revision < row.facts_revision).length;
}

const settleRest = () => serveAll(settleUnsettled(testContext(Date.now() + 2 * MINUTE)));

it("settles so many of the payments that waited for a partner", async () => {
  const program = await makeProgram();
  const { id } = await makePartner(program, { slug: "jane" }, "invited");
  for (let i = 0; i < SALES; i++) await sendA(program, sessionCompleted({ ref: "jane" }));
  const statements = await askedFor(program, "PATCH", `/api/v1/partners/${id}`, { status: "active" });
  expect(statements).toBeLessThan(STATEMENTS);
  expect((await ledgerOf(program)).commissions).toHaveLength(MAX_INLINE);
  await settleRest();
  expect((await ledgerOf(program)).commissions).toHaveLength(SALES);
});

it("settles so many of the payments whose differences are decided at once, one by one or by a filter (COM-8)", async () => {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  const intents = Array.from({ length: SALES }, (_, i) => `pi_${i}`);
  for (const payment_intent of intents) await sendA(program, sessionCompleted({ ref: "jane", payment_intent }));
  await env.DB.prepare("update commissions set status = 'approved' where program_id = ?").bind(program.id).run();
  await env.DB.prepare("update commissions set status = 'paid' where program_id = ?").bind(program.id).run();
  for (const payment_intent of intents) await sendA(program, chargeRefunded({ payment_intent, refunded: 1_000 }));
  const clawbacks = (await ledgerOf(program)).commissions.filter(({ kind }) => kind === "clawback");
  expect(clawbacks).toHaveLength(SALES);
  const ids = clawbacks.map(({ id }) => id);
  const changes = [
    { ids, status: "rejected" },
    { filter: { status: "rejected" }, status: "pending" },
  ];
  for (const change of changes) {
    expect(await askedFor(program, "POST", "/api/v1/commissions/bulk", change)).toBeLessThan(STATEMENTS);
    expect(await unsettled(program)).toBe(SALES - MAX_INLINE);
    await settleRest();
    expect(await unsettled(program)).toBe(0);
  }
});
