/** An erasure does not remove other customers' data (JOB-1). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { lead, report, sale } from "../support/api.ts";
import { bodies } from "../support/bodies.ts";
import { erase, tryToErase } from "../support/erasure.ts";
import { sendImport } from "../support/imports.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { placesOf } from "../support/places.ts";
import { programContext, type TestProgram, programOfJane } from "../support/program.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { customerEventB, transactionCompleted } from "../support/provider-b.ts";
import { differencesOf } from "../support/reconcile.ts";
import { all } from "../support/rows.ts";
import { watchDatabase } from "../support/watched-database.ts";

const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

const amounts = async (program: TestProgram) =>
  (await ledgerOf(program)).commissions.map(({ status, amount_cents }) => `${status} ${amount_cents}`).toSorted();

const refund = (program: TestProgram) =>
  sendA(program, chargeRefunded({ charge: "ch_9", payment_intent: "pi_9", amount: 10_000, refunded: 1_000 }));

describe("a lead's binding of an address that another customer has too", () => {
  const OLD = "kim@old.example";
  const NEW = "kim@new.example";

  /** A customer with an id of the owner's that has had two addresses. */
  async function movedCustomer(): Promise<TestProgram> {
    const program = await programOfJane();
    const first = lead({ ref: "jane", customer: { id: "user-7", email: OLD }, occurred_at: ago(5 * HOUR) });
    expect((await report(program, "lead", first)).body.outcome).toBe("remembered");
    const second = sale({ customer: { id: "user-7", email: NEW }, occurred_at: ago(3 * HOUR), amount_cents: 100 });
    expect((await report(program, "sale", second)).body.outcome).toBe("commission");
    return program;
  }

  /** A payment of a vendor's customer that is known only by the first address. */
  const paid = () => {
    const created = Math.floor((Date.now() - 4 * HOUR) / 1_000);
    return sessionCompleted({ email: OLD, customer: "cus_9", payment_intent: "pi_9", amount: 10_000, tax: 0, created });
  };

  it("stays when the lead's customer is erased by another address: what the other has earned stays through a refund", async () => {
    const program = await movedCustomer();
    expect((await sendA(program, paid())).body.outcome).toBe("commission");
    await erase(program, NEW);
    expect(await placesOf(program, NEW)).toEqual([]);
    expect(await differencesOf(programContext(program))).toEqual([]);
    await refund(program);
    expect(await amounts(program)).toEqual(["pending 1800", "pending 20"]);
  });

  it("goes when that customer is erased too", async () => {
    const program = await movedCustomer();
    await sendA(program, paid());
    for (const email of [NEW, OLD]) await erase(program, email);
    expect(await placesOf(program, OLD, NEW)).toEqual([]);
    await refund(program);
    expect(await amounts(program)).toEqual(["pending 1800", "pending 20"]);
  });

  it.each(["erasure", "payment"] as const)(
    "goes by what the ledger is in the end, where the payment comes at any moment: the other waits, %s",
    async (slow) => {
      for (let place = 0; ; place++) {
        const program = await movedCustomer();
        let trips = 0;
        const { binding } = watchDatabase(env.DB, {
          before: async () => {
            if (trips++ !== place) return;
            await (slow === "erasure" ? sendA(program, paid()) : erase(program, NEW));
          },
        });
        const { status } =
          slow === "erasure"
            ? await tryToErase(program, NEW, { DB: binding })
            : await sendA(program, paid(), { DB: binding });
        expect([place, status, await differencesOf(programContext(program))]).toEqual([place, 200, []]);
        if (trips <= place) break;
      }
    },
  );
});

/** The stored rows about customers, without the erased ones. */
const stored = (program: TestProgram) =>
  Promise.all(
    ["payments", "commissions", "facts", "fact_subjects", "provider_events"].map((table) =>
      all(`select * from ${table} where program_id = ?`, program.id),
    ),
  );

