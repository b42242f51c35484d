/**
 * REF-1, REF-2: all references of a payment are candidates, in this order: `client_reference_id`, `metadata.service_ref`
 * of the object, of its subscription, lines, invoice and customer […]; the remembered one. The first that leads to a
 * partner of the program counts. An unknown reference is named in the trace, does not hide another and is never
 * remembered.
 */
import { describe, expect, it } from "vitest";
import { orders } from "../support/any-order.ts";
import { makeClaim } from "../support/claims.ts";
import { at, isoAt, reported, traced, type Traced } from "../support/code-sales.ts";
import { sendImport } from "../support/imports.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type ProgramFields, type TestProgram } from "../support/program.ts";
import { paymentIntentSucceeded } from "../support/provider-a-changes.ts";
import {
  chargeRefunded,
  customerEvent,
  invoicePaid,
  sessionAsyncSucceeded,
  sessionCompleted,
  sessionSetup,
  subscriptionEventA,
} from "../support/provider-a.ts";
import { subscriptionEventB, transactionCompleted } from "../support/provider-b.ts";
import { all } from "../support/rows.ts";

function programOf(...slugs: string[]): Promise<TestProgram> {
  return withPartners({}, ...slugs);
}

async function withPartners(fields: ProgramFields, ...slugs: string[]): Promise<TestProgram> {
  const program = await makeProgram(fields);
  for (const slug of slugs) await makePartner(program, { slug });
  return program;
}

async function reprocess(program: TestProgram, payment: { id: string } | undefined) {
  return (await program.api<Traced>("POST", `/api/v1/payments/${payment?.id}/reprocess`)).body;
}

/** Each payment and whose it is, by the provider's id. */
async function ownedBy(program: TestProgram): Promise<Record<string, { id: string; slug: string | null }>> {
  const rows = await all<{ key: string; id: string; slug: string | null }>(
    `select provider_transaction_id as key, p.id as id, slug from payments p left join partners on partners.id = partner_id
      where p.program_id = ?`,
    program.id,
  );
  return Object.fromEntries(rows.map(({ key, id, slug }) => [key, { id, slug }]));
}

