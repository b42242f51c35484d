/**
 * An event of a provider costs the same however many payments its program has: D1 bills what is read, and a program
 * grows for years. What an event concerns is read through keys; without a word the database would read the program.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { meterDatabase } from "../support/metered-database.ts";
import { makePartner, makeProgram, SECRET_A, SECRET_B, type TestProgram } from "../support/program.ts";
import * as a from "../support/provider-a.ts";
import * as b from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";
import { callWith } from "../support/watched-database.ts";

type Sent = { provider: "a"; event: a.EventA } | { provider: "b"; event: b.EventB };

const ofA = (event: a.EventA): Sent => ({ provider: "a", event });
const ofB = (event: b.EventB): Sent => ({ provider: "b", event });

async function send(program: TestProgram, sent: Sent, binding: D1Database = env.DB): Promise<string> {
  const body = sent.provider === "a" ? a.bodyOfA(sent.event) : b.bodyOfB(sent.event);
  const signature =
    sent.provider === "a"
      ? { "Provider-A-Signature": await a.signA(body, SECRET_A) }
      : { "Provider-B-Signature": await b.signB(body, SECRET_B) };
  const reply = await callWith<{ outcome: string }>(
    { DB: binding },
    `/webhooks/provider_${sent.provider}?program_id=${program.id}`,
    { method: "POST", headers: { "content-type": "application/json", ...signature }, body },
  );
  expect(reply.status).toBe(200);
  return reply.body.outcome;
}

/** A customer's story at either provider, event by event; each event is measured by its name. */
function story(ref: string): Record<string, Sent> {
  const customer = uniqueId("cus_");
  const subscription = uniqueId("sub_");
  const [payment_intent, charge, invoice] = [uniqueId("pi_"), uniqueId("ch_"), uniqueId("in_")];
  const [transaction, customerB, subscriptionB] = [uniqueId("txn_"), uniqueId("ctm_"), uniqueId("sub_")];
  const ofSubscription = { customer: customerB, subscription: subscriptionB };
  return {
    "A: customer with a reference": ofA(a.customerEvent({ id: customer, ref })),
    "A: session of a subscription": ofA(a.sessionCompleted({ ref, customer, subscription })),
    "A: first invoice": ofA(a.invoicePaid({ id: invoice, customer, subscription, ref })),
    "A: renewal without a reference": ofA(a.invoicePaid({ customer, subscription })),
    "A: what paid the invoice": ofA(a.invoicePaymentPaid({ invoice, payment_intent, charge })),
    "A: refund": ofA(a.chargeRefunded({ payment_intent, charge, refunded: 1_000 })),
    "A: dispute": ofA(a.disputeClosed({ payment_intent, charge, status: "lost" })),
    "A: cancellation": ofA(a.subscriptionDeleted({ id: subscription, customer })),
    "A: one payment": ofA(a.sessionCompleted({ ref })),
    "A: one payment of nobody's": ofA(a.sessionCompleted({})),
    "A: refund that came first": ofA(a.chargeRefunded({ payment_intent: uniqueId("pi_") })),
    "B: transaction": ofB(b.transactionCompleted({ id: transaction, ref, ...ofSubscription })),
    "B: renewal without a reference": ofB(b.transactionCompleted(ofSubscription)),
    "B: refund": ofB(b.adjustmentUpdated({ transaction, amount: 1_000 })),
    "B: cancellation": ofB(b.subscriptionCanceled({ id: subscriptionB, customer: customerB })),
  };
}

/** Rows read for each event of a new customer's story, and for the first of them once more. */
async function measure(program: TestProgram, ref: string): Promise<Map<string, { rows: number; most: string[] }>> {
  const { binding, taken } = meterDatabase(env.DB);
  const measured = new Map<string, { rows: number; most: string[] }>();
  const events = Object.entries(story(ref));
  const repeated = events.map(([name, sent]): [string, Sent] => [`${name}, again`, sent]);
  for (const [name, sent] of [...events, ...repeated]) {
    await send(program, sent, binding);
    measured.set(name, taken());
  }
  return measured;
}

const STORIES = 12;

describe("rows read for a provider's event", () => {
  it("do not grow with the payments, customers and events of the program", { timeout: 60_000 }, async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    await measure(program, slug);
    const before = await measure(program, slug);
    for (let i = 0; i < STORIES; i++) for (const sent of Object.values(story(slug))) await send(program, sent);
    const after = await measure(program, slug);
    for (const [name, { rows, most }] of after) {
      // What a lost race or a page more of an index comes to; a row for each story would be at least `STORIES`.
      expect.soft(rows, [name, ...most].join("\n")).toBeLessThan(before.get(name)!.rows + STORIES);
    }
  });

  it("do not grow with the payments of a customer that carry their own reference", { timeout: 60_000 }, async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program, {}, "active");
    const { binding, taken } = meterDatabase(env.DB);
    const customer = uniqueId("cus_");
    const pay = async () => {
      await send(program, ofA(a.sessionCompleted({ ref: slug, customer })), binding);
      return taken().rows;
    };
    const first = [await pay(), await pay(), await pay()];
    for (let i = 0; i < 30; i++) await pay();
    // Each of them is looked at once, in the customer's index: it might have needed the new reference.
    expect(await pay()).toBeLessThan(Math.max(...first) + 4 * 30);
  });
});
