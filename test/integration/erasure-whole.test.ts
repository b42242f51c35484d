/**
 * JOB-1: after the erasure of a customer with facts of every kind and provider, no column of any table contains the customer.
 */
import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/domain/fact.ts";
import { lead, refund, sale } from "../support/api-bodies.ts";
import { couponEvent, discountEventA, discountEventB, promotionCodeEvent } from "../support/codes.ts";
import { ledgerOf, sendA, sendB } from "../support/ledger.ts";
import { makeProgram, type TestProgram, programOfJane } from "../support/program.ts";
import {
  chargeRefunded,
  customerEvent,
  disputeClosed,
  invoicePaid,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  sessionCompleted,
  subscriptionDeleted,
} from "../support/provider-a.ts";
import { adjustmentUpdated, customerEventB, subscriptionEventB, transactionCompleted } from "../support/provider-b.ts";
import { placesOf } from "../support/places.ts";
import { all } from "../support/rows.ts";
import { TABLES } from "../support/tables.ts";
import { sendTo } from "../support/vendor-account.ts";

/** Every kind of fact. A new kind does not compile until it is listed here. */
const KINDS: Record<Fact["kind"], true> = {
  ...{ payment: true, adjustment: true, attribution: true, code_use: true, code: true, customer: true },
  ...{ cancellation: true, link: true, lead: true, elsewhere: true },
};

/** The columns that keep the vendors' ids, so that refunds and renewals still find their payment: an erasure keeps sums. */
const IDS_STAY = ["erased_subjects.subject", "fact_subjects.subject", "facts.data", "payments.customer_id"];

interface Person {
  key: string;
  email: string;
  name: string;
}

const customers = ({ key }: Person) => [`cus_${key}`, `ctm_${key}`, `user-${key}`] as const;

/** Sends facts of every kind from each vendor and from the owner's server. */
async function live(program: TestProgram, { key, email, name }: Person): Promise<void> {
  const [customer, customerB, user] = customers({ key, email, name });
  const person = (event: ReturnType<typeof sessionCompleted>) => {
    const { object } = event.data;
    object["customer_details"] = { ...(object["customer_details"] as object), name };
    return event;
  };
  const discounts = [{ promotion_code: `promo_${key}`, coupon: null }];
  const subscription = `sub_${key}`;
  const ids = { customer, subscription };
  const payment_intent = `pi_${key}`;
  for (const event of [
    customerEvent({ id: customer, ref: "jane", email }),
    promotionCodeEvent({ id: `promo_${key}`, code: `WELCOME-${key}` }),
    couponEvent({ id: `cou_${key}`, name: `for ${email}` }),
    discountEventA({ id: `di_${key}`, promotion_code: `promo_${key}`, object: { customer } }),
    person(sessionCompleted({ ...ids, email, ref: "jane", payment_intent, object: { discounts } })),
    person(sessionCompleted({ ...ids, email, object: { discounts } })),
    invoicePaid({ ...ids, id: `in_${key}`, email, object: { discounts: [`di_${key}`], customer_name: name } }),
    invoicePaymentPaid({ invoice: `in_${key}`, payment_intent: `pi_other_${key}` }),
    paymentIntentSucceeded({ payment_intent: `pi_alone_${key}`, object: { customer, receipt_email: email } }),
    chargeRefunded({ payment_intent, refunded: 1_000 }),
    disputeClosed({ payment_intent, object: { evidence: { customer_name: name, customer_email_address: email } } }),
    subscriptionDeleted({ id: subscription, object: { customer } }),
  ]) {
    expect([event.type, (await sendA(program, event)).status]).toEqual([event.type, 200]);
  }
  const subscriptionB = `sub_b_${key}`;
  for (const event of [
    customerEventB({ id: customerB, email, ref: "jane", data: { name } }),
    discountEventB({ id: `dsc_${key}`, code: `WELCOME-${key}` }),
    transactionCompleted({
      id: `txn_${key}`,
      customer: customerB,
      subscription: subscriptionB,
      data: { discount_id: `dsc_${key}` },
    }),
    adjustmentUpdated({ transaction: `txn_${key}`, customer: customerB, amount: 1_000 }),
    subscriptionEventB("subscription.canceled", { id: subscriptionB, customer: customerB }),
    customerEventB({ id: customerB, email: `moved-${email}` }, "customer.updated"),
  ]) {
    expect([event.event_type, (await sendB(program, event)).status]).toEqual([event.event_type, 200]);
  }
  const elsewhere = await makeProgram({ provider_b_webhook_secret: "pdl_ntfset_of_the_other_address" });
  const others = transactionCompleted({ id: `txn_other_${key}`, customer: customerB, program: elsewhere.id });
  await sendTo(elsewhere, others, { secret: "pdl_ntfset_of_the_other_address" });
  expect((await sendB(program, others)).body.outcome).toBe("claimed_elsewhere");
  const reported = { id: user, email };
  const external_id = `order-${key}`;
  for (const [path, body] of [
    ["lead", lead({ ref: "jane", customer: reported })],
    ["lead", lead({ ref: "jane", customer: { email } })],
    ["sale", sale({ external_id, customer: reported })],
    ["sale", sale({ ref: "jane", customer: { email } })],
    ["refund", refund({ sale_external_id: external_id })],
  ] as const) {
    expect((await program.api("POST", `/api/v1/track/${path}`, body)).status).toBe(200);
  }
}