describe("candidates of a payment (REF-1, REF-2)", () => {
  it("go by their places, whichever event of the payment carries them", async () => {
    const customer = { id: "cus_1", metadata: { service_ref: "joe" } };
    const sale = [
      sessionCompleted({ ref: null, invoice: "in_1", subscription: "sub_1", object: { customer } }),
      invoicePaid({ id: "in_1", ref: "jane", subscription: "sub_1", customer: "cus_1" }),
    ];
    for (const events of orders(sale)) {
      const program = await programOf("jane", "joe");
      for (const event of events) await sendA(program, event);
      expect((await ownedBy(program))["in_1"]?.slug).toBe("jane");
    }
  });

  it("a foreign client_reference_id hides no metadata.service_ref", async () => {
    const program = await programOf("jane");
    const session = sessionCompleted({ ref: "cart-77", metadata: { service_ref: "JANE" }, customer: "cus_1" });
    expect((await sendA(program, session)).body).toEqual({ received: true, outcome: "commission" });
    const [payment] = await traced(program);
    expect(payment?.trace).toMatchObject({
      ref: "JANE",
      ref_source: "payment",
      partner_slug: "jane",
      candidates: [
        { ref: "cart-77", source: "client_reference_id", partner_id: null },
        { ref: "JANE", source: "metadata", partner_id: expect.stringMatching(/^par_/) },
      ],
    });
  });

  it("the first that leads to a partner counts, whatever the others lead to", async () => {
    const program = await programOf("jane", "joe");
    await sendA(
      program,
      sessionCompleted({ ref: "joe", metadata: { service_ref: "jane" }, customer: "cus_1", created: at(0) }),
    );
    await sendA(program, sessionCompleted({ ref: null, customer: "cus_1", created: at(1) }));
    // The reference that counted is remembered.
    expect(await reported(program)).toEqual(["commission joe payment", "commission joe customer"]);
    expect((await traced(program))[0]?.trace.candidates.map(({ ref }) => ref)).toEqual(["joe", "jane"]);
  });

  it.each([
    ["first", "joe", "jane"],
    ["last", "joe", "jane"],
    ["first", "jane", "joe"],
    ["last", "jane", "joe"],
  ] as const)(
    "of those of one event only it is remembered (attribution %s: %s before %s)",
    async (attribution, ref, other) => {
      const program = await withPartners({ attribution }, "jane", "joe");
      const metadata = { service_ref: other };
      await sendA(program, sessionCompleted({ ref, metadata, customer: "cus_1", created: at(0) }));
      await sendA(program, sessionCompleted({ ref: null, customer: "cus_1", created: at(1) }));
      expect(await reported(program)).toEqual([`commission ${ref} payment`, `commission ${ref} customer`]);
    },
  );

  it("a letter that only Unicode lowers to one of a slug leads to nobody, in every place", async () => {
    const kelvin = "\u212aate";
    for (const carried of [{ ref: kelvin }, { ref: "cart-77", metadata: { service_ref: kelvin } }]) {
      for (const customer of ["cus_1", null]) {
        const program = await programOf("kate");
        expect((await sendA(program, sessionCompleted({ ...carried, customer }))).body.outcome).toBe("unknown_ref");
      }
    }
  });

  it("of session and invoice of one payment, whichever comes first", async () => {
    const session = sessionCompleted({ ref: "cart-77", invoice: "in_1", subscription: "sub_1", created: at(0) });
    const invoice = invoicePaid({ id: "in_1", subscription: "sub_1", ref: "jane", ref_in: "line", created: at(0) });
    for (const events of [
      [session, invoice],
      [invoice, session],
    ]) {
      const program = await programOf("jane");
      for (const event of events) await sendA(program, event);
      const [payment] = await traced(program);
      expect(payment?.trace).toMatchObject({
        ref: "jane",
        candidates: [
          { ref: "cart-77", source: "client_reference_id", partner_id: null },
          { ref: "jane", source: "line_metadata" },
        ],
      });
      expect((await ledgerOf(program)).commissions).toHaveLength(1);
    }
  });

  it.each(["first", "last"] as const)(
    "a foreign one hides no remembered one, in either order of events (attribution %s)",
    async (attribution) => {
      const known = customerEvent({ id: "cus_1", ref: "jane", created: at(0) });
      const foreign = sessionCompleted({ ref: "cart-77", customer: "cus_1", created: at(1) });
      const bare = sessionCompleted({ ref: null, customer: "cus_1", created: at(2) });
      for (const events of [
        [known, foreign, bare],
        [bare, foreign, known],
        [foreign, known, bare],
      ]) {
        const program = await withPartners({ attribution }, "jane");
        for (const event of events) await sendA(program, event);
        expect(await reported(program)).toEqual(["commission jane customer", "commission jane customer"]);
        expect((await traced(program))[0]?.trace.candidates).toMatchObject([
          { ref: "cart-77", source: "client_reference_id", partner_id: null },
          { ref: "jane", source: "remembered_customer" },
        ]);
      }
    },
  );

  it("of an invoice with many lines are all tried, however many there are", async () => {
    const program = await programOf("jane");
    const metadata = (ref: string) => ({ metadata: { service_ref: ref } });
    const data = Array.from({ length: 18 }, (_, i) => metadata(`cart-${i}`));
    const lines = { data: [...data, metadata("jane")] };
    const invoice = invoicePaid({ subscription: "sub_1", customer: "cus_1", object: { lines } });
    expect((await sendA(program, invoice)).body).toMatchObject({ outcome: "commission" });
    expect(await reported(program)).toEqual(["commission jane payment"]);
  });

  it("where none leads to a partner, the first is named and the payment says so", async () => {
    const program = await programOf("jane");
    await sendA(program, sessionCompleted({ ref: "cart-77", metadata: { service_ref: "nobody" } }));
    expect((await traced(program))[0]).toMatchObject({ outcome: "unknown_ref", trace: { ref: "cart-77" } });
  });

  it("provider B: custom_data, then what its subscription's events said", async () => {
    const program = await programOf("jane");
    const sub = { customer: "ctm_1", occurred_at: "2026-06-01T10:00:00Z" };
    await sendB(program, subscriptionEventB("subscription.created", { id: "sub_1", ref: "jane", ...sub }));
    await sendB(program, transactionCompleted({ ref: "order-9", subscription: "sub_1", customer: "ctm_1" }));
    expect((await traced(program))[0]?.trace.candidates).toMatchObject([
      { ref: "order-9", source: "metadata", partner_id: null },
      { ref: "jane", source: "remembered_subscription" },
    ]);
  });
});

