/** The offer on the public page for applications (JOIN-10). */
import { describe, expect, it } from "vitest";
import type { Condition } from "../../src/domain/condition.ts";
import type { Flow, StoredCondition } from "../../src/domain/flow.ts";
import { offerOf } from "../../src/domain/offer.ts";

const NOW = "2026-03-01T00:00:00.000Z";
const GROUP = { slug: "creators", commission_pct: null, hold_days: null };
const LEAD: StoredCondition = { field: "event", op: "eq", value: "lead_created" };

const flow = (conditions: StoredCondition[], more: Partial<Flow> = {}): Flow => ({
  ...{ id: "flow_1", name: "Rule", action_type: "percentage", action_value: 30, conditions, priority: 0, active: true },
  ...{ created_at: NOW, hold_days: null, starts_at: null, ends_at: null, currency: null, base: "payment" },
  ...more,
});
const group = (op: Condition["op"], value: Condition["value"]): Condition => ({ field: "partner_group", op, value });
const FIRST: Condition = { field: "payment_number", op: "eq", value: 1 };
const offer = (flows: Flow[], of: Partial<typeof GROUP> | { commission_pct: number } = {}) =>
  offerOf({ default_commission_pct: 20 }, { ...GROUP, ...of }, flows, NOW);

describe("the offer to partners of a group", () => {
  it("is the rate of the group, else of the program", () => {
    expect(offer([])).toMatchObject({ commission_pct: 20, payments: { flow: null, varies: false } });
    expect(offer([], { commission_pct: 35 }).commission_pct).toBe(35);
  });

  it.each([
    ["a condition on payments", [FIRST], [FIRST]],
    ["its group", [group("eq", "Creators"), FIRST], [FIRST]],
    ["another group excluded", [group("not_in", ["press", "staff"])], []],
  ])("states the only flow for payments that can apply: with %s", (_, conditions, given) => {
    const { payments } = offer([flow(conditions)]);
    expect([payments.flow?.given, payments.varies]).toEqual([given, false]);
  });

  it.each([
    ["another group's", flow([group("in", ["press"])])],
    ["one that excludes the group", flow([group("neq", "CREATORS")])],
    ["an inactive one", flow([], { active: false })],
    ["one that has ended", flow([], { ends_at: NOW })],
    ["one of leads", flow([LEAD])],
  ])("leaves out %s", (_, one) => {
    expect(offer([one]).payments).toEqual({ flow: null, varies: false });
  });

  it.each([
    ["the partner's slug", { field: "partner_slug", op: "eq", value: "mia" }],
    ["the customer's address", { field: "customer_email", op: "contains", value: "@rival.example" }],
    ["products", { field: "product_id", op: "eq", value: "prod_1" }],
  ] as const)("does not publish conditions on %s, but says that rates vary", (_, condition) => {
    expect(offer([flow([condition])]).payments).toEqual({ flow: null, varies: true });
  });

  it("varies if several flows can apply", () => {
    expect(offer([flow([FIRST]), flow([], { id: "flow_2" })]).payments).toEqual({ flow: null, varies: true });
  });

  it("ends with the first flow for all payments: later ones cannot apply, nor the rate of the group", () => {
    const forAll = flow([], { priority: 5, action_value: 10 });
    expect(offer([forAll, flow([], { id: "flow_2", action_value: 40 })])).toMatchObject({
      ...{ commission_pct: 10, payments: { flow: { action_value: 10, given: [] }, varies: false } },
    });
    const special = flow([FIRST], { id: "flow_0", priority: 9 });
    const others = offer([special, forAll, flow([], { id: "flow_2" })], { commission_pct: 35 });
    expect(others).toMatchObject({ commission_pct: 10, payments: { flow: null, varies: true } });
    for (const limited of [
      { currency: "USD" },
      { ends_at: "2026-04-01T00:00:00.000Z" },
      { starts_at: "2026-04-01T00:00:00.000Z" },
    ]) {
      expect(offer([{ ...forAll, ...limited }, flow([], { id: "flow_2" })])).toMatchObject({ commission_pct: 30 });
      expect(offer([{ ...forAll, ...limited }])).toMatchObject({ commission_pct: 20 });
    }
  });

  it("states a flow for leads apart", () => {
    const { leads, payments } = offer([flow([LEAD], { action_type: "flat", action_value: 500 })]);
    expect([leads.flow?.action_value, leads.flow?.given, payments.flow]).toEqual([500, [], null]);
  });
});
