/**
 * JOB-1: all payments, facts and bodies linked to the customer ids of that address are erased, and no others; sums stay
 * the same.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { bodies } from "../support/bodies.ts";
import { erase } from "../support/erasure.ts";
import { fixtureEvents, itOfCaptured } from "../support/fixtures.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import {
  bodyOfA,
  chargeRefunded,
  chargeSucceeded,
  customerEvent,
  disputeClosed,
  invoicePaid,
  sessionCompleted,
  signA,
  subscriptionDeleted,
  type EventA,
} from "../support/provider-a.ts";
import { customerEventB } from "../support/provider-b.ts";
import { call, makePartner, makeProgram, SECRET_A, type TestProgram, programOfJane } from "../support/program.ts";
import { placesOf } from "../support/places.ts";
import { nowSeconds } from "../support/vendor.ts";
import { watchDatabase } from "../support/watched-database.ts";

const ADDRESS = "Jo.Buyer+1@example.com";
const OTHER = "anjo.buyer+1@example.com";

afterEach(() => vi.restoreAllMocks());

async function sumsOf(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  return {
    payments: payments.map(({ id, outcome, partner_id, txn_amount_cents }) => [
      id,
      outcome,
      partner_id,
      txn_amount_cents,
    ]),
    commissions: commissions.map(({ id, status, amount_cents, partner_id }) => [id, status, amount_cents, partner_id]),
  };
}

async function reprocessAll(program: TestProgram): Promise<void> {
  for (const { id } of (await ledgerOf(program)).payments) {
    expect((await program.api("POST", `/api/v1/payments/${id}/reprocess`)).status).toBe(200);
  }
}

const withPerson = (event: EventA): EventA => {
  const { object } = event.data;
  const person = { name: "Josephine Buyer", phone: "+1555000111", address: { line1: "12 Erasable Road" } };
  object["customer_details"] = { ...(object["customer_details"] as object), ...person };
  return event;
};
const PERSON = ["Josephine", "+1555000111", "12 Erasable Road"];

async function sendText(program: TestProgram, text: string): Promise<number> {
  const headers = { "content-type": "application/json", "Provider-A-Signature": await signA(text, SECRET_A) };
  return (await call(`/webhooks/provider_a?program_id=${program.id}`, { method: "POST", headers, body: text })).status;
}

describe("erasure (JOB-1)", () => {
  it("forgets the address everywhere, whatever its case, and keeps every sum", async () => {
    const program = await programOfJane();
    const flow = await program.api("POST", "/api/v1/flows", {
      name: "example.com buyers",
      action_type: "percentage",
      action_value: 30,
      conditions: [{ field: "customer_email", op: "contains", value: "buyer" }],
    });
    expect(flow.status).toBe(201);
    const ids = { payment_intent: "pi_e", customer: "cus_e" };
    const created = nowSeconds();
    await sendA(program, sessionCompleted({ ref: "jane", email: ADDRESS, amount: 10_000, created, ...ids }));
    await sendA(
      program,
      invoicePaid({ ref: "jane", email: ADDRESS.toUpperCase(), subscription: "sub_e", created: created + 1 }),
    );
    await sendA(program, sessionCompleted({ ref: "jane", email: "other@example.com", created: created + 2 }));
    const before = await ledgerOf(program);
    expect(before.commissions.map((row) => row.amount_cents)).toEqual([3_000, 3_000, 2_000]);
    expect(await placesOf(program, ADDRESS)).toEqual([
      ...["commissions.customer_email", "facts.data", "payments.customer_email", "payments.decision"],
      "provider_events.body",
    ]);

    const erased = await program.api<{ erased: object }>("POST", "/api/v1/customers/erase", {
      email: "jo.buyer+1@EXAMPLE.com",
    });
    expect(erased).toMatchObject({
      status: 200,
      body: { erased: { payments: 2, commissions: 2, provider_events: 2 } },
    });
    expect(await placesOf(program, ADDRESS)).toEqual([]);
    expect(await placesOf(program, "other@example.com")).not.toEqual([]);
    expect(await erase(program, ADDRESS)).toEqual({ payments: 0, commissions: 0, provider_events: 0 });

    // A later refund still applies the recorded rule, although its condition can no longer be checked.
    await sendA(program, chargeRefunded({ charge: "ch_e", payment_intent: "pi_e", amount: 10_000, refunded: 1_000 }));
    const after = await ledgerOf(program);
    expect(after.commissions.map((row) => row.amount_cents)).toEqual([2_700, 3_000, 2_000]);
    expect(after.commissions.map((row) => row.customer_email)).toEqual([null, null, "other@example.com"]);
    await reprocessAll(program);
    expect((await ledgerOf(program)).commissions.map((row) => row.amount_cents)).toEqual([2_700, 3_000, 2_000]);
  });

  it("keeps the flag of a partner's own purchase, whose address can no longer be compared", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane", email: ADDRESS });
    await sendA(program, sessionCompleted({ ref: "jane", email: ADDRESS }));
    const flagged = [{ flagged: true, review_reason: "self_referral" }];
    expect((await ledgerOf(program)).commissions).toMatchObject(flagged);
    await erase(program, ADDRESS);
    await reprocessAll(program);
    expect((await ledgerOf(program)).commissions).toMatchObject(flagged);
  });

  it("refuses what is no address, and empties nothing then", async () => {
    const program = await makeProgram();
    await sendA(program, sessionCompleted({ email: ADDRESS }));
    await sendB(program, customerEventB({ email: OTHER }));
    const not = ["", "nobody", "@", "a@", "@example.com", "%@%", "a@b", "Jo <a@b.example>", "a@b.example c@d.example"];
    const wrong = [{}, { email: 7 }, { email: "a@b.example", more: 1 }, ...not.map((email) => ({ email }))];
    for (const body of wrong) {
      expect([body, (await program.api("POST", "/api/v1/customers/erase", body)).status]).toEqual([body, 422]);
    }
    expect(Object.values(await bodies(program))).toEqual([true, true]);
  });
});

describe("what is linked to the customer (JOB-1)", () => {
  it("goes by the customer's and the payments' ids, at provider A: names, other addresses, refunds, cancellations", async () => {
    const program = await programOfJane();
    const [customer, subscription] = ["cus_l", "sub_l"];
    const events = [
      withPerson(sessionCompleted({ ref: "jane", email: ADDRESS, customer, payment_intent: "pi_l" })),
      // The same customer with another address, and events without an address.
      withPerson(sessionCompleted({ ref: "jane", email: "second@example.com", customer, payment_intent: "pi_l2" })),
      invoicePaid({ customer, subscription, email: null, object: { customer_name: "Josephine Buyer" } }),
      chargeSucceeded({ charge: "ch_l", payment_intent: "pi_l" }),
      chargeRefunded({
        charge: "ch_l",
        payment_intent: "pi_l",
        refunded: 100,
        object: { billing_details: { name: "Josephine" } },
      }),
      disputeClosed({
        charge: "ch_l",
        payment_intent: "pi_l",
        status: "won",
        object: { evidence: { customer_name: "Josephine" } },
      }),
      subscriptionDeleted({ id: subscription, customer, object: { description: "Josephine's" } }),
      customerEvent({ id: customer, ref: "jane", email: "second@example.com", object: { name: "Josephine Buyer" } }),
    ];
    for (const event of events) expect((await sendA(program, event)).status).toBe(200);
    const strangers = [
      sessionCompleted({ ref: "jane", email: OTHER, customer: "cus_other" }),
      sessionCompleted({ ref: "jane", email: "buyer+1@example.com" }),
      invoicePaid({ ref: "jane", customer: "cus_l2", email: null }),
    ];
    for (const event of strangers) expect((await sendA(program, event)).status).toBe(200);
    const sums = await sumsOf(program);

    expect(await erase(program, ADDRESS)).toMatchObject({ payments: 3, provider_events: events.length });

    const kept = await bodies(program);
    expect(events.map(({ id }) => kept[id])).toEqual(events.map(() => false));
    expect(strangers.map(({ id }) => kept[id])).toEqual(strangers.map(() => true));
    expect(await placesOf(program, ADDRESS, ...PERSON)).toEqual([]);
    expect(await placesOf(program, "second@example.com")).toEqual([]);
    expect(await placesOf(program, OTHER)).toEqual(expect.arrayContaining(["payments.customer_email", "facts.data"]));
    expect(await sumsOf(program)).toEqual(sums);
  });

  it("is found in bodies, however it is escaped, of events that name nothing of the customer's", async () => {
    const written = (text: string) =>
      text.replaceAll(
        ADDRESS,
        ADDRESS.replaceAll(/[a-z]/gi, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
      );
    const program = await makeProgram();
    const referred = sessionCompleted({ email: OTHER, metadata: { referred_by: ADDRESS } });
    const near = sessionCompleted({ email: OTHER, metadata: { referred_by: `x${ADDRESS}`, more: `${ADDRESS}.au` } });
    for (const event of [referred, near]) expect(await sendText(program, written(bodyOfA(event)))).toBe(200);
    expect(await erase(program, ADDRESS)).toEqual({ payments: 0, commissions: 0, provider_events: 1 });
    expect(await bodies(program)).toEqual({ [referred.id]: false, [near.id]: true });
    // The event's buyer is now another person.
    expect((await ledgerOf(program)).payments.map(({ customer_email }) => customer_email)).toEqual([OTHER, OTHER]);
  });

  it("is found where the address was sent for a reference, the customer's own or another's", async () => {
    const program = await programOfJane();
    for (const email of [ADDRESS, OTHER]) {
      await sendA(
        program,
        sessionCompleted({ ref: ADDRESS, metadata: { service_ref: "jane" }, email, customer: `cus_${email}` }),
      );
      await sendA(program, sessionCompleted({ ref: ADDRESS, email }));
    }
    const sums = await sumsOf(program);
    expect(await placesOf(program, ADDRESS)).toEqual(expect.arrayContaining(["payments.ref", "facts.ref_key"]));
    await erase(program, ADDRESS);
    expect(await placesOf(program, ADDRESS)).toEqual([]);
    expect(await sumsOf(program)).toEqual(sums);
    await reprocessAll(program);
    expect(await placesOf(program, ADDRESS)).toEqual([]);
    expect(await sumsOf(program)).toEqual(sums);
  });

  it("is taken out of a kept reply, which is replayed without it", async () => {
    const program = await programOfJane();
    await sendA(program, sessionCompleted({ ref: "jane", email: ADDRESS }));
    const [payment] = (await ledgerOf(program)).payments;
    const reprocess = () =>
      program.api<{ id: string; customer_email: string | null }>(
        "POST",
        `/api/v1/payments/${payment!.id}/reprocess`,
        undefined,
        {
          "Idempotency-Key": "again",
        },
      );
    expect((await reprocess()).body.customer_email).toBe(ADDRESS);
    expect(await placesOf(program, ADDRESS)).toContain("idempotency_keys.body");
    await erase(program, ADDRESS);
    expect(await placesOf(program, ADDRESS)).toEqual([]);
    const replayed = await reprocess();
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(replayed.body).toMatchObject({ id: payment!.id, customer_email: null });
  });

  it.each([ADDRESS, `mailto:${ADDRESS}`])(
    "is taken out of a kept reply that names it as a reference: %s",
    async (ref) => {
      const program = await makeProgram();
      await sendA(program, sessionCompleted({ ref, email: null }));
      const [payment] = (await ledgerOf(program)).payments;
      const reprocess = () =>
        program.api("POST", `/api/v1/payments/${payment!.id}/reprocess`, undefined, { "Idempotency-Key": "again" });
      expect(JSON.stringify((await reprocess()).body)).toContain(ADDRESS);
      await erase(program, ADDRESS);
      expect(await placesOf(program, ADDRESS)).toEqual([]);
      expect((await reprocess()).body).toMatchObject({ id: payment!.id, ref: "[erased]", trace: { ref: "[erased]" } });
    },
  );

  it("is in a partner's own row and kept reply as before, where a partner is a customer too", async () => {
    const program = await makeProgram();
    const make = () =>
      program.api("POST", "/api/v1/partners", { email: ADDRESS, slug: "jo" }, { "Idempotency-Key": "made" });
    const made = await make();
    expect(made.status).toBe(201);
    await sendA(program, sessionCompleted({ email: ADDRESS }));
    await erase(program, ADDRESS);
    expect((await make()).body).toEqual(made.body);
  });

  it("is bound to nobody by another payment that is asked for again: what others earned stays theirs", async () => {
    const program = await makeProgram({ attribution: "first" });
    const [jane, bob] = [await makePartner(program, { slug: "jane" }), await makePartner(program, { slug: "bob" })];
    const file = `customer_email,partner_code\n${ADDRESS},jane\n`;
    await program.api("POST", "/api/v1/imports?kind=customers&product=other", file, { "content-type": "text/csv" });
    const [customer, hour, now] = ["cus_of_both", 3_600, nowSeconds() + 60];
    await sendA(program, sessionCompleted({ id: "cs_1", customer, email: ADDRESS, created: now }));
    await sendA(program, customerEvent({ id: customer, ref: "bob", created: now + 2 * hour }));
    await sendA(program, sessionCompleted({ id: "cs_2", customer, email: null, created: now + 3 * hour }));
    const earned = async () => (await ledgerOf(program)).commissions.map(({ partner_id }) => partner_id);
    expect(await earned()).toEqual([jane.id, bob.id]);
    await erase(program, ADDRESS);
    const [first] = (await ledgerOf(program)).payments;
    expect((await program.api("POST", `/api/v1/payments/${first!.id}/reprocess`)).status).toBe(200);
    expect(await earned()).toEqual([jane.id, bob.id]);
  });

  itOfCaptured("leaves nothing of a captured event either", async () => {
    const withAddress: string[] = [];
    for (const [name, event] of fixtureEvents("a")) {
      const program = await makeProgram({ provider_a_webhook_secret: SECRET_A });
      const address = /[\w.+-]+@[\w-]+\.[\w.]+/.exec(JSON.stringify(event))?.[0];
      if (address === undefined) continue;
      withAddress.push(name);
      expect([name, await sendText(program, JSON.stringify(event))]).toEqual([name, 200]);
      await erase(program, address);
      expect([name, await placesOf(program, address)]).toEqual([name, []]);
    }
    expect(withAddress).not.toEqual([]);
  });
});

describe("events that come after the erasure (JOB-1)", () => {
  const past = Math.floor(Date.now() / 1000) - 3_600;

  it("of an erased customer bring no address, name or body back, and count as before", async () => {
    const program = await programOfJane();
    const [customer, subscription, invoice] = ["cus_late", "sub_late", "in_late"];
    await sendA(
      program,
      withPerson(sessionCompleted({ ref: "jane", email: ADDRESS, customer, subscription, invoice })),
    );
    await erase(program, ADDRESS);
    const late = [
      // The payment's invoice, a renewal, a refund that names a charge, the event that joins them, and another purchase.
      invoicePaid({ id: invoice, email: ADDRESS, customer, subscription, payment_intent: "pi_late" }),
      invoicePaid({ email: ADDRESS, customer, subscription }),
      chargeSucceeded({
        charge: "ch_late",
        payment_intent: "pi_late",
        object: { billing_details: { email: ADDRESS } },
      }),
      chargeRefunded({ charge: "ch_late", refunded: 1_000, object: { billing_details: { email: ADDRESS } } }),
      withPerson(sessionCompleted({ ref: "jane", email: ADDRESS, customer })),
      subscriptionDeleted({ id: subscription, customer, object: { description: ADDRESS } }),
      customerEvent({ id: customer, ref: "jane", email: ADDRESS }, "customer.updated"),
    ];
    for (const event of late) expect((await sendA(program, event)).status).toBe(200);
    expect(await placesOf(program, ADDRESS, ...PERSON)).toEqual([]);
    const amounts = (await ledgerOf(program)).commissions.map((row) => row.amount_cents);
    expect(amounts.toSorted()).toEqual([1_800, 2_000, 2_000]);
    await reprocessAll(program);
    expect(await placesOf(program, ADDRESS, ...PERSON)).toEqual([]);
  });

  it("of a purchase that was made before without an account are stored without the address, one made later with it", async () => {
    const program = await makeProgram();
    await erase(program, ADDRESS);
    await sendA(program, withPerson(sessionCompleted({ email: ADDRESS, payment_intent: "pi_before", created: past })));
    await sendA(
      program,
      chargeRefunded({ payment_intent: "pi_before", refunded: 1, object: { receipt_email: ADDRESS } }),
    );
    expect(await placesOf(program, ADDRESS, ...PERSON)).toEqual([]);
    await sendA(program, sessionCompleted({ email: ADDRESS, created: Math.floor(Date.now() / 1000) + 60 }));
    expect(await placesOf(program, ADDRESS)).toContain("payments.customer_email");
    // A customer who buys again can be erased again.
    await erase(program, ADDRESS);
    expect(await placesOf(program, ADDRESS)).toEqual([]);
  });

  it("or at any moment of it, are found by it or stored without the address", async () => {
    const customer = "cus_race";
    for (let trip = 0; ; trip++) {
      const program = await programOfJane();
      await sendA(program, sessionCompleted({ ref: "jane", email: ADDRESS, customer, payment_intent: "pi_race" }));
      let trips = 0;
      const { binding } = watchDatabase(env.DB, {
        before: async () => {
          if (trips++ !== trip) return;
          await sendA(program, invoicePaid({ email: ADDRESS, customer, subscription: "sub_race" }));
          await sendA(
            program,
            chargeRefunded({ payment_intent: "pi_race", refunded: 10, object: { receipt_email: ADDRESS } }),
          );
        },
      });
      await erase(program, ADDRESS, { DB: binding });
      expect([trip, await placesOf(program, ADDRESS)]).toEqual([trip, []]);
      if (trips <= trip) break;
      expect(trip).toBeLessThan(30);
    }
  });
});
