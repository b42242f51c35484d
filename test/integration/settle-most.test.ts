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
import { EXPORTS, IBAN_ACCOUNT, makeFile, rowsOf, statusesOf } from "../support/bank-payouts.ts";
import { makePartner, makeProgram, testContext, type TestProgram, programContext } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { makeVisitor, signInOwner, textOf } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";
import { payPayout } from "../../src/core/payouts/pay.ts";
import { clientOf, makePayingProgram, makePayout } from "../support/payouts.ts";
import { takeBack } from "../support/provider-a-api.ts";
import { reconcileRound } from "../support/reconcile.ts";

/** Jobs use 900 of the platform's 1,000 statements. */
const STATEMENTS = 900;
const SALES = 2 * MAX_INLINE;

async function askedFor(program: TestProgram, method: string, path: string, body: object | string): Promise<number> {
  const { binding, roundTrips } = watchDatabase(env.DB);
  const [type, text] = typeof body === "string" ? ["text/csv", body] : ["application/json", JSON.stringify(body)];
  const headers = { authorization: `Bearer ${program.api_key}`, "content-type": type };
  const reply = await callWith({ DB: binding }, path, { method, headers, body: text });
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

/** A program with an endpoint and so many payouts by bank transfer, each of three refunded sales. */
async function withPayouts(count: number): Promise<TestProgram> {
  const program = await makeProgram({ payout_change_hold_days: 0 });
  await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
  const sales = Array.from({ length: count }, (_, i) => [0, 1, 2].map((n) => ({ slug: `p${i}`, id: `p${i}_${n}` })));
  for (const [i, own] of sales.entries()) {
    const { id } = await makePartner(program, { slug: `p${i}` });
    const details = { method: "bank_transfer", ...IBAN_ACCOUNT };
    await program.api("PUT", `/api/v1/partners/${id}/payout-details`, details);
    for (const sale of own) {
      const report = { external_id: sale.id, ref: sale.slug, amount_cents: 10_000, currency: "EUR", net_of_tax: true };
      await program.api("POST", "/api/v1/track/sale", report);
    }
  }
  await env.DB.prepare("update commissions set status = 'approved' where program_id = ?").bind(program.id).run();
  await program.api("POST", "/api/v1/payouts/generate");
  for (const { id } of sales.flat()) {
    await program.api("POST", "/api/v1/track/refund", { external_id: id, sale_external_id: id, amount_cents: 5_000 });
  }
  return program;
}

it("returns so many payouts of a result file, and settles so many of their payments (OUT-28)", async () => {
  const program = await withPayouts(35);
  const { body: file } = await makeFile(program);
  await program.api("POST", `${EXPORTS}/${file.id}/paid`);
  const results = `payout_id,status\n${(await rowsOf(program)).map(({ id }) => `${id},returned\n`).join("")}`;
  const at = `${EXPORTS}/${file.id}/results`;
  expect(await askedFor(program, "POST", at, results)).toBeLessThan(STATEMENTS);
  expect([await statusesOf(program), await unsettled(program)]).toEqual([
    { returned: 30, paid: 5 },
    90 - MAX_INLINE / 2,
  ]);
  const again = await program.api("POST", at, results, { "content-type": "text/csv" });
  expect(again.body).toMatchObject({ counts: { returned: 5, unchanged: 30 }, remaining: 0 });
  await settleRest();
  expect([await statusesOf(program), await unsettled(program)]).toEqual([{ returned: 35 }, 0]);
});

it("cancels so many payouts of a filter, and settles so many of their payments (PAGE-37)", async () => {
  const program = await withPayouts(55);
  const { binding, roundTrips } = watchDatabase(env.DB);
  const owner = await signInOwner(
    program,
    makeVisitor((path, init) => callWith<string>({ DB: binding }, path, init)),
  );
  const at = "/dashboard/payouts/matching?move=cancel&status=pending";
  const { body } = await owner.get(at);
  expect(textOf(body)).toContain("50 of 55 now");
  const seen_at = /name="seen_at" value="([^"]+)"/.exec(body)?.[1] ?? "";
  roundTrips.length = 0;
  expect((await owner.post(at, { seen_at })).status).toBe(303);
  expect(roundTrips.flat().length).toBeLessThan(STATEMENTS);
  expect([await statusesOf(program), await unsettled(program)]).toEqual([
    { canceled: 50, pending: 5 },
    150 - MAX_INLINE / 2,
  ]);
  await settleRest();
  expect(await unsettled(program)).toBe(0);
});

it("leaves the payments of transfers that the daily check finds reversed to the job (OUT-21)", async () => {
  const world = await makePayingProgram();
  const { program, vendor, partner_id } = world;
  const { body: partner } = await program.api<{ slug: string }>("GET", `/api/v1/partners/${partner_id}`);
  for (const external_id of ["1", "2"]) {
    const report = { external_id, ref: partner.slug, amount_cents: 10_000, currency: "USD", net_of_tax: true };
    await program.api("POST", "/api/v1/track/sale", report);
  }
  await env.DB.prepare("update commissions set status = 'approved' where program_id = ?").bind(program.id).run();
  const { id } = await makePayout(world);
  await payPayout(programContext(program), id, clientOf(vendor));
  for (const sale_external_id of ["1", "2"]) {
    const refund = { external_id: `r${sale_external_id}`, sale_external_id, amount_cents: 5_000 };
    await program.api("POST", "/api/v1/track/refund", refund);
  }
  takeBack(vendor.transfers[0]!);
  await reconcileRound(programContext(program), clientOf(vendor), true);
  expect([await statusesOf(program), await unsettled(program)]).toEqual([{ returned: 1 }, 2]);
  await settleRest();
  expect(await unsettled(program)).toBe(0);
});
