/** Customers that an import binds to partners, and their effect on the ledger (IMP-4). */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importCustomers } from "../../src/core/imports/customers.ts";
import type { CustomerLine } from "../../src/core/imports/customer-lines.ts";
import { receiveEvent } from "../../src/core/inbound/receive.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { countsOf, programWith, sendImport } from "../support/imports.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { chargeRefunded, invoicePaid, sessionCompleted, type EventA } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { makePartner, makeProgram, programContext, type TestProgram, programOfPartner } from "../support/program.ts";

const CUSTOMERS = { kind: "customers" };
const HOUR = 3_600;

/** Unix time in seconds, a little later than an import made now. */
const soon = () => Math.ceil(Date.now() / 1000) + 5;
const past = () => soon() - 2 * HOUR;

/** The partner that each payment earned for, by the vendor's id. */
async function earners(program: TestProgram): Promise<Record<string, string | null>> {
  const { payments, commissions } = await ledgerOf(program);
  return Object.fromEntries(
    payments.map(({ id, provider_transaction_id, ref, outcome, decision }) => {
      const earned = commissions.some((row) => row.payment_id === id && row.status !== "rejected");
      const reported = outcome === "commission" && earned ? `${ref} by ${decision?.ref_source}` : null;
      return [provider_transaction_id, reported];
    }),
  );
}