describe("what leads to nobody is never remembered (REF-2)", () => {
  it("renewals of it name nobody, also after a partner of that name came", async () => {
    const program = await programOf("jane");
    const ids = { subscription: "sub_1", customer: "cus_1" };
    await sendA(program, sessionCompleted({ ref: "noah", ...ids, invoice: "in_1", created: at(0) }));
    await sendA(program, invoicePaid({ ...ids, created: at(1) }));
    expect(await reported(program)).toEqual(["unknown_ref null payment", "no_ref null null"]);
    // The value is the shop's number or its customer's name: a partner with the same slug is unrelated.
    await makePartner(program, { slug: "noah" });
    await sendA(program, invoicePaid({ ...ids, created: at(2) }));
    const payments = await traced(program);
    await reprocess(program, payments[1]);
    expect((await reported(program)).slice(1)).toEqual(["no_ref null null", "no_ref null null"]);
  });

  it("nor when the vendor sends it again after that", async () => {
    const program = await programOf();
    const setup = sessionSetup({ ref: "noah", customer: "cus_1", created: at(0) });
    expect((await sendA(program, setup)).body).toEqual({ received: true, outcome: "unknown_ref" });
    await makePartner(program, { slug: "noah" });
    await sendA(program, setup);
    await sendA(program, sessionCompleted({ ref: null, customer: "cus_1", created: at(1) }));
    expect(await reported(program)).toEqual(["no_ref null null"]);
  });

  it.each([
    ["a setup session", sessionSetup({ ref: "jane", customer: "cus_1" })],
    ["a subscription", subscriptionEventA("customer.subscription.created", { ref: "jane", customer: "cus_1" })],
    ["a customer", customerEvent({ ref: "jane", id: "cus_1" })],
  ])("%s is remembered where it does lead to a partner (REF-3)", async (_, event) => {
    expect((await sendA(await programOf("jane"), event)).body).toEqual({ received: true, outcome: "remembered" });
    expect((await sendA(await programOf("joe"), event)).body).toEqual({ received: true, outcome: "unknown_ref" });
  });

  it("until the owner puts it right and asks: then it is the partner's, renewals too", async () => {
    const program = await programOf();
    const ids = { subscription: "sub_1", customer: "cus_1" };
    await sendA(program, sessionCompleted({ ref: "jane", ...ids, invoice: "in_1", created: at(0) }));
    await sendA(program, invoicePaid({ ...ids, created: at(1) }));
    await makePartner(program, { slug: "jane" });
    const [first] = await traced(program);
    for (let i = 0; i < 2; i++) expect((await reprocess(program, first)).outcome).toBe("commission");
    await sendA(program, invoicePaid({ ...ids, created: at(2) }));
    expect(await reported(program)).toEqual([
      "commission jane payment",
      "commission jane subscription",
      "commission jane subscription",
    ]);
    expect((await ledgerOf(program)).eventCounts["commission.created"]).toBe(3);
  });

  const REMEMBERED_BESIDE = {
    "a later sale of the customer": (program) =>
      sendA(program, sessionCompleted({ id: "cs_link", ref: "jane", customer: "cus_1", created: at(3) })),
    "an import of the customer": (program) =>
      sendImport(program, { kind: "customers" }, "customer_id,partner_code\ncus_1,jane\n"),
    "a claim that was granted of it": async (program) => {
      const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/partners?search=jane");
      const claim = await makeClaim(program, body.data[0]!.id, { order_id: "in_1" });
      expect((await program.api("POST", `/api/v1/claims/${claim}/grant`, {})).status).toBe(200);
    },
    "a sale of the customer long before": async (program) => {
      await sendA(program, sessionCompleted({ id: "cs_before", ref: "jane", customer: "cus_1", created: at(-9) }));
      await sendA(program, sessionCompleted({ id: "cs_bob", ref: "bob", customer: "cus_1", created: at(-8) }));
    },
    nothing: () => Promise.resolve(),
  } satisfies Record<string, (program: TestProgram) => Promise<unknown>>;

  it.each(Object.entries(REMEMBERED_BESIDE))(
    "is stored for the subscription and the customer once it is asked for, whatever names the partner too: %s (REF-3)",
    async (_, beside) => {
      const program = await programOf("bob");
      const ids = { subscription: "sub_1", customer: "cus_1" };
      await sendA(program, sessionCompleted({ id: "cs_1", ref: "jane", ...ids, invoice: "in_1", created: at(0) }));
      await makePartner(program, { slug: "jane" });
      await sendA(program, invoicePaid({ id: "in_2", ...ids, created: at(1) }));
      await beside(program);
      const { in_1 } = await ownedBy(program);
      expect((await reprocess(program, in_1)).outcome).toBe("commission");
      await sendA(program, sessionCompleted({ id: "cs_other", ref: null, customer: "cus_1", created: at(2) }));
      await sendA(program, sessionCompleted({ id: "cs_bob_2", ref: "bob", customer: "cus_1", created: at(4) }));
      await sendA(program, invoicePaid({ id: "in_3", ...ids, created: at(5) }));
      const said = {
        in_1: { slug: "jane" },
        in_2: { slug: "jane" },
        in_3: { slug: "jane" },
        cs_other: { slug: "jane" },
      };
      expect(await ownedBy(program)).toMatchObject(said);
    },
  );

  it("and a payment whose event was remembered is not remembered again", async () => {
    const program = await programOf("jane");
    const ids = { subscription: "sub_1", customer: "cus_1" };
    await sendA(program, sessionCompleted({ ref: "jane", ...ids, invoice: "in_1", created: at(0) }));
    const remembered = () =>
      all("select fact_id from facts where program_id = ? and kind = 'attribution' order by 1", program.id);
    const before = await remembered();
    await reprocess(program, (await traced(program))[0]);
    expect(await remembered()).toEqual(before);
  });
});

