/** The laws of flows (FLOW-2, FLOW-5, FLOW-13 to FLOW-15). */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CONDITION_FIELDS,
  CONDITION_OPS,
  conditionProblem,
  contradictionIn,
  FIELD_RULES,
  isList,
  REF_KINDS,
  traceCondition,
  type Condition,
  type ConditionField,
  type ConditionValue,
} from "../../src/domain/condition.ts";
import {
  eventOf,
  FLOW_EVENTS,
  givenConditions,
  matchFlow,
  sortFlows,
  storedConditions,
  type Flow,
  type FlowSubject,
} from "../../src/domain/flow.ts";
import { cents } from "../../src/domain/money.ts";
import { PROVIDER_NAMES } from "../../src/providers/registry.ts";

const texts = fc.constantFrom("ann", "ANN", "bob", "a", "", "Buyer@Example.com", "example", "USD", "eur", "provider_a");
const small = fc.integer({ min: 0, max: 4 });
const SINGLES = { amount: small, count: small, text: texts, choice: fc.constantFrom(...REF_KINDS), flag: fc.boolean() };

/** Valid conditions on one of the fields. */
function conditionOn(fields: readonly ConditionField[]): fc.Arbitrary<Condition> {
  return fc
    .constantFrom(...fields)
    .chain((field): fc.Arbitrary<Condition> => {
      const single: fc.Arbitrary<number | string | boolean> = SINGLES[FIELD_RULES[field].value];
      const value: fc.Arbitrary<ConditionValue> = fc.oneof(single, fc.array(single, { minLength: 1, maxLength: 3 }));
      return fc.record({ field: fc.constant(field), op: fc.constantFrom(...CONDITION_OPS), value });
    })
    .filter((condition) => conditionProblem(condition) === null);
}

const time = fc.integer({ min: 0, max: 9 }).map((second) => `2026-01-01T00:00:0${second}.000Z`);
const flows: fc.Arbitrary<Flow[]> = fc
  .array(
    fc.record({
      action_type: fc.constantFrom("percentage", "flat"),
      action_value: fc.integer({ min: 0, max: 100 }),
      event: fc.constantFrom(...FLOW_EVENTS),
      conditions: fc.array(conditionOn(CONDITION_FIELDS), { maxLength: 3 }),
      priority: fc.integer({ min: -2, max: 2 }),
      active: fc.boolean(),
      created_at: time,
      ...{ starts_at: fc.option(time), ends_at: fc.option(time), currency: fc.option(fc.constantFrom("USD", "EUR")) },
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
  occurred_at: time,
  txn_amount_cents: small.map(cents),
  currency: fc.constantFrom("USD", "EUR", "JPY"),
  product_id: fc.option(fc.uniqueArray(texts, { maxLength: 3 })),
  customer_email: fc.option(texts),
  partner_slug: fc.constantFrom("ann", "BOB"),
  partner_group: fc.option(texts),
  provider: fc.constantFrom(...PROVIDER_NAMES),
  payment_number: fc.integer({ min: 1, max: 5 }),
  months_since_first_payment: small,
  new_customer: fc.boolean(),
  ref_source: fc.constantFrom(...REF_KINDS),
});

/** The rules, written down again and without care for speed. */
function holds({ field, op, value }: Condition, on: FlowSubject): boolean {
  const saw = on[field];
  const seen = Array.isArray(saw) ? saw : [saw];
  const same = (one: unknown) => seen.some((each) => String(one).toLowerCase() === String(each).toLowerCase());
  const values: readonly unknown[] = isList(value) ? value : [value];
  if (op === "neq" || op === "not_in") return saw === null || !values.some(same);
  if (saw === null) return false;
  if (op === "eq" || op === "in") return values.some(same);
  if (op === "contains") return String(saw).toLowerCase().includes(String(value).toLowerCase());
  if (op === "gt") return Number(saw) > Number(value);
  if (op === "gte") return Number(saw) >= Number(value);
  return op === "lt" ? Number(saw) < Number(value) : Number(saw) <= Number(value);
}

/** Whether the flow is of the same event, its time and currency are the payment's, and all its conditions hold. */
function applies(flow: Flow, on: FlowSubject): boolean {
  const isInTime = (flow.starts_at ?? "") <= on.occurred_at && on.occurred_at < (flow.ends_at ?? "3");
  const isOfCurrency = on.event === "lead_created" || [null, on.currency].includes(flow.currency);
  const isOfEvent = flow.active && eventOf(flow) === on.event;
  return isOfEvent && isInTime && isOfCurrency && givenConditions(flow).every((each) => holds(each, on));
}

describe("flow laws", () => {
  it("a flow matches when its time, its currency and all its conditions do, and only an active one (FLOW-5)", () => {
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
            const saw = on[one.field];
            expect(one.saw).toBe(Array.isArray(saw) ? saw.join(", ") : saw);
            expect(one.held).toBe(holds(one, on));
          }
        }
      }),
    );
  });

  it("conditions on one field contradict each other when no value satisfies all of them (FLOW-13)", () => {
    const onOneField = fc
      .constantFrom(...CONDITION_FIELDS)
      .chain((field) => fc.array(conditionOn([field]), { minLength: 1, maxLength: 4 }));
    const counts = Array.from({ length: 40 }, (_, i) => i);
    const words = ["ann", "bob", "a", "", "buyer@example.com", "example", "usd", "eur", "provider_a"];
    const all = { amount: counts, count: counts, choice: REF_KINDS, flag: [true, false] };
    fc.assert(
      fc.property(onOneField, (conditions) => {
        const { field } = conditions[0]!;
        const { value: type }: { value: string } = FIELD_RULES[field];
        const contained = conditions.filter(({ op }) => op === "contains").map(({ value }) => String(value));
        const isExcluded = (word: string) =>
          conditions.some(
            (one) => ["neq", "not_in"].includes(one.op) && !traceCondition(one, { [field]: [word] } as never).held,
          );
        // All products that are not excluded: with fewer no further condition holds.
        const sets = [words.filter((word) => !isExcluded(word))];
        const values: readonly unknown[] =
          field === "product_id"
            ? sets
            : type === "text"
              ? [...words, `${contained.join("")} else`]
              : all[type as keyof typeof all];
        const least = field === "payment_number" ? 1 : 0;
        const satisfied = values.some(
          (value) =>
            (typeof value !== "number" || value >= least) &&
            conditions.every((one) => traceCondition(one, { [field]: value } as never).held),
        );
        expect([conditions, contradictionIn(conditions) === null]).toEqual([conditions, satisfied]);
      }),
    );
  });
});
