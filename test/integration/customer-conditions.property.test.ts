/**
 * Flows compare a payment's place among its customer's payments, and the group that its partner belonged to, in the same
 * way for every order of the events, with repetitions, crashes and concurrency (FLOW-14, PAY-16, LAW-1). At every step
 * the commissions of a payment are its rule applied to the rest of the payment (PAY-7).
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { reviewSettled } from "../../src/core/ledger/settle.ts";
import { isList, type Condition } from "../../src/domain/condition.ts";
import { monthsBetween } from "../../src/domain/customer.ts";
import type { FlowActionType } from "../../src/domain/flow.ts";
import { iso } from "../../src/lib/time.ts";
import { deliver, deliverInDisorder, disorder } from "../support/disorder.ts";
import { create, patchOf } from "../support/groups.ts";
import { makeWorldProgram, WORLD_PARTNERS, type WorldEvent } from "../support/ledger-world.ts";
import { ledgerOf, settleRest } from "../support/ledger.ts";
import { understood } from "../support/money-world.ts";
import { seen } from "../support/money-seen.ts";
import { chargeRefunded } from "../support/provider-a-changes.ts";
import { bodyOfA, invoicePaid } from "../support/provider-a.ts";
import { programContext, type TestProgram } from "../support/program.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Number(env.PROPERTY_RUNS);

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
    field: fc.constant("partner_group" as const),
    op: fc.constantFrom("eq", "neq"),
    value: fc.constantFrom("default", "GOLD"),
  }),
  fc.record({
    field: fc.constant("ref_source" as const),
    op: fc.constantFrom("eq", "neq"),
    value: fc.constantFrom("link", "remembered"),
  }),
);
/** A partner moves to a group, which may become the default of new partners. */
const move = fc.record({
  slug: fc.constantFrom("ann", "Bob"),
  group: fc.constantFrom("default", "gold", "silver"),
  isDefault: fc.boolean(),
  day: fc.integer({ min: 0, max: 130 }),
});
const world = fc.record({
  flows: fc.array(
    fc.record({
      action_type: fc.constantFrom<FlowActionType>("percentage", "percentage", "flat"),
      action_value: fc.integer({ min: 1, max: 90 }),
      conditions: fc.array(condition, { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  /** The moves during the days of the payments, and those while their events arrive. */
  moves: fc.array(move, { maxLength: 4 }),
  late: fc.array(move, { maxLength: 3 }),
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

type Move = World["moves"][number];

/** The groups' rates. */
const GROUPS: Record<string, number | null> = { default: null, gold: 41, silver: null };
const LAST = iso((FIRST + 200 * DAY) * 1_000);
/** A move is never close to a payment. */
const movedAt = ({ day }: Move) => iso((FIRST + (day + 0.5) * DAY) * 1_000);
const inOrder = (moves: readonly Move[]) => moves.toSorted((a, b) => a.day - b.day);

/** A program whose flows have counted since before the first payment, with the partners' moves until the last one. */
async function programOf({ flows, moves }: World): Promise<TestProgram> {
  const program = await makeWorldProgram(flows.map((flow, i) => ({ ...flow, priority: -i, active: true })));
  const changedAt = (at: string) =>
    env.DB.prepare("update past_rules set valid_until = ? where program_id = ? and valid_until > ?")
      .bind(at, program.id, LAST)
      .run();
  await changedAt("2024-01-01T00:00:00.000Z");
  for (const slug of ["gold", "silver"]) {
    await create(program, "/groups", { name: slug, slug, commission_pct: GROUPS[slug] });
  }
  for (const one of inOrder(moves)) {
    await makeMove(program, one);
    await changedAt(movedAt(one));
  }
  return program;
}

async function makeMove(program: TestProgram, { slug, group, isDefault }: Move): Promise<void> {
  const idOf = async (table: "partners" | "groups", name: string) => {
    const sql = `select id from ${table} where program_id = ? and slug = ?`;
    return (await env.DB.prepare(sql).bind(program.id, name).first<{ id: string }>())!.id;
  };
  const group_id = await idOf("groups", group);
  await patchOf(program, `/partners/${await idOf("partners", slug)}`, { group_id });
  if (isDefault) await patchOf(program, `/groups/${group_id}`, { is_default: true });
}

/** The group that a partner belonged to: at first the default one. */
function groupAt(moves: readonly Move[], slug: string | null | undefined, at: string): string {
  return inOrder(moves).findLast((one) => one.slug === slug && movedAt(one) <= at)?.group ?? "default";
}

type Rule = [payment: string, flow: number, group: string | null, pct: number | null];

/** The rule of each commission, and the one of the specification, which is applied without care for speed. */
async function rulesOf(program: TestProgram, { flows, moves }: World): Promise<[found: Rule, expected: Rule][]> {
  const { payments } = await ledgerOf(program);
  const counted = payments
    .filter(({ txn_amount_cents }) => txn_amount_cents > 0)
    .toSorted((a, b) => (a.created_at + a.provider_transaction_id < b.created_at + b.provider_transaction_id ? -1 : 1));
  return counted.flatMap((payment): [Rule, Rule][] => {
    if (payment.outcome !== "commission") return [];
    const same = counted.filter(
      (other) =>
        other.id === payment.id ||
        (other.customer_id !== null && other.customer_id === payment.customer_id) ||
        (other.customer_email !== null && other.customer_email.toLowerCase() === payment.customer_email?.toLowerCase()),
    );
    const key = payment.provider_transaction_id;
    const slug = payment.decision?.partner_slug;
    const group = groupAt(moves, slug, payment.created_at);
    const values: Record<string, unknown> = {
      partner_group: group,
      payment_number: same.findIndex(({ id }) => id === payment.id) + 1,
      months_since_first_payment: monthsBetween(same[0]!.created_at, payment.created_at),
      new_customer: same[0]!.partner_id !== null,
      currency: payment.currency,
      ref_source: payment.decision?.ref_source === "payment" ? "link" : "remembered",
    };
    const expected = flows.findIndex(
      ({ action_type, conditions }) =>
        (action_type === "percentage" || payment.currency === "USD") &&
        conditions.every((one) => holds(one, values[one.field])),
    );
    const { rate, group_slug = null, flows: tried } = payment.decision!;
    const isByFlow = rate?.source === "flow";
    const found = isByFlow ? tried.findIndex(({ matched }) => matched) : -1;
    const own = WORLD_PARTNERS.find((one) => one.slug === slug)?.commission_pct;
    const pct = expected >= 0 ? null : (own ?? GROUPS[group] ?? program.program.default_commission_pct);
    return [
      [
        [key, found, group_slug, isByFlow ? null : rate!.action_value],
        [key, expected, group, pct],
      ],
    ];
  });
}

/** The commissions of a settled payment are its rule applied to the rest, in its currency; at most that (PAY-7). */
async function checkAmounts(program: TestProgram): Promise<void> {
  const { payments, commissions } = await ledgerOf(program);
  for (const payment of payments.filter((one) => one.settled_revision === one.facts_revision)) {
    const own = commissions.filter(({ payment_id }) => payment_id === payment.id);
    const rate = payment.outcome === "commission" ? payment.decision!.rate! : null;
    const rest = payment.txn_amount_cents - payment.adjusted_cents;
    const earned = rate?.action_type === "flat" ? (rest > 0 ? rate.action_value : 0) : percentOf(rest, rate);
    const sum = own.reduce((total, { amount_cents }) => total + amount_cents, 0);
    expect([payment.provider_transaction_id, sum]).toEqual([payment.provider_transaction_id, earned]);
    if (rate?.action_type !== "flat") expect(sum).toBeLessThanOrEqual(rest);
    expect(own.every(({ currency }) => currency === payment.currency)).toBe(true);
  }
}

/** Half up, of a percentage with up to four decimals. */
function percentOf(rest: number, rate: { action_value: number } | null): number {
  const millionths = BigInt(Math.round((rate?.action_value ?? 0) * 10_000));
  return Number((BigInt(rest) * millionths + 500_000n) / 1_000_000n);
}

function holds({ op, value }: Condition, saw: unknown): boolean {
  if (isList(value)) return value.some((one) => String(one).toUpperCase() === saw) === (op === "in");
  if (op === "eq" || op === "neq") {
    const wanted = typeof value === "string" ? value.toLowerCase() : value;
    return (saw === wanted) === (op === "eq");
  }
  const difference = Number(saw) - Number(value);
  if (op === "gt" || op === "gte") return op === "gt" ? difference > 0 : difference >= 0;
  return op === "lt" ? difference < 0 : difference <= 0;
}

it(`rules of customers and groups hold in any order (seed ${SEED}, ${RUNS} runs) (FLOW-14, PAY-16)`, async () => {
  await fc.assert(
    fc.asyncProperty(world, disorder, async (one, chaos) => {
      const [calm, wild] = await Promise.all([programOf(one), programOf(one)]);
      const events = eventsOf(one);
      for (const event of events) await deliver(calm, event);
      const late = [...one.late];
      await deliverInDisorder(wild, events, chaos, async () => {
        await checkAmounts(wild);
        for (const next of late.splice(0, 1)) await makeMove(wild, next);
      });
      for (const program of [calm, wild]) {
        await settleRest(program);
        for (const [found, expected] of await rulesOf(program, one)) expect(found).toEqual(expected);
        await checkAmounts(program);
        const { payments } = await ledgerOf(program);
        for (const payment of payments) expect(await reviewSettled(programContext(program), payment)).toBe(null);
      }
      expect(await seen(wild)).toEqual(await seen(calm));
    }),
    { numRuns: Math.ceil(RUNS / 2), interruptAfterTimeLimit: 60_000 + RUNS * 2_000 },
  );
});