describe("what led to nobody when the payment was decided leads to nobody until the owner asks (REF-2, PAY-15)", () => {
  const SOLD = { id: "cs_1", invoice: "in_1", payment_intent: "pi_1", customer: "cus_1", subscription: "sub_1" };
  const sell = (program: TestProgram, ref: string | null, step = 0) =>
    sendA(program, sessionCompleted({ ...SOLD, ref, amount: 10_000, tax: 0, created: at(step) }));
  const STEPS = {
    "the partner is made": (program: TestProgram) => makePartner(program, { slug: "1042" }),
    "a part is refunded": (program: TestProgram) =>
      sendA(program, chargeRefunded({ payment_intent: "pi_1", amount: 10_000, refunded: 1_000 })),
    "a rate is applied from before": (program: TestProgram) =>
      program.api("PATCH", "/api/v1/programs/me", { default_commission_pct: 10, apply_from: isoAt(-1) }),
  };
  const earned = async (program: TestProgram) =>
    (await ledgerOf(program)).commissions.map(({ amount_cents }) => amount_cents);

  it.each(orders(Object.entries(STEPS)).map((order) => [order.map(([name]) => name).join(", "), order] as const))(
    "%s",
    async (_, order) => {
      const program = await programOf();
      await sell(program, "1042");
      for (const [, step] of order) {
        await step(program);
        expect(await reported(program)).toEqual(["unknown_ref null payment"]);
      }
      expect(await earned(program)).toEqual([]);
      expect((await reprocess(program, (await traced(program))[0])).outcome).toBe("commission");
      expect(await earned(program)).toEqual([900]);
      await sendA(program, invoicePaid({ ...SOLD, id: "in_2", payment_intent: "pi_2", created: at(1) }));
      await sendA(program, chargeRefunded({ payment_intent: "pi_1", amount: 10_000, refunded: 2_000 }));
      expect(await reported(program)).toEqual(["commission 1042 payment", "commission 1042 subscription"]);
    },
  );

  it("a payment that is another partner's by what is remembered stays theirs", async () => {
    const program = await programOf("bob");
    await sendA(program, customerEvent({ id: "cus_1", ref: "bob", created: at(-1) }));
    await sell(program, "1042");
    for (const step of Object.values(STEPS)) await step(program);
    expect(await reported(program)).toEqual(["commission bob customer"]);
    expect(await earned(program)).toEqual([900]);
  });

  it("also where two payments turn out to be one", async () => {
    const program = await programOf();
    await sendA(program, sessionCompleted({ ...SOLD, id: "zs_1", invoice: null, ref: "1042", created: at(0) }));
    await sendA(program, invoicePaid({ ...SOLD, id: "in_1", ref: null, created: at(0) }));
    await STEPS["the partner is made"](program);
    await sendA(program, paymentIntentSucceeded({ payment_intent: "pi_1", invoice: "in_1", created: at(0) }));
    const outcomes = (await traced(program)).map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual(["merged", "unknown_ref"]);
  });

  it("but a claim of the partner that is granted gives it to them, and what is paid only later is decided then", async () => {
    const program = await programOf();
    await sell(program, "1042");
    const { id } = await STEPS["the partner is made"](program);
    const claim = await makeClaim(program, id, { order_id: "cs_1" });
    expect((await program.api("POST", `/api/v1/claims/${claim}/grant`, {})).status).toBe(200);
    await STEPS["a part is refunded"](program);
    expect(await earned(program)).toEqual([1_800]);

    const waiting = await programOf();
    const begun = { ...SOLD, customer: null, subscription: null, invoice: null, ref: "1042" };
    await sendA(waiting, sessionCompleted({ ...begun, payment_status: "unpaid", created: at(0) }));
    await STEPS["the partner is made"](waiting);
    await sendA(waiting, sessionAsyncSucceeded({ ...begun, created: at(1) }));
    expect(await reported(waiting)).toEqual(["commission 1042 payment"]);
  });
});

