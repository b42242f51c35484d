/** An erasure follows a customer's id across providers and the owner's server, and an address in any spelling (JOB-1). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { lead, report, sale } from "../support/api.ts";
import { erase } from "../support/erasure.ts";
import { countsOf, sendImport } from "../support/imports.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { placesOf } from "../support/places.ts";
import { programOfJane, type TestProgram } from "../support/program.ts";
import { customerEvent, invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { customerEventB, transactionCompleted } from "../support/provider-b.ts";
import { all } from "../support/rows.ts";
import { nowSeconds } from "../support/vendor.ts";
import { watchDatabase } from "../support/watched-database.ts";

const WORK = "jo@work.example";
const HOME = "jo@home.example";
const OTHER = "mo@work.example";

const leadOf = (id: string, email: string) => lead({ ref: "jane", customer: { id, email } });

/** The amounts of payments and commissions, with the partner of each. */
async function sums(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return [
    payments.map(({ id, outcome, partner_id, adjusted_cents }) => [id, outcome, partner_id, adjusted_cents]),
    commissions.map(({ id, amount_cents, status }) => [id, amount_cents, status]),
  ];
}

describe("an id that the owner's server reported", () => {
  it.each([
    [
      "provider A",
      "cus_1",
      (program: TestProgram) =>
        sendA(program, invoicePaid({ customer: "cus_1", email: WORK, created: nowSeconds() + 60 })),
      (program: TestProgram) => sendA(program, customerEvent({ id: "cus_1", email: HOME }, "customer.updated")),
    ],
    [
      "provider B",
      "ctm_1",
      (program: TestProgram) => sendB(program, customerEventB({ id: "ctm_1", email: WORK })),
      (program: TestProgram) => sendB(program, customerEventB({ id: "ctm_1", email: HOME })),
    ],
  ])("is the customer's at %s, which says it first after the erasure", async (_, id, ...events) => {
    const program = await programOfJane();
    expect((await report(program, "lead", leadOf(id, WORK))).status).toBe(200);
    await erase(program, WORK);
    for (const send of events) expect((await send(program)).status).toBe(200);
    if (id === "ctm_1") await sendB(program, transactionCompleted({ customer: id }));
    expect(await placesOf(program, WORK, HOME)).toEqual([]);
    const bodies = await all("select body from provider_events where program_id = ? and body is not null", program.id);
    expect(bodies).toEqual([]);
    const { commissions } = await ledgerOf(program);
    // The fact that bound the id stays.
    expect(commissions.map(({ amount_cents }) => amount_cents)).toEqual([2_000]);
  });

  it("is known to a lead that comes after the erasure too", async () => {
    const program = await programOfJane();
    await sendA(program, sessionCompleted({ customer: "cus_1", email: HOME }));
    await erase(program, HOME);
    await report(program, "lead", leadOf("cus_1", WORK));
    expect(await placesOf(program, WORK, HOME)).toEqual([]);
  });

  it.each([
    ["the lead's address", WORK],
    ["the payment's address", HOME],
  ])("links lead, sale and payment, erased by %s; nobody else's", async (_, email) => {
    const program = await programOfJane();
    for (const [id, address] of [
      ["cus_1", WORK],
      ["cus_2", OTHER],
    ] as const) {
      await report(program, "lead", leadOf(id, address));
      await report(program, "sale", sale({ customer: { id, email: address } }));
    }
    await sendA(program, sessionCompleted({ customer: "cus_1", email: HOME }));
    await sendA(program, sessionCompleted({ customer: "cus_2", email: "mo@home.example" }));
    const [before, kept] = [await sums(program), await placesOf(program, OTHER, "mo@home.example")];
    const bodies = async () =>
      all<{ body: string }>("select body from provider_events where program_id = ? and body is not null", program.id);
    expect(await erase(program, email)).toEqual({ payments: 3, commissions: 2, provider_events: 3 });
    expect(await placesOf(program, WORK, HOME)).toEqual([]);
    expect((await bodies()).map(({ body }) => body.includes("cus_2"))).toEqual([true, true, true]);
    expect([await sums(program), await placesOf(program, OTHER, "mo@home.example")]).toEqual([before, kept]);
  });

  it("of another program is nobody's here", async () => {
    const [program, other] = [await programOfJane(), await programOfJane()];
    for (const one of [program, other]) await report(one, "lead", leadOf("cus_1", WORK));
    await erase(other, WORK);
    await sendA(program, sessionCompleted({ customer: "cus_1", email: HOME }));
    expect((await ledgerOf(program)).payments.map(({ customer_email }) => customer_email).toSorted()).toEqual([
      HOME,
      WORK,
    ]);
  });
});

