/** Conditions on the customer's payments, in every order of arrival (FLOW-14), and on time, currency and source. */
import { describe, expect, it } from "vitest";
import { recordFacts } from "../../src/core/ledger/facts.ts";
import { settle } from "../../src/core/ledger/settle.ts";
import { readState } from "../../src/core/ledger/state.ts";
import { grant, makeClaim } from "../support/claims.ts";
import { ledgerOf, settleRest } from "../support/ledger.ts";
import { understood } from "../support/money-world.ts";
import { bodyOfA, invoicePaid } from "../support/provider-a.ts";
import { makePartner, makeProgram, programContext, type TestProgram } from "../support/program.ts";

interface Sold {
  /** The vendor's id, which names the payment below. */
  id: string;
  /** The day on which it was made. */
  on: string;
  amount?: number;
  currency?: string;
  ref?: boolean;
  customer?: { id?: string; email?: string };
}

const SINCE = "2025-01-01";
const BUYER = { id: "cus_1", email: "buyer@shop.example" };

/** A program whose flows count since 2025, and its partner. */
async function programWith(flows: readonly Record<string, unknown>[]) {
  const program = await makeProgram({ default_commission_pct: 10 });
  const { slug } = await makePartner(program);
  for (const [i, flow] of flows.entries()) {
    const fields = { name: `flow ${i}`, action_type: "percentage", priority: -i, apply_from: SINCE, ...flow };
    const { status, body } = await program.api("POST", "/api/v1/flows", fields);
    expect([status, body]).toMatchObject([201, {}]);
  }
  return { program, slug };
}

async function report({ program, slug }: { program: TestProgram; slug: string }, sold: Sold): Promise<void> {
  const { id, on, amount = 10_000, currency = "USD", ref = true, customer = BUYER } = sold;
  const { status, body } = await program.api("POST", "/api/v1/track/sale", {
    ...{ external_id: id, amount_cents: amount, currency, net_of_tax: true, occurred_at: `${on}T12:00:00.000Z` },
    ...{ customer, ...(ref ? { ref: slug } : {}) },
  });
  expect([id, status, body]).toMatchObject([id, 200, {}]);
}

/** The earnings of each payment by its id. */
async function earnedIn(program: TestProgram): Promise<Record<string, number | null>> {
  const { payments, commissions } = await ledgerOf(program);
  return Object.fromEntries(
    payments.map(({ id, provider_transaction_id }) => {
      const own = commissions.filter(({ payment_id }) => payment_id === id).map(({ amount_cents }) => amount_cents);
      return [provider_transaction_id, own.length === 0 ? null : own.reduce((sum, amount) => sum + amount, 0)];
    }),
  );
}

/** All orders of few values. */
function ordersOf<T>(values: readonly T[]): T[][] {
  if (values.length <= 1) return [[...values]];
  return values.flatMap((first, i) => ordersOf(values.toSpliced(i, 1)).map((rest) => [first, ...rest]));
}

const is = (field: string, op: string, value: unknown) => ({ field, op, value });

const SENTENCES: [string, Record<string, unknown>[], Sold[], Record<string, number | null>][] = [
  [
    "50 % for the first 12 months, then 20 %",
    [
      { action_value: 50, conditions: [is("months_since_first_payment", "lt", 12)] },
      { action_value: 20, conditions: [is("months_since_first_payment", "gte", 12)] },
    ],
    [
      { id: "a", on: "2025-02-01" },
      { id: "b", on: "2026-01-31" },
      { id: "c", on: "2026-02-01" },
    ],
    { a: 5_000, b: 5_000, c: 2_000 },
  ],
  [
    "first payment only",
    [{ action_value: 0, conditions: [is("payment_number", "gt", 1)] }],
    [
      { id: "a", on: "2025-02-01" },
      { id: "b", on: "2025-03-01" },
      { id: "c", on: "2025-04-01" },
    ],
    { a: 1_000, b: 0, c: 0 },
  ],
  [
    "first three payments, not counting what was free",
    [{ action_value: 40, conditions: [is("payment_number", "lte", 3)] }, { action_value: 0 }],
    [
      { id: "free", on: "2025-01-15", amount: 0 },
      { id: "a", on: "2025-02-01" },
      { id: "b", on: "2025-03-01" },
      { id: "c", on: "2025-04-01" },
      { id: "d", on: "2025-05-01" },
    ],
    { free: null, a: 4_000, b: 4_000, c: 4_000, d: 0 },
  ],
  [
    "no commission for existing customers",
    [{ action_value: 0, conditions: [is("new_customer", "eq", false)] }],
    [
      { id: "a", on: "2025-02-01", ref: false },
      { id: "b", on: "2025-03-01" },
      { id: "new", on: "2025-03-01", customer: { id: "cus_2" } },
    ],
    { a: null, b: 0, new: 1_000 },
  ],
  [
    "payments of one address belong to one customer, whatever the ids",
    [{ action_value: 0, conditions: [is("payment_number", "neq", 1)] }],
    [
      { id: "a", on: "2025-02-01", customer: { email: "buyer@shop.example" } },
      { id: "b", on: "2025-03-01", customer: { id: "cus_2", email: "BUYER@shop.example" } },
      { id: "c", on: "2025-04-01", customer: { id: "cus_2" } },
      { id: "other", on: "2025-05-01", customer: { id: "cus_3" } },
    ],
    { a: 1_000, b: 0, c: 0, other: 1_000 },
  ],
  [
    "double in November",
    [{ action_value: 20, starts_at: "2025-11-01", ends_at: "2025-12-01" }],
    [
      { id: "a", on: "2025-10-31" },
      { id: "b", on: "2025-11-01" },
      { id: "c", on: "2025-11-30" },
      { id: "d", on: "2025-12-01" },
    ],
    { a: 1_000, b: 2_000, c: 2_000, d: 1_000 },
  ],
  [
    "a flat amount in one currency",
    [{ action_type: "flat", action_value: 1_500 }],
    [
      { id: "a", on: "2025-02-01" },
      { id: "b", on: "2025-03-01", currency: "JPY" },
    ],
    { a: 1_500, b: 1_000 },
  ],
  [
    "a rate for the partners of a group",
    [{ action_value: 30, conditions: [is("partner_group", "in", ["default"])] }],
    [
      { id: "a", on: "2025-02-01" },
      { id: "b", on: "2025-03-01" },
    ],
    { a: 3_000, b: 3_000 },
  ],
  [
    "a rate for some currencies",
    [{ action_value: 30, conditions: [is("currency", "in", ["eur", "CHF"])] }],
    [
      { id: "a", on: "2025-02-01", currency: "EUR" },
      { id: "b", on: "2025-03-01" },
    ],
    { a: 3_000, b: 1_000 },
  ],
];

