/**
 * Flows compare a payment's place among its customer's payments in the same way for every order of the events, with
 * repetitions, crashes and concurrency (FLOW-14, LAW-1).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { reviewSettled } from "../../src/core/ledger/settle.ts";
import { isList, type Condition } from "../../src/domain/condition.ts";
import { monthsBetween } from "../../src/domain/customer.ts";
import { deliver, deliverInDisorder, disorder } from "../support/disorder.ts";
import { makeWorldProgram, type WorldEvent } from "../support/ledger-world.ts";
import { ledgerOf, settleRest } from "../support/ledger.ts";
import { understood } from "../support/money-world.ts";
import { seen } from "../support/money-seen.ts";
import { chargeRefunded } from "../support/provider-a-changes.ts";
import { bodyOfA, invoicePaid } from "../support/provider-a.ts";
import { programContext, type TestProgram } from "../support/program.ts";

const RUNS = Number(env.PROPERTY_RUNS ?? 100);
const SEED = Number(env.PROPERTY_SEED ?? Date.now() % 2 ** 31);

const FIRST = Date.parse("2025-01-31T10:00:00.000Z") / 1_000;
const DAY = 86_400;

const count = fc.integer({ min: 1, max: 4 });
const order = fc.constantFrom("eq", "neq", "gt", "gte", "lt", "lte");
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ field: fc.constant("payment_number" as const), op: order, value: count }),
  fc.record({ field: fc.constant("months_since_first_payment" as const), op: order, value: count }),
  fc.record({ field: fc.constant("new_customer" as const), op: fc.constant("eq" as const), value: fc.boolean() }),
  fc.record({
    field: fc.constant("currency" as const),
    op: fc.constantFrom("in", "not_in"),
    value: fc.constant(["USD", "eur"]),
  }),
  fc.record({
    field: fc.constant("ref_source" as const),
    op: fc.constantFrom("eq", "neq"),
    value: fc.constantFrom("link", "remembered"),
  }),
);
const world = fc.record({
  flows: fc.array(
    fc.record({ action_value: fc.integer({ min: 1, max: 90 }), conditions: fc.array(condition, { maxLength: 2 }) }),
    { minLength: 1, maxLength: 3 },
  ),
  payments: fc.array(
    fc.record({
      customer: fc.constantFrom("cus_1", "cus_2", null),
      email: fc.constantFrom("a@shop.example", "A@shop.example", "b@shop.example", null),
      ref: fc.constantFrom("ann", "Bob", null, null),
      day: fc.integer({ min: 0, max: 130 }),
      amount: fc.constantFrom(0, 10_000, 20_001),
      currency: fc.constantFrom("usd", "usd", "eur", "jpy"),
      isRefunded: fc.boolean(),
    }),
    { minLength: 2, maxLength: 6 },
  ),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

function eventsOf({ payments }: World): WorldEvent[] {
  const bodies = payments.flatMap(({ customer, email, ref, day, amount, currency, isRefunded }, i) => {
    const pay = { payment_intent: `pi_${i}`, charge: `ch_${i}` };
    const created = FIRST + day * DAY;
    const invoice = { id: `in_${i}`, subscription: null, ref_in: "invoice", shape: "old", ...pay } as const;
    return [
      invoicePaid({ ...invoice, customer, email, ref, created, amount, currency }),
      ...(isRefunded ? [chargeRefunded({ ...pay, amount, refunded: amount, created: created + 60 })] : []),
    ];
  });
  return bodies.map((event) => ({ provider: "provider_a", event: understood("provider_a", bodyOfA(event)) }));
}

/** A program whose flows have counted since before the first payment. */
async function programOf({ flows }: World): Promise<TestProgram> {
  const worldFlows = flows.map((flow, i) => ({
    ...flow,
    action_type: "percentage" as const,
    priority: -i,
    active: true,
  }));
  const program = await makeWorldProgram(worldFlows);
  await env.DB.prepare("update past_rules set valid_until = '2024-01-01T00:00:00.000Z' where program_id = ?")
    .bind(program.id)
    .run();
  return program;
}

/** The flow that decided each commission, and the flow by the rules, which are applied without care for speed. */
async function flowsOf(program: TestProgram, { flows }: World): Promise<[string, number, number][]> {
  const { payments } = await ledgerOf(program);
  const counted = payments
    .filter(({ txn_amount_cents }) => txn_amount_cents > 0)
    .toSorted((a, b) => (a.created_at + a.provider_transaction_id < b.created_at + b.provider_transaction_id ? -1 : 1));
  return counted.flatMap((payment): [string, number, number][] => {
    if (payment.outcome !== "commission") return [];
    const same = counted.filter(
      (other) =>
        other.id === payment.id ||
        (other.customer_id !== null && other.customer_id === payment.customer_id) ||
        (other.customer_email !== null && other.customer_email.toLowerCase() === payment.customer_email?.toLowerCase()),
    );
    const values: Record<string, unknown> = {
      payment_number: same.findIndex(({ id }) => id === payment.id) + 1,
      months_since_first_payment: monthsBetween(same[0]!.created_at, payment.created_at),
      new_customer: same[0]!.partner_id !== null,
      currency: payment.currency,
      ref_source: payment.decision?.ref_source === "payment" ? "link" : "remembered",
    };
    const expected = flows.findIndex(({ conditions }) => conditions.every((one) => holds(one, values[one.field])));
    const rate = payment.decision?.rate;
    const found = rate?.source === "flow" ? payment.decision!.flows.findIndex(({ matched }) => matched) : -1;
    return [[payment.provider_transaction_id, found, expected]];
  });
}

function holds({ op, value }: Condition, saw: unknown): boolean {
  if (isList(value)) return value.some((one) => String(one).toUpperCase() === saw) === (op === "in");
  if (op === "eq" || op === "neq") return (saw === value) === (op === "eq");
  const difference = Number(saw) - Number(value);
  if (op === "gt" || op === "gte") return op === "gt" ? difference > 0 : difference >= 0;
  return op === "lt" ? difference < 0 : difference <= 0;
}

it(`conditions on the customer's payments hold in any order (seed ${SEED}, ${RUNS} runs) (FLOW-14)`, async () => {
  await fc.assert(
    fc.asyncProperty(world, disorder, async (one, chaos) => {
      const [calm, wild] = await Promise.all([programOf(one), programOf(one)]);
      const events = eventsOf(one);
      for (const event of events) await deliver(calm, event);
      await deliverInDisorder(wild, events, chaos);
      for (const program of [calm, wild]) {
        await settleRest(program);
        for (const [key, found, expected] of await flowsOf(program, one)) expect([key, found]).toEqual([key, expected]);
        const { payments } = await ledgerOf(program);
        for (const payment of payments) expect(await reviewSettled(programContext(program), payment)).toBe(null);
      }
      expect(await seen(wild)).toEqual(await seen(calm));
    }),
    { seed: SEED, numRuns: Math.ceil(RUNS / 2), interruptAfterTimeLimit: 60_000 + RUNS * 2_000 },
  );
});
