/**
 * Simulating a flow and living under it from the start give the same rows (FLOW-6), in any order of the events, for
 * every condition that a flow can have.
 */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { simulateFlow, type SimulationInput } from "../../src/core/programs/simulate.ts";
import { flows } from "../../src/db/schema.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { currencyOfFlow, flowProblem, storedConditions, type FlowBase, type FlowEvent } from "../../src/domain/flow.ts";
import { newId } from "../../src/lib/id.ts";
import { iso } from "../../src/lib/time.ts";
import { deliver, deliverInDisorder, disorder } from "../support/disorder.ts";
import { lead, eventOfApi } from "../support/api.ts";
import { makeWorldProgram, type WorldEvent } from "../support/ledger-world.ts";
import { ledgerOf, settleRest } from "../support/ledger.ts";
import { understood } from "../support/money-world.ts";
import { programContext, testContext, type TestProgram } from "../support/program.ts";
import { adjustmentUpdated, bodyOfB, transactionCompleted } from "../support/provider-b.ts";
import { SEED } from "../support/seed.ts";

const RUNS = Number(env.PROPERTY_RUNS);

const FIRST = Date.parse("2025-01-31T10:00:00.000Z");
const DAY = 86_400_000;
const LIVED = 200;

const order = fc.constantFrom("eq", "neq", "gt", "gte", "lt", "lte");
const small = fc.integer({ min: 1, max: 3 });
const oneOf = (field: Condition["field"], ...values: string[]): fc.Arbitrary<Condition> =>
  fc.record({
    field: fc.constant(field),
    op: fc.constantFrom("in" as const, "not_in" as const),
    value: fc.subarray(values, { minLength: 1 }),
  });
const ofProducts = oneOf("product_id", "pro_pro", "pro_basic", "pri_none");
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ field: fc.constant("payment_number" as const), op: order, value: small }),
  fc.record({ field: fc.constant("months_since_first_payment" as const), op: order, value: small }),
  fc.record({ field: fc.constant("new_customer" as const), op: fc.constant("eq" as const), value: fc.boolean() }),
  fc.record({ field: fc.constant("txn_amount_cents" as const), op: order, value: fc.constant(9_000) }),
  oneOf("currency", "USD", "EUR"),
  oneOf("partner_group", "default", "creators"),
  oneOf("ref_source", "link", "remembered"),
  ofProducts,
);
const day = fc.integer({ min: 0, max: LIVED });
const plain = fc.record({
  event: fc.constantFrom<FlowEvent>("transaction_completed", "transaction_completed", "lead_created"),
  isFlat: fc.boolean(),
  action_value: fc.integer({ min: 0, max: 90 }),
  conditions: fc.array(condition, { maxLength: 3 }),
  product: ofProducts,
  base: fc.constantFrom<FlowBase>("payment", "matching_items"),
  currency: fc.constantFrom("EUR", null, null),
  priority: fc.integer({ min: 0, max: 2 }),
  starts: fc.option(day),
  ends: fc.option(day),
});
const anyFlow = plain.map(({ event, isFlat, starts, ends, product, currency, ...rest }) => {
  const isLead = event === "lead_created";
  const given = isLead ? rest.conditions.filter(({ field }) => field === "partner_group") : rest.conditions;
  const base = isLead ? "payment" : rest.base;
  const conditions = base === "matching_items" ? [...given, product] : given;
  const action_type: "flat" | "percentage" = isLead || isFlat ? "flat" : "percentage";
  const at = (after: number | null) => (after === null ? null : iso(FIRST + after * DAY));
  const times = { starts_at: at(starts), ends_at: ends !== null && ends > (starts ?? -1) ? at(ends) : null };
  const made = { ...rest, event, action_type, base, conditions, ...times };
  return { ...made, currency: currencyOfFlow({ ...made, currency }, "USD") };
});
const flow = anyFlow.filter((one) => flowProblem(one) === null);
type WorldFlow = typeof flow extends fc.Arbitrary<infer F> ? F : never;

const sale = fc.record({
  isLead: fc.constantFrom(false, false, false, true),
  customer: fc.constantFrom("ctm_1", "ctm_2", null),
  ref: fc.constantFrom("ann", "Bob", "ivy", null),
  day,
  lines: fc.record({ pro: fc.constantFrom(-2_000, 0, 5_000, 10_001), basic: fc.constantFrom(0, 4_000) }),
  isKnown: fc.boolean(),
  currency: fc.constantFrom("USD", "EUR", "JPY"),
  refunded: fc.constantFrom(0, 0, 0.5, 1),
});
const world = fc.record({
  others: fc.array(flow, { maxLength: 2 }),
  tried: flow,
  edited: fc.option(flow),
  sales: fc.array(sale, { minLength: 2, maxLength: 6 }),
});
type World = typeof world extends fc.Arbitrary<infer W> ? W : never;

