/** A claim by day and domain does not match leads, nor payments that count under another id (CLAIM-5, CLAIM-7). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_CLAIM_PAYMENTS } from "../../src/domain/claim.ts";
import { lead, report, sale } from "../support/api.ts";
import { makeClaim } from "../support/claims.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { invoicePaymentPaid } from "../support/provider-a-changes.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const DAY = "2026-03-02";
const at = (time: string) => `${DAY}T${time}:00.000Z`;

interface Fits {
  payments: { provider_transaction_id: string }[];
}

async function scene() {
  const program = await makeProgram();
  await makePartner(program, { slug: "john" });
  return { program, jane: await makePartner(program, { slug: "jane" }) };
}

const seenOf = async (program: TestProgram, claim: string) =>
  (await program.api<Fits>("GET", `/api/v1/claims/${claim}`)).body.payments
    .map((row) => row.provider_transaction_id)
    .toSorted();

const sold = (program: TestProgram, external_id: string, time: string) =>
  report(
    program,
    "sale",
    sale({ external_id, customer: { email: `${external_id}@mail.example` }, occurred_at: at(time) }),
  );

/** Unattributed records that are not separate sales. */
const NO_SALE: Record<string, (program: TestProgram, email: string, time: string) => Promise<unknown>> = {
  "a lead": (program, email, occurred_at) =>
    report(program, "lead", lead({ ref: "nobodys", customer: { email }, occurred_at })),
  "a payment that counts under another id": async (program, email, time) => {
    const [invoice, payment_intent, customer] = ["in_", "pi_", "cus_"].map(uniqueId);
    const [ids, created] = [{ ref: "john", customer: customer!, email }, Date.parse(time) / 1000];
    await sendA(program, sessionCompleted({ ...ids, payment_intent: payment_intent!, created }));
    await sendA(program, invoicePaid({ ...ids, id: invoice!, subscription: null, created }));
    await sendA(program, invoicePaymentPaid({ invoice: invoice!, payment_intent: payment_intent! }));
  },
};

describe.each(Object.entries(NO_SALE))("%s", (_, send) => {
  it("takes no place among the newest payments of a day, so a claim is about each sale (CLAIM-5)", async () => {
    const { program, jane } = await scene();
    await sold(program, "first", "10:00");
    await sold(program, "second", "11:00");
    for (let i = 0; i < MAX_CLAIM_PAYMENTS - 1; i++) await send(program, `b${i}@mail.example`, at("12:00"));
    const claim = await makeClaim(program, jane.id, { day: DAY, email_domain: "mail.example" });
    expect(await seenOf(program, claim)).toEqual(["first", "second"]);
    const granted = await program.api<{ error?: { code: string } }>("POST", `/api/v1/claims/${claim}/grant`, {});
    expect([granted.status, granted.body.error?.code]).toEqual([422, "validation_failed"]);
    expect((await ledgerOf(program)).commissions.filter((row) => row.partner_id === jane.id)).toEqual([]);
  });

  it("is no payment of anybody else, where the customer of the sale of a claim is erased (CLAIM-7)", async () => {
    const { program, jane } = await scene();
    await sold(program, "gone", "10:00");
    await send(program, "stays@mail.example", at("12:00"));
    const claim = await makeClaim(program, jane.id, { day: DAY, email_domain: "mail.example" });
    await program.api("POST", "/api/v1/customers/erase", { email: "gone@mail.example" });
    expect((await program.api("GET", `/api/v1/claims/${claim}`)).body).toMatchObject({ day: null, email_domain: null });
  });
});

it("the payments of a day are read through their index, by domain and day (CLAIM-5)", async () => {
  const { program, jane } = await scene();
  const claim = await makeClaim(program, jane.id, { day: DAY, email_domain: "mail.example" });
  const { binding, roundTrips } = watchDatabase(env.DB);
  await callWith({ DB: binding }, `/api/v1/claims/${claim}`, {
    headers: { authorization: `Bearer ${program.api_key}` },
  });
  const read = roundTrips.flat().filter(({ sql }) => sql.includes("payments_by_domain"));
  expect(read.length).toBeGreaterThan(0);
  for (const { sql, values } of read) {
    const plan = await env.DB.prepare(`explain query plan ${sql}`)
      .bind(...values)
      .all<{ detail: string }>();
    const lines = plan.results.map(({ detail }) => detail).filter((line) => line.includes("payments_by_domain"));
    expect(lines).toEqual(lines.map(() => expect.stringContaining("created_at>? AND created_at<?")));
  }
});