describe.each(["_kim@shop.example", "lee&kim@shop.example", "lee/kim@shop.example"])(
  "%s, when kim@shop.example is erased",
  (email) => {
    /** An import binds the customer to the partner. */
    const file = `customer_email,partner_code\n${email},jane\n`;

    it("stays wherever it was said as an address", async () => {
      const program = await programOfJane();
      await sendImport(program, { kind: "customers" }, file);
      await sendA(program, sessionCompleted({ email, customer: "cus_9", object: { receipt_email: email } }));
      await sendB(program, customerEventB({ id: "ctm_9", email }));
      await sendB(program, transactionCompleted({ customer: "ctm_9" }));
      const before = await stored(program);
      expect(await erase(program, "kim@shop.example")).toEqual({ payments: 0, commissions: 0, provider_events: 0 });
      expect(await stored(program)).toEqual(before);
    });

    it("keeps what it has earned through a refund, and who it is bound to", async () => {
      const program = await programOfJane();
      expect((await sendImport(program, { kind: "customers" }, file)).body.added).toBe(1);
      const created = Math.floor(Date.now() / 1_000) + 60;
      await sendA(program, sessionCompleted({ email, payment_intent: "pi_9", amount: 10_000, tax: 0, created }));
      await erase(program, "kim@shop.example");
      await refund(program);
      expect(await amounts(program)).toEqual(["pending 1800"]);
      const again = await sendImport(program, { kind: "customers" }, file);
      expect([again.status, again.body.unchanged]).toEqual([200, 1]);
    });

    it("is itself erased whole, from the trace too", async () => {
      const program = await programOfJane();
      const conditions = [{ field: "customer_email", op: "contains", value: "@shop.example" }];
      const flow = { name: "shop", action_type: "percentage", action_value: 50, conditions };
      expect((await program.api("POST", "/api/v1/flows", flow)).status).toBe(201);
      await sendA(program, sessionCompleted({ ref: "jane", email }));
      await sendA(program, sessionCompleted({ email: null, metadata: { url: `https://a.example/?by=${email}&x=1` } }));
      expect(await erase(program, email)).toMatchObject({ payments: 1, provider_events: 2 });
      expect(await placesOf(program, email, "kim")).toEqual([]);
    });
  },
);

it("a lead of an address that ends like the erased one is answered as before", async () => {
  const program = await programOfJane();
  const said = lead({ ref: "jane", customer: { id: "user-8", email: "_kim@shop.example" }, occurred_at: ago(HOUR) });
  const first = await report(program, "lead", said);
  await report(program, "sale", sale({ ref: "jane", customer: { email: "_kim@shop.example" } }));
  const before = await stored(program);
  await erase(program, "kim@shop.example");
  expect(await stored(program)).toEqual(before);
  expect(await report(program, "lead", said)).toMatchObject({ status: first.status, body: first.body });
});

describe("the owner's own number of a customer", () => {
  it("takes no body of another customer whose order, or whose amount at a vendor, is that number", async () => {
    const program = await programOfJane();
    await report(program, "sale", sale({ external_id: "1001", customer: { id: "4200", email: "jo@shop.example" } }));
    await report(program, "lead", lead({ external_id: "1002", ref: "nobody", customer: { id: "4200" } }));
    await report(program, "sale", sale({ external_id: "4200", customer: { id: "7", email: "mo@shop.example" } }));
    const others = transactionCompleted({ customer: "ctm_9", data: { custom_data: { price: "4200" } } });
    await sendB(program, others);
    expect(await erase(program, "jo@shop.example")).toMatchObject({ provider_events: 2 });
    const kept = { "sale:1001": false, "lead:1002": false, "sale:4200": true, [others.event_id]: true };
    expect(await bodies(program)).toEqual(kept);
  });

  it("has no body read that names it by chance", async () => {
    const program = await programOfJane();
    await report(program, "sale", sale({ customer: { id: "7", email: "jo@shop.example" } }));
    await sendB(program, transactionCompleted({ customer: "ctm_77", data: { custom_data: { note: "7" } } }));
    const { binding, roundTrips } = watchDatabase(env.DB);
    await erase(program, "jo@shop.example", { DB: binding });
    const read = roundTrips.flat().filter(({ sql }) => sql.includes("v.body as body"));
    expect(read.map(({ values }) => JSON.stringify(values).includes("provider_b"))).toEqual([false]);
  });

  it("finds the vendor's bodies where it is the customer's id there", async () => {
    const program = await programOfJane();
    await report(program, "sale", sale({ customer: { id: "cus_9", email: "jo@shop.example" } }));
    const url = "https://dashboard.example/customers/cus_9?tab=1";
    const linking = sessionCompleted({ email: "mo@shop.example", customer: "cus_8", metadata: { url } });
    await sendA(program, linking);
    await erase(program, "jo@shop.example");
    expect((await bodies(program))[linking.id]).toBe(false);
  });
});
