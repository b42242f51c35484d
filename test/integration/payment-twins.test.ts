/** A payment that provider A reports under two ids earns once if they are linked, and is held for a person if they may be one. */
import { describe, expect, it } from "vitest";
import { earnedAfter, inAnyOrder, orders } from "../support/any-order.ts";
import { lead, report } from "../support/api.ts";
import { booksOf } from "../support/books.ts";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import {
  chargeCaptured,
  chargeSucceeded,
  customerEvent,
  invoicePaid,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  sessionCompleted,
  type EventA,
} from "../support/provider-a.ts";

/** Seconds: the vendor's own order is the same however its events arrive. */
const AT = 1_790_000_000;
const customer = "cus_1";
const known = customerEvent({ id: customer, ref: "jane", created: AT - 86_400 });
const intent = (fields: Parameters<typeof paymentIntentSucceeded>[0] = {}) =>
  paymentIntentSucceeded({ payment_intent: "pi_1", charge: "ch_1", customer, created: AT, ...fields });
const renewal = (fields: Parameters<typeof invoicePaid>[0] = {}) =>
  invoicePaid({ id: "in_1", customer, subscription: "sub_1", tax: 0, created: AT + 1, ...fields });
const link = invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1", created: AT + 2 });
/** An invoice that is marked as paid outside the vendor. */
const outside = (fields: Parameters<typeof invoicePaid>[0] = {}) =>
  invoicePaid({
    ...{ id: "in_out", customer, subscription: null, tax: 0, created: AT + 86_400 },
    ...fields,
    object: {
      billing_reason: "manual",
      amount_due: 10_000,
      amount_paid: 0,
      amount_paid_off_stripe: 10_000,
      ...fields.object,
    },
  });

const ONE = { payments: [{ outcome: "commission" }], commissions: [{ amount_cents: 2_000, flagged: false }] };
const TWO = [
  { amount_cents: 2_000, flagged: false },
  { amount_cents: 2_000, flagged: false },
];
/** Two commissions, of which the later is flagged. */
async function heldIn(program: Parameters<typeof ledgerOf>[0]) {
  const { payments, commissions } = await ledgerOf(program);
  const flagged = commissions.filter((row) => row.flagged);
  expect(flagged.map((row) => row.review_reason)).toEqual(flagged.map(() => "possible_duplicate"));
  return flagged.map((row) => payments.find(({ id }) => id === row.payment_id)!.provider_transaction_id);
}
async function held(events: readonly EventA[]): Promise<string[]> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  for (const event of events) expect((await sendA(program, event)).status).toBe(200);
  return heldIn(program);
}
/** The held commissions, which must be the same in each order. */
async function heldInAnyOrder(events: readonly EventA[]): Promise<string[]> {
  const [first, ...others] = orders(events);
  const keys = await held(first!);
  for (const order of others) expect(await held(order), order.map(({ type }) => type).join()).toEqual(keys);
  return keys;
}

