/** The laws of flows (FLOW-2, FLOW-5). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  eventOf,
  FLOW_EVENTS,
  givenConditions,
  sortFlows,
  matchFlow,
  storedConditions,
  type Condition,
  type Flow,
  type FlowSubject,
} from "../../src/domain/flow.ts";
import { cents } from "../../src/domain/money.ts";
import { PROVIDER_NAMES } from "../../src/providers/registry.ts";

const texts = fc.constantFrom("ann", "ANN", "bob", "a", "", "Buyer@Example.com", "example");
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    field: fc.constant("txn_amount_cents" as const),
    op: fc.constantFrom("eq", "neq", "gt", "lt"),
    value: fc.integer({ min: 0, max: 5 }),
  }),
  fc.record({
    field: fc.constantFrom("customer_email", "partner_slug", "provider"),
    op: fc.constantFrom("eq", "neq", "contains"),
    value: texts,
  }),
);
const flows: fc.Arbitrary<Flow[]> = fc
  .array(
    fc.record({
      action_type: fc.constantFrom("percentage", "flat"),
      action_value: fc.integer({ min: 0, max: 100 }),
      event: fc.constantFrom(...FLOW_EVENTS),
      conditions: fc.array(condition, { maxLength: 4 }),
      priority: fc.integer({ min: -2, max: 2 }),
      active: fc.boolean(),
      created_at: fc.integer({ min: 0, max: 3 }).map((second) => `2026-01-01T00:00:0${second}.000Z`),
    }),
    { maxLength: 8 },
  )
  .map((list) =>
    list.map(({ event, ...flow }, i) => {
      return {
        ...flow,
        hold_days: null,
        conditions: storedConditions(event, flow.conditions),
        id: `flw_${i}`,
        name: `flow ${i}`,
      };
    }),
  );
const subject: fc.Arbitrary<FlowSubject> = fc.record({
  event: fc.constantFrom(...FLOW_EVENTS),
  txn_amount_cents: fc.integer({ min: 0, max: 5 }).map(cents),
  customer_email: fc.option(texts),
  partner_slug: fc.constantFrom("ann", "BOB"),
  provider: fc.constantFrom(...PROVIDER_NAMES),
});

/** The rules, written down again and without care for speed. */
function holds({ field, op, value }: Condition, on: FlowSubject): boolean {
  const saw = on[field];
  if (saw === null) return op === "neq";
  const [left, right] = [saw, value].map((each) => (typeof each === "string" ? each.toLowerCase() : each));
  if (op === "eq") return left === right;
  if (op === "neq") return left !== right;
  if (op === "contains") return String(left).includes(String(right));
  return op === "gt" ? Number(left) > Number(right) : Number(left) < Number(right);
}

/** Whether the flow is of the same event, and all its conditions hold. */
function applies(flow: Flow, on: FlowSubject): boolean {
  return flow.active && eventOf(flow) === on.event && givenConditions(flow).every((each) => holds(each, on));
}

describe("flow laws", () => {
  it("a flow matches when all its conditions hold, and only an active one (FLOW-5)", () => {
    fc.assert(
      fc.property(flows, subject, (list, on) => {
        const { flow } = matchFlow(list, on);
        if (flow) expect(applies(flow, on)).toBe(true);
        else expect(list.some((each) => applies(each, on))).toBe(false);
      }),
    );
  });

  it("the first match by priority wins; among equals the older one (FLOW-2)", () => {
    fc.assert(
      fc.property(flows, subject, (list, on) => {
        const { flow } = matchFlow(list, on);
        for (const other of list) {
          if (!flow || other === flow || !applies(other, on)) continue;
          expect(other.priority).toBeLessThanOrEqual(flow.priority);
          if (other.priority === flow.priority) expect(other.created_at >= flow.created_at).toBe(true);
        }
      }),
    );
  });

  it("neither the order of flows nor that of conditions changes anything", () => {
    fc.assert(
      fc.property(flows, subject, fc.infiniteStream(fc.nat()), (list, on, keys) => {
        const shuffled = <T>(items: readonly T[]): T[] =>
          items
            .map((item) => ({ item, key: keys.next().value }))
            .toSorted((a, b) => a.key - b.key)
            .map(({ item }) => item);
        const mixed = shuffled(list).map((flow) => ({ ...flow, conditions: shuffled(flow.conditions) }));
        expect(matchFlow(mixed, on).flow?.id).toBe(matchFlow(list, on).flow?.id);
      }),
    );
  });

  it("the trace shows the flows tried in order until the match, each condition with the value it saw", () => {
    fc.assert(
      fc.property(flows, subject, (list, on) => {
        const { flow, tried } = matchFlow(list, on);
        const order = sortFlows(list.filter((one) => eventOf(one) === on.event)).map(({ id }) => id);
        expect(tried.map(({ flow_id }) => flow_id)).toEqual(flow ? order.slice(0, order.indexOf(flow.id) + 1) : order);
        for (const each of tried) {
          expect(each.matched).toBe(each.flow_id === flow?.id);
          for (const one of each.conditions) {
            expect(one.saw).toBe(on[one.field]);
            expect(one.held).toBe(holds(one, on));
          }
        }
      }),
    );
  });
});