describe("a sentence as one or two flows, whatever the order in which the payments arrive (FLOW-14)", () => {
  it.each(SENTENCES)("%s", async (_sentence, flows, payments, earned) => {
    for (const order of payments.length > 3 ? [payments, payments.toReversed()] : ordersOf(payments)) {
      const world = await programWith(flows);
      for (const sold of order) await report(world, sold);
      expect([order.map(({ id }) => id), await earnedIn(world.program)]).toEqual([order.map(({ id }) => id), earned]);
    }
  });
});

describe("a customer's late earlier payment (FLOW-14)", () => {
  const firstOnly = [{ action_value: 0, conditions: [is("payment_number", "gt", 1)] }];

  it("takes back by a difference what a payout has paid", async () => {
    const world = await programWith(firstOnly);
    await report(world, { id: "later", on: "2025-05-01" });
    const { body } = await world.program.api<{ data: { id: string }[] }>("GET", "/api/v1/commissions");
    await world.program.api("PATCH", `/api/v1/commissions/${body.data[0]!.id}`, { status: "approved" });
    const generated = await world.program.api("POST", "/api/v1/payouts/generate", {});
    expect(generated.status).toBe(200);
    await report(world, { id: "earlier", on: "2025-04-01" });
    const { commissions } = await ledgerOf(world.program);
    expect(commissions.map(({ kind, amount_cents }) => [kind, amount_cents]).toSorted()).toEqual([
      ["clawback", -1_000],
      ["sale", 1_000],
      ["sale", 1_000],
    ]);
  });

  it("makes a customer of the shop one of the partner where the owner credits the partner with it", async () => {
    const world = await programWith([{ action_value: 0, conditions: [is("new_customer", "eq", false)] }]);
    const { program, slug } = world;
    await report(world, { id: "first", on: "2025-02-01", ref: false });
    await report(world, { id: "second", on: "2025-03-01" });
    expect(await earnedIn(program)).toEqual({ first: null, second: 0 });
    const partners = await program.api<{ data: { id: string }[] }>("GET", `/api/v1/partners?search=${slug}`);
    const claim = await makeClaim(program, partners.body.data[0]!.id, { order_id: "first" });
    expect((await grant(program, claim)).status).toBe(200);
    expect(await earnedIn(program)).toEqual({ first: 1_000, second: 1_000 });
  });

  it("renumbers more payments than one request settles, by the job", async () => {
    const world = await programWith(firstOnly);
    const later = Array.from({ length: 70 }, (_, i) => ({ id: `l${i}`, on: "2025-05-01" }));
    for (const sold of later) await report(world, sold);
    await report(world, { id: "earlier", on: "2025-04-01" });
    await settleRest(world.program);
    const earned = await earnedIn(world.program);
    expect([earned["earlier"], later.filter(({ id }) => earned[id] !== 0)]).toEqual([1_000, []]);
  });

  it.each([
    ["id", { customer: "cus_1", email: null }],
    ["address, which is in their reports only", { customer: null, email: "Buyer@shop.example" }],
  ])("is not missed by a settling that runs meanwhile: customers with one %s", async (_what, customer) => {
    const { program, slug } = await programWith(firstOnly);
    const ctx = programContext(program);
    const [earlier, later] = [1_750_000_000, 1_760_000_000].map((created) =>
      understood(
        "provider_a",
        bodyOfA(invoicePaid({ subscription: null, ref: slug, ref_in: "invoice", created, ...customer })),
      ),
    );
    const keys = [];
    for (const event of [later!, earlier!]) {
      const recorded = await recordFacts(ctx, "provider_a", event, "{}", { before: [], ask: [] });
      keys.push(recorded!.unsettled[0]!);
    }
    const { state } = await readState(ctx, keys[0]!);
    await settle(ctx, keys[1]!);
    await settle(ctx, keys[0]!, { known: state });
    const { payments } = await ledgerOf(program);
    const amounts = keys.map(({ id }) => payments.find((row) => row.id === id)!.decision!.amount_cents);
    expect(amounts).toEqual([0, 1_000]);
  });
});