describe("a payment intent of a known customer", () => {
  it("earns as any payment of that customer, however the customer became known (PAY-24, FACT-4, IMP-4)", async () => {
    expect(await inAnyOrder([known, intent()])).toMatchObject(ONE);
    const session = sessionCompleted({ ref: "jane", customer, payment_intent: "pi_0", amount: 5_000, created: AT - 9 });
    expect((await earnedAfter([session, intent()])).commissions).toHaveLength(2);
    const own = intent({ payment_intent: "pi_0", charge: "ch_0", ref: "jane", created: AT - 9 });
    expect(await inAnyOrder([own, intent()])).toMatchObject({ commissions: TWO });
    const expanded = { customer: { id: customer, metadata: { service_ref: "jane" } } };
    expect(await earnedAfter([intent({ object: expanded })])).toMatchObject(ONE);
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    await report(program, "lead", lead({ ref: "jane", customer: { id: customer } }));
    await sendA(program, intent({ created: Math.ceil(Date.now() / 1000) }));
    expect((await ledgerOf(program)).commissions.filter(({ kind }) => kind === "sale")).toMatchObject([
      { amount_cents: 2_000 },
    ]);
  });

  it("is listed where the customer has no partner, and once with its session, in any order (PAY-21, PAY-24)", async () => {
    expect(await earnedAfter([intent()])).toMatchObject({ payments: [{ outcome: "no_ref" }], commissions: [] });
    const session = sessionCompleted({ customer, payment_intent: "pi_1", created: AT + 1 });
    const charge = chargeSucceeded({ charge: "ch_1", payment_intent: "pi_1", created: AT });
    expect((await inAnyOrder([intent(), session, charge])).payments).toMatchObject([{ outcome: "no_ref" }]);
    expect(await inAnyOrder([known, intent(), session])).toMatchObject(ONE);
  });

  it("makes no second row of a payment that has one (PAY-24)", async () => {
    const program = await makeProgram();
    await sendA(program, sessionCompleted({ id: "cs_1", customer, payment_intent: "pi_1", created: AT }));
    expect((await sendA(program, intent())).body.outcome).toBe("no_ref");
    expect((await ledgerOf(program)).payments.map((row) => row.provider_transaction_id)).toEqual(["cs_1"]);
  });

  it("has a merged row only if the link to its invoice came last, and nothing else depends on the order (PAY-14)", async () => {
    const programs = [await makeProgram(), await makeProgram()];
    for (const program of programs) await makePartner(program, { slug: "jane" });
    const [last, first] = programs as [TestProgram, TestProgram];
    const [invoice, money] = [renewal(), intent()];
    for (const event of [known, invoice, money, link]) await sendA(last, event);
    for (const event of [known, link, invoice, money]) await sendA(first, event);
    const rowsOf = async (program: TestProgram) =>
      (await ledgerOf(program)).payments.map((row) => [row.provider_transaction_id, row.outcome]).toSorted();
    expect(await rowsOf(first)).toEqual([["in_1", "commission"]]);
    expect(await rowsOf(last)).toEqual([
      ["in_1", "commission"],
      ["pi_1", "merged"],
    ]);
    expect(await booksOf(last)).toEqual(await booksOf(first));
  });

  it("earns once with the invoice that it pays, whatever links them, in any order and repeated (PAY-24)", async () => {
    expect(await inAnyOrder([known, intent(), renewal(), link])).toMatchObject(ONE);
    expect(await inAnyOrder([known, intent({ order_reference: "in_1" }), renewal()])).toMatchObject(ONE);
    const old = renewal({ shape: "old", payment_intent: "pi_1", charge: "ch_1" });
    expect(await inAnyOrder([known, intent({ invoice: "in_1" }), old])).toMatchObject(ONE);
    const again = [intent(), renewal(), link].map((event) => ({ ...event, id: `${event.id}_again` }));
    expect(await earnedAfter([known, link, intent(), renewal(), ...again])).toMatchObject(ONE);
  });
});

describe("a charge without an intent", () => {
  const charge = (object: object = {}) =>
    chargeSucceeded({
      charge: "ch_2",
      created: AT,
      object: { customer, metadata: { service_ref: "jane" }, ...object },
    });

  it("is a payment, by its own reference or its customer's (PAY-24)", async () => {
    expect(await earnedAfter([charge({ invoice: null })])).toMatchObject(ONE);
    expect(await inAnyOrder([known, charge({ metadata: {} })])).toMatchObject(ONE);
  });

  it("that was held counts once it is taken, and one of an invoice is the invoice's (PAY-24)", async () => {
    const object = { captured: false, amount_captured: 0 };
    expect(await earnedAfter([charge(object)])).toEqual({ payments: [], commissions: [] });
    const taken = chargeCaptured({
      charge: "ch_2",
      captured: 4_000,
      created: AT + 60,
      object: { customer, metadata: { service_ref: "jane" } },
    });
    expect((await inAnyOrder([charge(object), taken])).commissions).toMatchObject([{ amount_cents: 800 }]);
    expect(await inAnyOrder([known, charge({ invoice: "in_1" }), renewal()])).toMatchObject(ONE);
    const paid = invoicePaymentPaid({ invoice: "in_1", charge: "ch_2", created: AT + 2 });
    expect(await inAnyOrder([charge(), renewal(), paid])).toMatchObject(ONE);
  });
});

