/** Leads from the owner's server attribute later payments of every provider (FACT-4). */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lead, report, sale } from "../support/api.ts";
import { sendImport, countsOf } from "../support/imports.ts";
import { makeWorldProgram } from "../support/ledger-world.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { customerEventB, transactionCompleted } from "../support/provider-b.ts";
import { SEED } from "../support/seed.ts";

const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const created = (ms: number) => Math.floor((Date.now() - ms) / 1_000);

type Step = (program: TestProgram) => Promise<{ status: number }>;

async function programOfJane(): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane", email: "jane@partners.example" });
  await makePartner(program, { slug: "bob", email: "bob@partners.example" });
  return program;
}

/** The earning partner, the kind of commission and the amount, by payment. */
async function earned(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return Object.fromEntries(
    payments.flatMap(({ id, event, provider_transaction_id, outcome, decision }) => {
      if (event === "lead_created") return [];
      const rows = commissions.filter(({ payment_id, status }) => payment_id === id && status !== "rejected");
      const sum = rows.reduce((all, { amount_cents }) => all + amount_cents, 0);
      const by = [outcome, decision?.partner_slug ?? null, decision?.ref_source ?? null, sum];
      return [[provider_transaction_id, by]];
    }),
  );
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

const EMAIL = "Buyer@Shop.example";
const leadOf = (customer: { id?: string; email?: string }): Step => {
  const body = lead({ ref: "jane", customer, occurred_at: ago(3 * HOUR) });
  return (program) => report(program, "lead", body);
};
const leadOfBob: Step = (program) =>
  report(program, "lead", lead({ external_id: "l2", ref: "bob", customer: { email: EMAIL }, occurred_at: ago(HOUR) }));
const paidA = (given: Parameters<typeof sessionCompleted>[0]): Step => {
  const event = sessionCompleted({ id: "pay_1", amount: 10_000, tax: 0, created: created(HOUR), ...given });
  return (program) => sendA(program, event);
};
const paidB: Step = (program) =>
  sendB(
    program,
    transactionCompleted({ id: "txn_1", customer: "ctm_1", amount: 10_000, tax: 0, occurred_at: ago(HOUR) }),
  );
const namedB: Step = (program) =>
  sendB(program, customerEventB({ id: "ctm_1", email: EMAIL, occurred_at: ago(2 * HOUR) }));

describe("a lead serves the payments of every provider (FACT-4)", () => {
  const stories: [string, Step[], object][] = [
    [
      "provider A's, by the customer's id",
      [leadOf({ id: "cus_1" }), paidA({ customer: "cus_1", email: null })],
      { pay_1: ["commission", "jane", "customer", 2_000] },
    ],
    [
      "provider A's, by the address",
      [leadOf({ id: "user-1", email: EMAIL }), paidA({ customer: "cus_1", email: EMAIL.toLowerCase() })],
      { pay_1: ["commission", "jane", "email", 2_000] },
    ],
    [
      "provider B's, by the customer's id",
      [leadOf({ id: "ctm_1", email: "other@shop.example" }), paidB],
      { txn_1: ["commission", "jane", "customer", 2_000] },
    ],
    [
      "provider B's, by the address that the provider gives the customer",
      [leadOf({ email: EMAIL }), paidB, namedB],
      { txn_1: ["commission", "jane", "email", 2_000] },
    ],
    [
      "provider A's that carry no reference of a partner's, and no others",
      [leadOf({ email: EMAIL }), paidA({ email: EMAIL, ref: "bob" }), paidB],
      { pay_1: ["commission", "bob", "payment", 2_000], txn_1: ["no_ref", null, null, 0] },
    ],
  ];

  it.each(stories)("%s, in any order", async (_, steps, expected) => {
    for (const order of permutations(steps)) {
      const program = await programOfJane();
      for (const step of order) expect((await step(program)).status).toBe(200);
      expect(await earned(program)).toEqual(expected);
    }
  });

  it("and none made before it, or of somebody else", async () => {
    const program = await programOfJane();
    await paidA({ id: "before", email: EMAIL, created: created(5 * HOUR) })(program);
    await paidA({ id: "other", email: "other@shop.example", customer: "cus_2" })(program);
    await leadOf({ id: "user-1", email: EMAIL })(program);
    expect(await earned(program)).toEqual({ before: ["no_ref", null, null, 0], other: ["no_ref", null, null, 0] });
  });

  it("a sale that the server reports binds nobody elsewhere", async () => {
    const program = await programOfJane();
    const order = sale({ external_id: "o", ref: "jane", customer: { id: "cus_1", email: EMAIL } });
    await report(program, "sale", { ...order, occurred_at: ago(3 * HOUR) });
    await paidA({ customer: "cus_1", email: EMAIL })(program);
    expect(await earned(program)).toMatchObject({ pay_1: ["no_ref", null, null, 0] });
  });

  it("an import leaves its customer to the partner", async () => {
    const program = await programOfJane();
    await leadOf({ id: "cus_1", email: EMAIL })(program);
    const file = `customer_id,customer_email,partner_code\ncus_1,,bob\ncus_2,,bob\n,${EMAIL},bob\n`;
    const { body } = await sendImport(program, { kind: "customers" }, file);
    expect(countsOf(body)).toEqual([1, 0, 0, 2, 0]);
  });

  it.each<[string, string, Step[], string]>([
    ["the line has the address", `cus_1,${EMAIL},bob`, [], "pay_1"],
    [
      "a payment had it",
      "cus_1,,bob",
      [paidA({ customer: "cus_1", email: EMAIL, id: "first", created: created(5 * HOUR) })],
      "pay_1",
    ],
    ["another partner has a newer one", `cus_1,${EMAIL},bob`, [leadOfBob], "pay_1"],
    ["two lines of the customer have it", `cus_1,,bob\ncus_1,${EMAIL},bob`, [], "pay_1"],
    ["the provider gave it", "ctm_1,,bob", [namedB], "txn_1"],
  ])("an import leaves the customer also to a lead by the address where %s", async (_, lines, before, paid) => {
    const program = await programOfJane();
    await program.api("PATCH", "/api/v1/programs/me", { attribution: "first" });
    await leadOf({ email: EMAIL })(program);
    for (const step of before) await step(program);
    const file = `customer_id,customer_email,partner_code\n${lines}\n`;
    for (const dry_run of ["true", "false"]) {
      const { body } = await sendImport(program, { kind: "customers", dry_run }, file);
      expect([body.added, body.problems[0]]).toMatchObject([0, { line: 2, outcome: "left_out" }]);
    }
    const soon = Date.now() + HOUR;
    await paidA({ customer: "cus_1", email: EMAIL, created: Math.floor(soon / 1_000) })(program);
    const later = { id: "txn_1", customer: "ctm_1", amount: 10_000, tax: 0, occurred_at: new Date(soon).toISOString() };
    await sendB(program, transactionCompleted(later));
    expect((await earned(program))[paid]).toEqual(["commission", "jane", "email", 2_000]);
  });

  it.each([false, true])(
    "also once the owner has corrected its reference and asks again (id bound: %s)",
    async (isIdBound) => {
      const program = await programOfJane();
      const occurred_at = ago(3 * HOUR);
      const later = lead({ ref: "later", customer: { id: "ctm_1", email: EMAIL }, occurred_at });
      expect((await report(program, "lead", later)).body.outcome).toBe("unknown_ref");
      await paidA({ email: EMAIL })(program);
      await paidB(program);
      const nobody = ["no_ref", null, null, 0];
      expect(await earned(program)).toEqual({ pay_1: nobody, txn_1: nobody });
      const row = (await ledgerOf(program)).payments.find(({ event }) => event === "lead_created")!;
      await makePartner(program, { slug: "later" });
      // Another lead binds only the id; the reprocessed lead still has to bind the address.
      const again = lead({ ref: "later", customer: { id: "ctm_1" }, occurred_at });
      if (isIdBound) expect((await report(program, "lead", again)).status).toBe(200);
      expect((await program.api("POST", `/api/v1/payments/${row.id}/reprocess`)).status).toBe(200);
      const by = (what: string) => ["commission", "later", what, 2_000];
      expect(await earned(program)).toEqual({ pay_1: by("email"), txn_1: by("customer") });
    },
  );

  it("an erasure takes the address, and what was earned stays (FACT-6)", async () => {
    for (const first of [true, false]) {
      const program = await programOfJane();
      const [bound, paid] = [leadOf({ id: "user-1", email: EMAIL }), paidA({ email: EMAIL })];
      for (const step of first ? [bound, paid] : [paid, bound]) await step(program);
      await program.api("POST", "/api/v1/customers/erase", { email: EMAIL });
      const rows = await env.DB.prepare(
        `select data as text from facts where program_id = ?1 union all select subject from fact_subjects
          where program_id = ?1 union all select ifnull(body, '') from provider_events where program_id = ?1
          union all select ifnull(customer_email, '') || ifnull(decision, '') from payments where program_id = ?1`,
      )
        .bind(program.id)
        .all<{ text: string }>();
      expect(rows.results.filter(({ text }) => /shop\.example/i.test(text))).toEqual([]);
      for (const { id } of (await ledgerOf(program)).payments) {
        expect((await program.api("POST", `/api/v1/payments/${id}/reprocess`)).status).toBe(200);
      }
      expect(await earned(program)).toMatchObject({ pay_1: ["commission", "jane", expect.anything(), 2_000] });
    }
  });
});

const RUNS = Math.ceil(Number(env.PROPERTY_RUNS) / 4);
const T0 = 1_780_000_000;
const DAY = 86_400;

const slug = fc.constantFrom("ann", "Bob", "dan", "nobody");
const person = fc.nat(1);
const happening = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("lead" as const), ref: slug, person, by: fc.nat(4) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ do: fc.constant("payment" as const), person, of: fc.nat(2) },
      ref: fc.option(slug, { freq: 2 }),
      hasEmail: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("address" as const), person }) },
);