describe("an imported customer", () => {
  it("is the partner's from then on, known by the provider's id or by the address (REF-3)", async () => {
    const program = await programWith("ann", "bob");
    const before = sessionCompleted({ id: "cs_before", customer: "cus_1", email: "one@x.example", created: past() });
    await sendA(program, before);
    const file = [
      "customer_id,customer_email,partner_code,status",
      "cus_1,one@x.example,ANN,active",
      ",Two@X.example,ann,active",
      "ctm_3,,bob,cancelled",
      "4711,four@x.example,bob,",
    ].join("\n");
    const { status, body } = await sendImport(program, CUSTOMERS, file);
    expect([status, countsOf(body), body.problems, body.data_param]).toEqual([200, [4, 0, 0, 0, 0], [], null]);

    await sendA(program, sessionCompleted({ id: "cs_1", customer: "cus_1", email: null, created: soon() }));
    await sendA(program, invoicePaid({ id: "in_2", customer: "cus_new", email: "TWO@x.example", created: soon() }));
    await sendB(
      program,
      transactionCompleted({
        id: "txn_3",
        customer: "ctm_3",
        ref: null,
        occurred_at: new Date(soon() * 1000).toISOString(),
      }),
    );
    await sendA(program, sessionCompleted({ id: "cs_4", email: "four@x.example", created: soon() }));
    await sendA(program, sessionCompleted({ id: "cs_5", customer: "cus_5", email: "five@x.example", created: soon() }));
    expect(await earners(program)).toEqual({
      ...{ cs_before: null, cs_1: "ann by customer", in_2: "ann by email", txn_3: "bob by customer" },
      ...{ cs_4: "bob by email", cs_5: null },
    });
  });

  it("earns nothing for what was paid before, even where that is known later or recalculated (IMP-4)", async () => {
    const program = await programWith("ann");
    await sendA(program, sessionCompleted({ id: "cs_old", customer: "cus_1", created: past() }));
    await sendImport(program, CUSTOMERS, "customer_id,partner_code\ncus_1,ann\n");
    await sendA(program, sessionCompleted({ id: "cs_late", customer: "cus_1", created: soon() - 600 }));
    const { payments } = await ledgerOf(program);
    for (const { id } of payments) {
      expect((await program.api("POST", `/api/v1/payments/${id}/reprocess`)).status).toBe(200);
    }
    expect(await earners(program)).toEqual({ cs_old: null, cs_late: null });
  });

  it("reaches payments dated later that came while it was made", async () => {
    const program = await programWith("ann");
    await sendA(
      program,
      sessionCompleted({ id: "cs_1", customer: "cus_1", email: "a@x.example", created: soon() + 60 }),
    );
    await sendA(program, sessionCompleted({ id: "cs_2", customer: null, email: "B@x.example", created: soon() + 60 }));
    await sendImport(program, CUSTOMERS, "customer_id,customer_email,partner_code\ncus_1,,ann\n,b@X.example,ann\n");
    expect(await earners(program)).toEqual({ cs_1: "ann by customer", cs_2: "ann by email" });
  });

  it.each(["last", "first"] as const)(
    "gives way to what the provider said, where the %s click counts",
    async (attribution) => {
      const program = await programWith("ann", "bob");
      await program.api("PATCH", "/api/v1/programs/me", { attribution });
      await sendA(program, sessionCompleted({ id: "cs_0", ref: "bob", customer: "cus_1", created: past() }));
      const file = "customer_id,partner_code\ncus_1,ann\ncus_2,ann\n";
      const { body } = await sendImport(program, CUSTOMERS, file);
      expect(countsOf(body)).toEqual([1, 0, 0, 1, 0]);
      expect(body.problems).toEqual([
        {
          line: 2,
          column: "customer_id",
          outcome: "left_out",
          message: "This customer already belongs to another partner.",
        },
      ]);
      await sendA(program, sessionCompleted({ id: "cs_1", customer: "cus_1", created: soon() }));
      await sendA(program, sessionCompleted({ id: "cs_2", ref: "bob", customer: "cus_2", created: soon() }));
      await sendA(program, sessionCompleted({ id: "cs_3", customer: "cus_2", created: soon() + 10 }));
      expect(await earners(program)).toEqual({
        ...{ cs_0: "bob by payment", cs_1: "bob by customer", cs_2: "bob by payment" },
        cs_3: attribution === "first" ? "ann by customer" : "bob by customer",
      });
    },
  );

  it("is bound once: again it changes nothing, to another partner it is refused in the report (IMP-4)", async () => {
    const program = await programWith("ann", "bob");
    const file =
      "customer_id,customer_email,partner_email\ncus_1,,ann@partners.example\n,b@x.example,ANN@partners.example\n";
    await sendImport(program, CUSTOMERS, file);
    const again = await sendImport(program, CUSTOMERS, file);
    expect(countsOf(again.body)).toEqual([0, 0, 2, 0, 0]);
    const other = await sendImport(program, CUSTOMERS, file.replaceAll(/ann@/gi, "bob@"));
    expect(countsOf(other.body)).toEqual([0, 0, 0, 2, 0]);
    await sendA(program, sessionCompleted({ id: "cs_1", customer: "cus_1", created: soon() }));
    expect(await earners(program)).toEqual({ cs_1: "ann by customer" });
    const events = await program.api<{ data: { payload: object }[] }>("GET", "/api/v1/events?type=customers.imported");
    expect(events.body.data).toHaveLength(1);
    expect(events.body.data[0]?.payload).toMatchObject({ customers: 2, partners: [{ customers: 2 }] });
    expect(JSON.stringify(events.body)).not.toContain("b@x.example");
  });

  it("waits with an invited partner and goes on with a renamed one", async () => {
    const [program, partner] = await programOfPartner({}, { slug: "ivy" }, "invited");
    await sendImport(program, CUSTOMERS, "customer_id,partner_code\ncus_1,ivy\n");
    await sendA(program, sessionCompleted({ id: "cs_1", customer: "cus_1", created: soon() }));
    expect((await ledgerOf(program)).payments[0]?.outcome).toBe("partner_not_active");
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { status: "active", slug: "ivy-new" });
    await sendA(program, sessionCompleted({ id: "cs_2", customer: "cus_1", created: soon() }));
    expect(await earners(program)).toEqual({ cs_1: "ivy by customer", cs_2: "ivy by customer" });
  });

  it("is forgotten with its address, and every sum stays", async () => {
    const program = await programWith("ann");
    await sendImport(program, CUSTOMERS, "customer_email,partner_code\nJo@x.example,ann\nother@x.example,ann\n");
    const ids = { payment_intent: "pi_1", customer: null };
    await sendA(
      program,
      sessionCompleted({ id: "cs_1", email: "jo@x.example", amount: 10_000, created: soon(), ...ids }),
    );
    await program.api("POST", "/api/v1/customers/erase", { email: "JO@x.example" });
    const rows = await env.DB.prepare(
      "select json_group_array(data) || (select json_group_array(subject || fact_id) from fact_subjects where program_id = ?1) as reported from facts where program_id = ?1",
    )
      .bind(program.id)
      .first<{ reported: string }>();
    expect(rows?.reported.toLowerCase()).not.toContain("jo@x.example");
    expect(rows?.reported).toContain("other@x.example");
    await sendA(program, chargeRefunded({ charge: "ch_1", payment_intent: "pi_1", amount: 10_000, refunded: 1_000 }));
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ amount_cents, status }) => [amount_cents, status])).toEqual([[1_800, "pending"]]);
    await sendA(program, sessionCompleted({ id: "cs_2", email: "jo@x.example", created: soon() }));
    expect((await earners(program))["cs_2"]).toBeNull();
  });

  it("is of its own program only", async () => {
    const [own, other] = await Promise.all([programWith("ann"), programWith("ann", "zed")]);
    await sendImport(own, CUSTOMERS, "customer_id,partner_code\ncus_1,ann\n");
    await sendA(other, sessionCompleted({ id: "cs_1", customer: "cus_1", created: soon() }));
    expect(await earners(other)).toEqual({ cs_1: null });
    const foreign = await sendImport(own, CUSTOMERS, "customer_id,partner_code\ncus_2,zed\n");
    expect(foreign.body.problems[0]?.message).toBe("There is no such partner. Import the partners first.");
  });
});