/** The program's rows that contain a person's key. */
async function rowsOf(program: TestProgram, key: string): Promise<string[]> {
  const tables = ["payments", "facts", "fact_subjects", "provider_events", "erased_subjects"];
  const rows = await Promise.all(
    tables.map((name) => all<Record<string, unknown>>(`select * from ${name} where program_id = ?`, program.id)),
  );
  return rows
    .flat()
    .map((row) => JSON.stringify(row))
    .filter((row) => row.includes(key))
    .toSorted();
}

describe("an erasure of a customer with every kind of fact (JOB-1)", () => {
  it("leaves address, name and ids in no column, but the ids that keep sums, and touches nobody else", async () => {
    const program = await programOfJane();
    const gone: Person = { key: "7gone7", email: "jo.buyer@erased.example", name: "Josephine Goner" };
    const stays: Person = { key: "8stays8", email: "mo.buyer@kept.example", name: "Maurice Stayer" };
    for (const person of [gone, stays]) await live(program, person);
    const kinds = await all<{ kind: string }>("select distinct kind from facts where program_id = ?", program.id);
    expect(kinds.map(({ kind }) => kind).toSorted()).toEqual(Object.keys(KINDS).toSorted());
    expect(await placesOf(program, gone.name)).toEqual(["provider_events.body"]);
    const [before, ledger] = [await rowsOf(program, stays.key), await ledgerOf(program)];

    const holding = (await placesOf(program, gone.email, gone.name)).map((place) => place.split(".")[0]!);
    const lived = Object.entries(TABLES).flatMap(([table, { erased }]) => (erased === "lived" ? [table] : []));
    expect([...new Set(holding)]).toEqual(lived.toSorted());

    const reply = await program.api("POST", "/api/v1/customers/erase", { email: gone.email });
    expect(reply.status).toBe(200);
    expect(await placesOf(program, gone.email, gone.name)).toEqual([]);
    expect(await placesOf(program, ...customers(gone))).toEqual(IDS_STAY);
    expect(await rowsOf(program, stays.key)).toEqual(before);
    const sums = ({ payments, commissions }: typeof ledger) => [
      payments.map(({ id, outcome, partner_id, adjusted_cents }) => [id, outcome, partner_id, adjusted_cents]),
      commissions.map(({ id, amount_cents, status }) => [id, amount_cents, status]),
    ];
    expect(sums(await ledgerOf(program))).toEqual(sums(ledger));

    // Later events about the customer do not restore the body.
    await sendA(program, discountEventA({ promotion_code: "promo_1", object: { customer: "cus_7gone7" } }));
    await sendA(program, customerEvent({ id: "cus_7gone7", email: gone.email }, "customer.updated"));
    expect(await placesOf(program, gone.email, gone.name)).toEqual([]);
    expect(await placesOf(program, ...customers(gone))).toEqual(IDS_STAY);
  });
});
