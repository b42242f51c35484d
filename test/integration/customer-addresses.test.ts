/**
 * PAY-20: `customer.created|updated` give the e-mail address of the customer id; conditions and the self-referral check use
 * it, even if it arrives late.
 */
import { describe, expect, it } from "vitest";
import { ledgerOf, sendB } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { customerEventB, transactionCompleted, type EventB } from "../support/provider-b.ts";
import { uniqueId } from "../support/vendor.ts";

/** A future day in the vendor's format, because the flow counts from its creation on. */
const day = (i: number) => new Date(Date.now() + i * 86_400_000).toISOString().replace("Z", "000Z");
const DAY_1 = day(1);
const DAY_2 = day(2);
const DAY_3 = day(3);
const DAY_4 = day(4);

async function program(): Promise<TestProgram> {
  const made = await makeProgram();
  await makePartner(made, { slug: "jane", email: "jane@example.com" });
  const flow = await made.api("POST", "/api/v1/flows", {
    name: "companies",
    action_type: "percentage",
    action_value: 50,
    conditions: [{ field: "customer_email", op: "contains", value: "@corp.example" }],
  });
  expect(flow.status).toBe(201);
  return made;
}

const bought = (occurred_at: string, id = "txn_1") =>
  transactionCompleted({ id, ref: "jane", customer: "ctm_1", amount: 10_000, occurred_at });
const said = (email: string, occurred_at: string, type = "customer.updated") =>
  customerEventB({ id: "ctm_1", email, occurred_at }, type);

async function outcomeOf(events: readonly EventB[]) {
  const made = await program();
  for (const event of events) expect((await sendB(made, event)).status).toBe(200);
  const { payments, commissions } = await ledgerOf(made);
  return payments.map(({ id, provider_transaction_id, customer_email }) => {
    const row = commissions.find(({ payment_id }) => payment_id === id);
    return { key: provider_transaction_id, email: customer_email, amount: row?.amount_cents, why: row?.review_reason };
  });
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

describe("the address of provider B's customer (PAY-20)", () => {
  it.each(["customer.created", "customer.updated", "customer.imported"])("is known from %s", async (type) => {
    const { body } = await sendB(await program(), said("buyer@corp.example", DAY_1, type));
    expect(body).toEqual({ received: true, outcome: "remembered" });
  });

  it("is seen by conditions and the self-referral check, before and after the payment", async () => {
    for (const [email, amount, why] of [
      ["Buyer@CORP.example", 5_000, null],
      ["buyer@example.com", 2_000, null],
      ["jane+me@example.com", 2_000, "self_referral"],
    ] as const) {
      const expected = [{ key: "txn_1", email, amount, why }];
      expect(await outcomeOf([said(email, DAY_1), bought(DAY_2)])).toEqual(expected);
      expect(await outcomeOf([bought(DAY_2), said(email, DAY_1)])).toEqual(expected);
      expect(await outcomeOf([bought(DAY_1), said(email, DAY_2)])).toEqual(expected);
    }
  });

  it("is the one in force when the payment was made, in any order of deliveries", async () => {
    const events = [
      said("buyer@corp.example", DAY_1, "customer.created"),
      bought(DAY_2),
      said("jane@example.com", DAY_3),
      bought(DAY_4, "txn_2"),
    ];
    for (const order of permutations(events)) {
      expect(await outcomeOf(order)).toEqual([
        { key: "txn_1", email: "buyer@corp.example", amount: 5_000, why: null },
        { key: "txn_2", email: "jane@example.com", amount: 2_000, why: "self_referral" },
      ]);
    }
  });

  it("of another customer or provider is nobody's here", async () => {
    const other = customerEventB({ id: "ctm_2", email: "buyer@corp.example", occurred_at: DAY_1 });
    expect(await outcomeOf([other, bought(DAY_2)])).toMatchObject([{ email: null, amount: 2_000 }]);
  });

  it("changes no rule that did not turn on it, however late it comes", async () => {
    const made = await program();
    await sendB(made, bought(DAY_1));
    await made.api("PATCH", "/api/v1/programs/me", { default_commission_pct: 90 });
    await sendB(made, said("buyer@example.com", DAY_2));
    expect((await ledgerOf(made)).commissions).toMatchObject([
      { amount_cents: 2_000, customer_email: "buyer@example.com" },
    ]);
    const trace = (await ledgerOf(made)).payments[0]?.decision?.flows;
    expect(trace).toMatchObject([{ matched: false, conditions: [{ saw: "buyer@example.com", held: false }] }]);
  });

  it("is forgotten with the customer, also where it comes before a payment", async () => {
    const made = await program();
    await sendB(made, said("buyer@corp.example", DAY_1));
    await sendB(made, bought(DAY_2));
    await made.api("POST", "/api/v1/customers/erase", { email: "BUYER@corp.example" });
    await sendB(made, bought(DAY_3, "txn_2"));
    const { payments, commissions } = await ledgerOf(made);
    expect(payments.map((row) => row.customer_email)).toEqual([null, null]);
    expect(commissions.map((row) => row.amount_cents)).toEqual([5_000, 2_000]);
  });

  it("reaches the other program of the account that has the payment, which gets the whole event at its own address", async () => {
    for (const isFirst of [true, false]) {
      const [made, other] = [await program(), await program()];
      const customer = uniqueId("ctm_");
      const named = customerEventB({ id: customer, email: "buyer@corp.example", ref: "jane", occurred_at: DAY_1 });
      const sold = transactionCompleted({ customer, program: made.id, occurred_at: DAY_2 });
      for (const event of isFirst ? [named, sold] : [sold, named]) await sendB(other, event);
      // Only the program at whose address the event arrives uses its reference.
      expect((await ledgerOf(made)).payments).toMatchObject([
        { customer_email: "buyer@corp.example", outcome: "no_ref" },
      ]);
      await sendB(made, named);
      expect((await ledgerOf(made)).commissions).toMatchObject([{ amount_cents: 5_000 }]);
    }
  });
});