function eventsOf({ sales }: World): WorldEvent[] {
  return sales.flatMap(({ isLead, customer, ref, lines, isKnown, currency, refunded, ...sold }, i): WorldEvent[] => {
    const at = FIRST + sold.day * DAY + i * 1_000;
    if (isLead) {
      const body = lead({ external_id: `lead_${i}`, ref: ref ?? "ann", occurred_at: iso(at) });
      return [{ provider: "api", event: eventOfApi("lead", body) }];
    }
    const amount = lines.pro + lines.basic;
    const paid = transactionCompleted({
      ...{ id: `txn_${i}`, ref, amount, currency, occurred_at: iso(at) },
      ...(customer === null ? {} : { customer }),
    });
    const line_items = Object.entries(lines).map(([product, total]) => ({
      ...{ id: `txnitm_${product}`, price_id: `pri_${product}`, product: { id: `pro_${product}`, name: product } },
      totals: { total: String(total), tax: "0" },
    }));
    const details = { ...(paid.data["details"] as object), ...(isKnown ? { line_items } : {}) };
    const events = [{ ...paid, data: { ...paid.data, details } }];
    const returned = Math.floor(Math.max(0, amount) * refunded);
    if (returned > 0) {
      events.push(
        adjustmentUpdated({ id: `adj_${i}`, transaction: `txn_${i}`, amount: returned }) as (typeof events)[0],
      );
    }
    return events.map((event) => ({ provider: "provider_b", event: understood("provider_b", bodyOfB(event)) }));
  });
}

/** A program whose flows have counted since before the first payment; a flow of null is switched off. */
async function programWith(given: readonly (WorldFlow | null)[], off: WorldFlow): Promise<[TestProgram, string[]]> {
  const program = await makeWorldProgram([], { payments_compared: 3 });
  const ids = [];
  for (const [i, one] of given.entries()) {
    const { event, conditions, ...fields } = one ?? off;
    const [id, stamp] = [newId("flow", FIRST - DAY + i), iso(FIRST - DAY + i)];
    ids.push(id);
    await testContext()
      .db.insert(flows)
      .values({
        ...{ ...fields, id, program_id: program.id, name: `flow ${i}`, active: one !== null },
        ...{ conditions: storedConditions(event, conditions), created_at: stamp, updated_at: stamp },
      });
  }
  await env.DB.prepare("update past_rules set valid_until = '2024-01-01T00:00:00.000Z' where program_id = ?")
    .bind(program.id)
    .run();
  return [program, ids];
}

/** The rows of a ledger, by the vendor's ids: the deciding flow by its place, the amount and its currency. */
async function rowsOf(program: TestProgram, ids: readonly string[]) {
  const { payments } = await ledgerOf(program);
  return Object.fromEntries(
    payments.map(({ provider_transaction_id: key, decision, currency }) => {
      const amount = decision?.amount_cents ?? 0;
      const place = decision?.flow_id == null ? null : ids.indexOf(decision.flow_id);
      return [key, [place, amount, amount === 0 ? null : currency, decision?.rate ?? null]];
    }),
  );
}

async function simulatedRows(program: TestProgram, ids: readonly string[], input: Omit<SimulationInput, "last">) {
  const { payments } = await ledgerOf(program);
  const keys = new Map(payments.map((row) => [row.id, row.provider_transaction_id]));
  const simulation = await simulateFlow(programContext(program), { ...input, last: 1_000 });
  const rows = simulation.payments.map((row): [string, unknown[]] => {
    const { payment_id, new_flow_id, new_amount_cents: amount, new_currency, new_rate } = row;
    const place = new_flow_id === null ? null : new_flow_id === "new" ? ids.length : ids.indexOf(new_flow_id);
    return [keys.get(payment_id)!, [place, amount, amount === 0 ? null : new_currency, new_rate]];
  });
  return { simulation, rows: Object.fromEntries(rows) };
}

it(`simulating a flow and living under it give the same rows (seed ${SEED}, ${RUNS} runs) (FLOW-6)`, async () => {
  await fc.assert(
    fc.asyncProperty(world, disorder, async (one, chaos) => {
      const { others, tried, edited } = one;
      const events = eventsOf(one);
      // Another flow is added, an existing one is edited, or it is switched off.
      const before = edited === null ? others : [...others, edited];
      const after = [...others, tried];
      const [[without, ids], [under, underIds], [off, offIds]] = await Promise.all([
        programWith(before, tried),
        programWith(after, tried),
        programWith(edited === null ? others : [...others, null], tried),
      ]);
      await deliverInDisorder(without, events, chaos);
      for (const event of events) for (const program of [under, off]) await deliver(program, event);
      for (const program of [without, under, off]) await settleRest(program);
      const input: Omit<SimulationInput, "last"> = { flow: tried };
      if (edited !== null) input.flow_id = ids.at(-1)!;
      const { simulation, rows } = await simulatedRows(without, ids, input);
      const lived = await rowsOf(under, underIds);
      expect(rows).toEqual(lived);
      expect(simulation.payments.some((row) => row.rule_changed)).toBe(simulation.changed_count > 0);
      // The sums are those of both ledgers.
      for (const [field, ledger] of [
        ["old_amount_cents", await rowsOf(without, ids)],
        ["new_amount_cents", lived],
      ] as const) {
        const sums: Record<string, number> = {};
        for (const [, amount, currency] of Object.values(ledger)) {
          if (currency) sums[currency as string] = (sums[currency as string] ?? 0) + (amount as number);
        }
        const shown = simulation.sums.flatMap((sum) => (sum[field] === 0 ? [] : [[sum.currency, sum[field]]]));
        expect(Object.fromEntries(shown)).toEqual(sums);
      }
      if (edited === null) return;
      const switchedOff = { flow_id: ids.at(-1)!, flow: { active: false } };
      expect((await simulatedRows(without, ids, switchedOff)).rows).toEqual(await rowsOf(off, offIds));
    }),
    { numRuns: Math.ceil(RUNS / 2), interruptAfterTimeLimit: 60_000 + RUNS * 2_000 },
  );
});