describe("an address beyond ASCII", () => {
  it.each(["J.MÜLLER@firma.example", "j.müller@firma.example"])(
    "is erased by %s, however it was imported",
    async (email) => {
      const program = await programOfJane();
      const file = "customer_email,partner_code\nJ.MÜLLER@firma.example,jane\nj.möller@firma.example,jane\n";
      const imported = await sendImport(program, { kind: "customers" }, file);
      expect([imported.status, countsOf(imported.body)[0]]).toEqual([200, 2]);
      await sendA(
        program,
        sessionCompleted({ customer: "cus_1", email: "J.MÜLLER@firma.example", created: nowSeconds() + 60 }),
      );
      await erase(program, email);
      expect(await placesOf(program, "J.MÜLLER@firma.example")).toEqual([]);
      expect(await placesOf(program, "möller")).toEqual([
        "fact_subjects.fact_id",
        "fact_subjects.subject",
        "facts.data",
        "facts.fact_id",
      ]);
      await sendA(
        program,
        sessionCompleted({ customer: "cus_2", email: "J.MÜLLER@firma.example", created: nowSeconds() + 90 }),
      );
      expect((await ledgerOf(program)).payments.map(({ outcome }) => outcome)).toEqual(["commission", "no_ref"]);
    },
  );
});

describe("an address that is bound at any moment of its erasure (JOB-1)", () => {
  const soon = () => new Date(Date.now() + 60_000).toISOString();
  const FILE = `customer_email,partner_code\n${WORK},jane\n`;

  it("is forgotten also where nothing finds what it is bound by, as an erasure of before could leave it", async () => {
    const program = await programOfJane();
    await sendImport(program, { kind: "customers" }, FILE);
    await env.DB.prepare("delete from fact_subjects where program_id = ?").bind(program.id).run();
    await erase(program, WORK);
    expect(await placesOf(program, WORK)).toEqual([]);
    expect(countsOf((await sendImport(program, { kind: "customers" }, FILE)).body)[0]).toBe(1);
  });

  it.each([
    ["an import", (program: TestProgram) => sendImport(program, { kind: "customers" }, FILE)],
    [
      "a lead",
      (program: TestProgram) =>
        report(program, "lead", lead({ ref: "jane", customer: { email: WORK }, occurred_at: soon() })),
    ],
  ])("by %s is forgotten with it, or bound by its next payment, imported and erased as any", async (_, bind) => {
    for (let trip = 0; ; trip++) {
      const program = await programOfJane();
      await report(program, "sale", sale({ customer: { id: "user-1", email: WORK } }));
      let trips = 0;
      const before = async () => void (trips++ === trip && expect((await bind(program)).status).toBe(200));
      const { binding } = watchDatabase(env.DB, { before });
      await erase(program, WORK, { DB: binding });
      const isForgotten = (await placesOf(program, WORK)).length === 0;
      const paid = await sendA(program, sessionCompleted({ email: WORK, created: nowSeconds() + 120 }));
      expect([trip, paid.body.outcome]).toEqual([trip, isForgotten ? "no_ref" : "commission"]);
      const { status, body } = await sendImport(program, { kind: "customers" }, FILE);
      expect([trip, status, countsOf(body)[0]]).toEqual([trip, 200, isForgotten ? 1 : 0]);
      await erase(program, WORK);
      expect([trip, await placesOf(program, WORK)]).toEqual([trip, []]);
      if (trips <= trip) break;
      expect(trip).toBeLessThan(30);
    }
  });
});