describe("a file of customers", () => {
  it("reports each line that is nothing to import, or a mistake", async () => {
    const program = await programWith("ann", "bob");
    const file = [
      "Customer ID,Customer Email,Affiliate Email,Token,State",
      ",,ann@partners.example,ann,visitor",
      ",,ann@partners.example,ann,lead",
      "cus_1,,,,lead",
      "cus_2,,ann@partners.example,ann,denied",
      "cus_3,,bob@partners.example,ann,lead",
      "cus_4,,nobody@partners.example,nobody,lead",
      "4711,,ann@partners.example,,lead",
      "4711,not an address,ann@partners.example,,lead",
      "cus_5,,ann@partners.example,,conversion",
      "cus_5,,ann@partners.example,ann,conversion",
      "cus_6,,,b.ob,lead",
    ].join("\n");
    const { body } = await sendImport(program, { ...CUSTOMERS, product: "rewardful" }, file);
    expect(countsOf(body)).toEqual([1, 0, 0, 4, 6]);
    expect(
      body.problems.map(({ line, column, outcome, message }) => `${line} ${column} ${outcome} ${message}`),
    ).toEqual([
      "2 State left_out The referral does not count in this state.",
      "3 null left_out It does not name a customer.",
      "4 null left_out It does not name a partner.",
      "5 State left_out The referral does not count in this state.",
      "6 Token refused This line names two partners.",
      "7 Token refused There is no such partner. Import the partners first.",
      expect.stringMatching(
        /^8 Customer ID refused This is not a provider's customer id, which begins with cus_ \(Stripe\) or /,
      ),
      "9 Customer Email refused This must be an e-mail address.",
      "11 Customer ID refused This customer is on line 10.",
      "12 Token refused “b.ob” cannot be a slug, which is 1 to 64 letters, digits, - or _.",
    ]);
  });

  it("is bound by the address where an id is not of the named provider's form, an owner's own number say (IMP-4)", async () => {
    const program = await programWith("ann");
    const file = "uid,email,promoter_email\n42,ann.b@x.example,ann@partners.example\n43,,ann@partners.example\n";
    const { body } = await sendImport(program, { ...CUSTOMERS, provider: "provider_a" }, file);
    expect(countsOf(body)).toEqual([1, 0, 0, 0, 1]);
    expect(body.problems).toEqual([
      {
        ...{ line: 3, column: "uid", outcome: "refused" },
        message: "This is not a customer id of Stripe, which begins with cus_.",
      },
    ]);
    expect(body.notes).toMatchObject([{ line: 2, column: "uid", message: expect.stringMatching(/e-mail address.$/) }]);
    await sendA(
      program,
      sessionCompleted({ id: "cs_1", customer: "cus_1", email: "Ann.B@x.example", created: soon() }),
    );
    expect(await earners(program)).toEqual({ cs_1: "ann by email" });
  });

  it("is bound by the vendor's id, in whichever column the line has it (IMP-8)", async () => {
    const program = await programWith("ann", "bob");
    const file = [
      "customer_key,name,email,partner_key,provider_key,stripe_id",
      "8812,Shop,,ann,cus_1,",
      "8813,Shop,s@x.example,ann,cus\u200b_2,",
      "8814,Shop,,bob,,cus_3",
      "8815,Shop,,bob,cus_4,cus_5",
    ].join("\n");
    const { body } = await sendImport(program, { ...CUSTOMERS, product: "partnerstack" }, file);
    expect(countsOf(body)).toEqual([3, 0, 0, 0, 1]);
    expect(body.problems).toMatchObject([
      { line: 5, column: "stripe_id", message: "This line has another customer id, “cus_4”." },
    ]);
    for (const id of ["cus_1", "cus_2", "cus_3"]) {
      await sendA(program, sessionCompleted({ id: `cs_${id}`, customer: id, created: soon() }));
    }
    expect(Object.values(await earners(program)).toSorted()).toEqual([
      ...["ann by customer", "ann by customer", "bob by customer"],
    ]);
  });

  it("is refused with the form of the id where payments of the named provider have no address (IMP-4)", async () => {
    const program = await programWith("ann");
    const file = [
      "uid,email,promoter_email",
      "42,x@x.example,ann@partners.example",
      "43,,ann@partners.example",
      ",x@x.example,ann@partners.example",
      "ctm_4,x@x.example,ann@partners.example",
    ].join("\n");
    const { body } = await sendImport(program, { ...CUSTOMERS, provider: "provider_b" }, file);
    expect(countsOf(body)).toEqual([1, 0, 0, 0, 3]);
    const form = "This is not a customer id of Paddle, which begins with ctm_.";
    expect(body.problems.map(({ line, column, message }) => `${line} ${column}: ${message}`)).toEqual([
      `2 uid: ${form}`,
      `3 uid: ${form}`,
      "4 email: Payments of Paddle have no e-mail address: use the customer's id.",
    ]);
  });

  it("takes the owner's own ids where the owner's server reports the payments (IMP-4)", async () => {
    const program = await programWith("ann");
    const file = "uid,email,promoter_email\n42,,ann@partners.example\nno id,,ann@partners.example\n";
    const { body } = await sendImport(program, { ...CUSTOMERS, provider: "api" }, file);
    expect(countsOf(body)).toEqual([1, 0, 0, 0, 1]);
    expect(body.problems[0]?.message).toBe(
      "This must be 1 to 200 letters, digits and _ . : / = + ~ -, and no e-mail address.",
    );
  });
});