/** The steps of a story, one day apart; a person has one id at each provider and one address. */
function stepsOf(story: readonly (typeof happening extends fc.Arbitrary<infer S> ? S : never)[]): Step[] {
  return story.map((each, at) => {
    const seconds = T0 + at * DAY;
    const occurred_at = new Date(seconds * 1_000).toISOString();
    const email = `p${each.person}@x.example`;
    const [a, b, own] = [`cus_${each.person}`, `ctm_${each.person}`, `u${each.person}`];
    if (each.do === "address") {
      const event = customerEventB({ id: b, email, occurred_at });
      return (program) => sendB(program, event);
    }
    if (each.do === "lead") {
      const customer = [{ id: a }, { id: b }, { id: own }, { email }, { id: own, email }][each.by]!;
      const body = lead({ external_id: `l${at}`, ref: each.ref, customer, occurred_at });
      return (program) => report(program, "lead", body);
    }
    const { ref } = each;
    const address = each.hasEmail ? email : null;
    if (each.of === 0) {
      const event = sessionCompleted({ id: `cs_${at}`, customer: a, email: address, ref, tax: 0, created: seconds });
      return (program) => sendA(program, event);
    }
    if (each.of === 1) {
      const event = transactionCompleted({ id: `txn_${at}`, customer: b, ref, tax: 0, occurred_at });
      return (program) => sendB(program, event);
    }
    const customer = address === null ? { id: own } : { id: own, email: address };
    const body = sale({ external_id: `s${at}`, customer, ...(ref === null ? {} : { ref }), occurred_at });
    return (program) => report(program, "sale", body);
  });
}

describe(`a story of leads and payments of all providers (seed ${SEED}, ${RUNS} runs)`, () => {
  it("ends in the same sums in any order, also at once (FACT-4, LAW-1)", async () => {
    const stories = fc.array(happening, { minLength: 2, maxLength: 9 });
    const attribution = fc.constantFrom("first" as const, "last" as const);
    await fc.assert(
      fc.asyncProperty(stories, attribution, fc.infiniteStream(fc.nat()), async (story, by, keys) => {
        const steps = stepsOf(story);
        const [one, other] = await Promise.all([1, 2].map(() => makeWorldProgram([], { attribution: by })));
        for (const step of steps) expect((await step(other!)).status).toBe(200);
        const shuffled = steps
          .map((step) => ({ step, at: keys.next().value ?? 0 }))
          .toSorted((x, y) => x.at - y.at)
          .map(({ step }) => step);
        for (let i = 0; i < shuffled.length; i += 2) {
          const replies = await Promise.all(shuffled.slice(i, i + 2).map((step) => step(one!)));
          for (const { status } of replies) expect(status).toBe(200);
        }
        expect(await earned(one!)).toEqual(await earned(other!));
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 60_000 + RUNS * 2_000 },
    );
  });
});
