/**
 * REF-4: a repeated reference of a customer or a subscription counts from its first report, in every order of arrival: a
 * changed address or a renewal does not reassign the customer.
 */
import { describe, expect, it } from "vitest";
import { orders } from "../support/any-order.ts";
import { giveCode } from "../support/codes.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type ProgramFields, type TestProgram } from "../support/program.ts";
import {
  customerEvent,
  invoicePaid,
  sessionCompleted,
  subscriptionEventA,
  type EventA,
} from "../support/provider-a.ts";
import { customerEventB, subscriptionEventB, transactionCompleted, type EventB } from "../support/provider-b.ts";

type Event = EventA | EventB;

/** Seconds; each step a day later than the one before. */
const at = (step: number) => 1_780_000_000 + step * 86_400;
const iso = (step: number) => new Date(at(step) * 1_000).toISOString();

function send(program: TestProgram, event: Event) {
  return "event_type" in event ? sendB(program, event) : sendA(program, event);
}

/** A program with partners. */
async function shop(fields: ProgramFields = {}) {
  const program = await makeProgram(fields);
  const partners = new Map<string, string>();
  for (const slug of ["jane", "bob", "carl"]) partners.set((await makePartner(program, { slug })).id, slug);
  /** The partner of each payment, by the vendor's id. */
  const owners = async () =>
    Object.fromEntries(
      (await ledgerOf(program)).payments.map(({ provider_transaction_id: key, partner_id }) => [
        key,
        partner_id && partners.get(partner_id),
      ]),
    );
  return { program, owners, partners };
}

/** The partner of each payment, which is the same in each of these orders of the events: all of them unless given. */
async function inAnyOrder(fields: ProgramFields, events: readonly Event[], among = orders(events)) {
  const after = async (order: readonly Event[]) => {
    const { program, owners } = await shop(fields);
    for (const event of order) expect((await send(program, event)).status).toBe(200);
    return owners();
  };
  const [first, ...others] = among;
  const owned = await after(first!);
  for (const order of others) expect(await after(order)).toEqual(owned);
  return owned;
}

/** Sorted by occurrence, reversed, and with the newest first. */
function inSomeOrders(events: readonly Event[]) {
  return inAnyOrder({}, events, [[...events], events.toReversed(), [events.at(-1)!, ...events.slice(0, -1)]]);
}

const buys = (id: string, ref: string | null, step: number, fields: Parameters<typeof sessionCompleted>[0] = {}) =>
  sessionCompleted({ id, ref, customer: "cus_1", created: at(step), ...fields });
const customer = (ref: string | null, step: number, type = "customer.updated") =>
  customerEvent({ id: "cus_1", ref, created: at(step) }, type);
const subscription = (ref: string | null, step: number, object = {}) =>
  subscriptionEventA("customer.subscription.updated", {
    ...{ id: "sub_1", customer: "cus_1", ref, created: at(step), object },
  });
const renewal = (id: string, ref: string, step: number) =>
  invoicePaid({ id, ref, subscription: "sub_1", customer: "cus_1", created: at(step) });

describe("what a customer repeats", () => {
  const said = [customer("jane", 0, "customer.created"), buys("cs_1", "bob", 1), customer("JANE", 2)];

  it.each([
    ["last", "bob"],
    ["first", "jane"],
  ] as const)("is not newer than what another said since (%s)", async (attribution, slug) => {
    expect(await inAnyOrder({ attribution }, [...said, buys("cs_2", null, 3)])).toEqual({ cs_1: "bob", cs_2: slug });
  });

  it("is, where it had said another meanwhile", async () => {
    const events = [customer("bob", 1), ...said.toSpliced(1, 1), buys("cs_2", null, 3)];
    expect(await inAnyOrder({}, events)).toEqual({ cs_2: "jane" });
  });

  it("is nothing to a payment before", async () => {
    expect(await inAnyOrder({}, [buys("cs_1", null, 1), customer("jane", 3), customer("jane", 5)])).toEqual({
      cs_1: null,
    });
  });
});

describe("what a checkout says", () => {
  it("is news each time", async () => {
    const events = [buys("cs_1", "jane", 0), buys("cs_2", "bob", 1), buys("cs_3", "jane", 2), buys("cs_4", null, 3)];
    expect(await inSomeOrders(events)).toMatchObject({ cs_3: "jane", cs_4: "jane" });
  });
});