describe("the ledger is a function of the set of facts, imported ones among them", () => {
  const RUNS = Number(env.PROPERTY_RUNS) / 10;
  const T0 = 1_900_000_000;

  interface Step {
    at: number;
    run: (program: TestProgram) => Promise<unknown>;
  }

  const payment = (
    n: number,
    customer: string | null,
    email: string | null,
    ref: string | null,
    minute: number,
  ): Step => ({
    at: minute,
    run: (program) =>
      deliver(
        program,
        sessionCompleted({
          id: `cs_${n}`,
          event_id: `evt_${n}`,
          customer,
          email,
          ref,
          created: T0 + minute * 60,
        }),
      ),
  });

  const binding = (line: CustomerLine, minute: number): Step => ({
    at: minute,
    run: (program) => importCustomers(programContext(program, (T0 + minute * 60) * 1000), [line]),
  });

  async function deliver(program: TestProgram, event: EventA): Promise<void> {
    const parsed = providerA.parse(JSON.parse(JSON.stringify(event)));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.details));
    await receiveEvent(programContext(program), "provider_a", parsed.event, "{}");
  }

  it("in any order of payments and one import, each earns for the same partner", async () => {
    const step = fc.record({
      customer: fc.constantFrom("cus_1", "cus_2", null),
      email: fc.constantFrom("one@x.example", "Two@x.example", null),
      ref: fc.constantFrom("bob", null, null),
      minute: fc.integer({ min: 0, max: 240 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 0, max: 240 }),
        fc.constantFrom("last" as const, "first" as const),
        fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
        async (steps, minute, attribution, keys) => {
          const lines: CustomerLine[] = [
            {
              line: 2,
              customer: { provider: "provider_a", scope: "customer", subject: "cus_1" },
              customer_email: null,
              codes: ["ann"],
              partner_email: null,
              unreadable: null,
            },
            {
              line: 3,
              customer: { provider: "provider_a", scope: "email", subject: "two@x.example" },
              customer_email: null,
              codes: ["ann"],
              partner_email: null,
              unreadable: null,
            },
          ];
          const all = [
            ...steps.map(({ customer, email, ref, minute: at }, n) => payment(n, customer, email, ref, at)),
            ...lines.map((line) => binding(line, minute)),
          ];
          const orders = [all, all.toReversed(), all.toSorted((a, b) => (keys[a.at % 8] ?? 0) - (keys[b.at % 8] ?? 0))];
          const outcomes = await Promise.all(
            orders.map(async (order) => {
              const program = await makeProgram({ attribution });
              for (const slug of ["ann", "bob"])
                await makePartner(program, { slug, email: `${slug}@partners.example` });
              for (const { run } of order) await run(program);
              return earners(program);
            }),
          );
          expect(outcomes[1]).toEqual(outcomes[0]);
          expect(outcomes[2]).toEqual(outcomes[0]);
        },
      ),
      { numRuns: RUNS },
    );
  });
});