describe("a partner who was deactivated by mistake", () => {
  it("earns again: what was refused meanwhile is decided again where the owner asks (PART-4)", async () => {
    const program = await makeProgram();
    const gone = await makePartner(program, { slug: "gone" });
    expect((await program.api("DELETE", `/api/v1/partners/${gone.id}`)).body).toMatchObject({ status: "deactivated" });
    await sendA(program, sessionCompleted({ ref: "gone", payment_intent: "pi_1" }));
    const [payment] = await traced(program);
    expect((await reprocess(program, payment)).outcome).toBe("partner_deactivated");
    await program.api("PATCH", `/api/v1/partners/${gone.id}`, { status: "active" });
    // Automatic actions are off (PART-4).
    expect(await reported(program)).toEqual(["partner_deactivated gone payment"]);
    expect((await reprocess(program, payment)).outcome).toBe("commission");
    expect((await reprocess(program, payment)).outcome).toBe("commission");
    expect((await ledgerOf(program)).commissions).toMatchObject([{ partner_id: gone.id, amount_cents: 2_000 }]);
  });
});

describe("a reference", () => {
  it("is a partner's slug, present or former, in any case (REF-5)", async () => {
    const program = await makeProgram();
    const jane = await makePartner(program, { slug: "jane" });
    await program.api("PATCH", `/api/v1/partners/${jane.id}`, { slug: "Janet" });
    await sendA(program, sessionCompleted({ ref: "JANE", created: at(1) }));
    await sendA(program, sessionCompleted({ ref: "janeT", created: at(2) }));
    await sendA(program, sessionCompleted({ ref: "jan", created: at(3) }));
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ partner_id }) => partner_id)).toEqual([jane.id, jane.id]);
  });

  it.each([
    ["first", "ann"],
    ["last", "bob"],
  ] as const)(
    "that is remembered is the earliest or the newest, by the program's attribution: %s (REF-4)",
    async (attribution, slug) => {
      const program = await makeProgram({ attribution });
      const partners = {
        ann: await makePartner(program, { slug: "ann" }),
        bob: await makePartner(program, { slug: "bob" }),
      };
      // The later reference comes first.
      await sendA(program, sessionSetup({ ref: "bob", customer: "cus_1", created: at(2) }));
      await sendA(program, sessionSetup({ ref: "ann", customer: "cus_1", created: at(1) }));
      await sendA(program, sessionCompleted({ ref: null, customer: "cus_1", created: at(3) }));
      const { commissions } = await ledgerOf(program);
      expect(commissions).toMatchObject([{ partner_id: partners[slug].id }]);
    },
  );
});