describe("what a subscription repeats", () => {
  it("in its events and its renewals is not newer than what another said since", async () => {
    const begun = [renewal("in_1", "jane", 0), buys("cs_1", "bob", 1)];
    const owned = { in_1: "jane", cs_1: "bob", cs_2: "bob" };
    expect(await inSomeOrders([...begun, subscription("jane", 2), buys("cs_2", null, 3)])).toEqual(owned);
    const renewed = [...begun, renewal("in_2", "jane", 2), buys("cs_2", null, 3)];
    expect(await inAnyOrder({}, renewed)).toEqual({ ...owned, in_2: "jane" });
  });

  it("is another's where another subscription says it", async () => {
    const begun = [renewal("in_1", "jane", 0), buys("cs_1", "bob", 1), buys("cs_2", null, 3)];
    const other = { subscription: "sub_2", customer: "cus_1", created: at(2) };
    const owned = await inSomeOrders([...begun, invoicePaid({ id: "in_2", ref: "jane", ...other })]);
    expect(owned).toEqual({ in_1: "jane", cs_1: "bob", in_2: "jane", cs_2: "jane" });
  });

  it("still goes before a code that it says beside it (CODE-1)", async () => {
    const begun = [renewal("in_1", "jane", 0), buys("cs_1", "carl", 1), buys("cs_2", null, 3)];
    const discounts = [{ id: "di_1", promotion_code: "promo_bob", source: { coupon: "cou_1" } }];
    const after = async (ref: string | null) => {
      const { program, owners, partners } = await shop();
      const [bob] = [...partners].find(([, slug]) => slug === "bob")!;
      const code = { code: "BOB", provider: "provider_a", provider_code_id: "promo_bob" } as const;
      await giveCode(program, bob, code, at(-1) * 1_000);
      for (const event of [...begun, subscription(ref, 2, { discounts })]) await sendA(program, event);
      return owners();
    };
    expect(await after("jane")).toEqual({ in_1: "jane", cs_1: "carl", cs_2: "carl" });
    expect(await after(null)).toEqual({ in_1: "jane", cs_1: "carl", cs_2: "bob" });
  });

  it("at provider B, whose transactions have its custom data, is not newer either", async () => {
    const ids = { customer: "ctm_1", subscription: "sub_1" };
    const pays = (id: string, ref: string | null, step: number, whose: object = { customer: "ctm_1" }) =>
      transactionCompleted({ id, ref, occurred_at: iso(step), ...whose });
    const begun = [pays("txn_1", "jane", 0, ids), pays("txn_2", "bob", 1), pays("txn_4", null, 4)];
    const owned = { txn_1: "jane", txn_2: "bob", txn_4: "bob" };
    expect(await inAnyOrder({}, [...begun, pays("txn_3", "jane", 2, ids)])).toEqual({ ...owned, txn_3: "jane" });
    const updated = subscriptionEventB("subscription.updated", {
      ...{ id: "sub_1", customer: "ctm_1", ref: "jane", occurred_at: iso(3) },
    });
    expect(await inSomeOrders([...begun, updated])).toEqual(owned);
    const moved = (step: number) =>
      customerEventB({ id: "ctm_1", ref: "jane", occurred_at: iso(step) }, "customer.updated");
    expect(await inSomeOrders([moved(0), begun[1]!, moved(2), begun[2]!])).toEqual({ txn_2: "bob", txn_4: "bob" });
  });
});

describe("what the owner asks to be decided again (PAY-15)", () => {
  const ids = { customer: "cus_1", subscription: "sub_1" };
  const invoice = (id: string, step: number, fields: Parameters<typeof invoicePaid>[0] = {}) =>
    invoicePaid({ id, ref: "zoe", created: at(step), ...ids, ...fields });
  const pays = (id: string, ref: string | null, step: number, subscription?: string) =>
    transactionCompleted({
      ...{ id, ref, customer: "ctm_1", occurred_at: iso(step) },
      ...(subscription === undefined ? {} : { subscription }),
    });

  it.each<[string, Event[], Event[]]>([
    [
      "a transaction of provider B",
      [pays("first", "zoe", 0, "sub_1")],
      [pays("second", "bob", 1), pays("third", "zoe", 2, "sub_1"), pays("fourth", null, 3)],
    ],
    [
      "an invoice of provider A",
      [invoice("first", 0)],
      [buys("second", "bob", 1), invoice("third", 2), buys("fourth", null, 3)],
    ],
    [
      "a customer of provider A",
      [invoice("first", 0, { ref: null, object: { customer: { id: "cus_1", metadata: { service_ref: "zoe" } } } })],
      [buys("second", "bob", 1), customer("zoe", 2), buys("fourth", null, 3)],
    ],
    [
      "an invoice whose session says the same",
      [buys("cs_0", "zoe", 0, { ...ids, invoice: "first" }), invoice("first", 0)],
      [buys("second", "bob", 1), invoice("third", 2), buys("fourth", null, 3)],
    ],
  ])("%s: what it repeats later is not newer than what another said since (REF-4)", async (_, begun, since) => {
    const { program, owners, partners } = await shop();
    for (const event of begun) await send(program, event);
    partners.set((await makePartner(program, { slug: "zoe" })).id, "zoe");
    const [first] = (await ledgerOf(program)).payments;
    expect((await program.api("POST", `/api/v1/payments/${first!.id}/reprocess`)).status).toBe(200);
    for (const event of since) await send(program, event);
    expect(await owners()).toMatchObject({ first: "zoe", second: "bob", fourth: "bob" });
  });
});