describe("two payments that the provider does not link", () => {
  it("are held to one: the later is flagged, or of one second the one with the greater id, in any order (PAY-25)", async () => {
    expect(await heldInAnyOrder([known, intent(), renewal()])).toEqual(["in_1"]);
    expect(await heldInAnyOrder([known, intent({ created: AT + 1 }), renewal()])).toEqual(["pi_1"]);
    const bySession = sessionCompleted({
      ...{ id: "cs_1", ref: "jane", customer, subscription: "sub_1", object: { invoice: "in_1" }, created: AT + 2 },
    });
    expect(await heldInAnyOrder([intent({ created: AT + 3 }), renewal(), bySession])).toEqual(["pi_1"]);
  });

  it("are one and held no more once an event links them (PAY-25)", async () => {
    expect(await earnedAfter([known, intent(), renewal(), link])).toMatchObject(ONE);
    // An intent that was held for the same invoice is a payment of its own then.
    const other = intent({ payment_intent: "pi_2", charge: "ch_2", created: AT + 30 });
    expect(await heldInAnyOrder([known, renewal(), other])).toEqual(["pi_2"]);
    expect(await inAnyOrder([known, renewal(), other, link])).toMatchObject({ commissions: TWO });
  });

  it("both earn where they cannot be one (PAY-25)", async () => {
    const both = { commissions: TWO };
    expect(await earnedAfter([known, intent({ invoice: null as never }), renewal()])).toMatchObject(both);
    expect(await earnedAfter([known, intent(), intent({ payment_intent: "pi_2", charge: "ch_2" })])).toMatchObject(
      both,
    );
    expect(await earnedAfter([known, intent(), renewal({ created: AT + 3_601 })])).toMatchObject(both);
    expect(await held([known, intent(), renewal({ amount: 10_001 })])).toEqual([]);
    expect(await held([known, intent(), renewal({ currency: "eur" })])).toEqual([]);
    expect(await held([known, intent(), renewal({ customer: "cus_2", ref: "jane" })])).toEqual([]);
    const session = sessionCompleted({ id: "cs_1", customer, payment_intent: "pi_9", created: AT });
    expect(await held([known, intent(), session, renewal()])).toEqual(["in_1"]);
    expect(await held([known, session, renewal()])).toEqual([]);
  });

  it("are held where an invoice is made of a session later, which does not name it (PAY-25)", async () => {
    const making = { invoice_creation: { enabled: true } };
    const session = sessionCompleted({ id: "cs_1", customer, payment_intent: "pi_1", created: AT, object: making });
    expect(await heldInAnyOrder([known, session, renewal({ subscription: null })])).toEqual(["in_1"]);
    expect(await earnedAfter([known, session, renewal({ subscription: null }), link])).toMatchObject(ONE);
    expect(await earnedAfter([known, session, renewal({ subscription: null }), intent(), link])).toMatchObject(ONE);
  });

  it("are held where an invoice by hand was paid outside and equals a payment within seven days (PAY-25)", async () => {
    const session = sessionCompleted({ id: "cs_1", ref: "jane", customer, payment_intent: "pi_1", created: AT });
    expect(await heldInAnyOrder([session, outside()])).toEqual(["in_out"]);
    expect(await heldInAnyOrder([session, outside({ created: AT - 86_400, ref: "jane", ref_in: "invoice" })])).toEqual([
      "cs_1",
    ]);
    const old = { amount_paid_off_stripe: undefined, paid_out_of_band: true, amount_paid: 10_000 };
    expect(await held([session, outside({ object: old })])).toEqual(["in_out"]);
    expect(await held([session, intent(), outside({ created: AT + 7 * 86_400 })])).toEqual(["in_out"]);
    expect(await held([session, outside({ created: AT + 7 * 86_400 + 1 })])).toEqual([]);
    expect(await held([session, outside({ customer: "cus_2" })])).toEqual([]);
    const automatic = { billing_reason: "subscription_cycle" };
    expect(await held([session, outside({ subscription: "sub_1", object: automatic })])).toEqual([]);
  });

  it("wait for a person, who says that both are earned (PAY-25, COM-6, COM-7)", async () => {
    const program = await makeProgram();
    await makePartner(program, { slug: "jane" });
    for (const event of [known, intent(), renewal()]) await sendA(program, event);
    const [row] = (await ledgerOf(program)).commissions.filter(({ flagged }) => flagged);
    await program.api("PATCH", `/api/v1/commissions/${row!.id}`, { flagged: false, status: "approved" });
    await sendA(program, { ...renewal(), id: "evt_renewed" });
    expect(await heldIn(program)).toEqual([]);
  });
});
