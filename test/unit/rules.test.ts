/** The version of a rule that decides a payment (PAY-16). */
import { describe, expect, it } from "vitest";
import type { Flow } from "../../src/domain/flow.ts";
import { flowsAt, rulesAt, type PastRule } from "../../src/domain/rules.ts";

const at = (second: number, ms = 0) => new Date(Date.UTC(2026, 0, 1, 0, 0, second, ms)).toISOString();

/** 10 until the second 10 (change 1), 20 until the second 20 (change 5), 30 since. */
const PAST: PastRule<number>[] = [
  { seq: 5, valid_until: at(20), rules: 20 },
  { seq: 1, valid_until: at(10), rules: 10 },
];

describe("rulesAt (PAY-16)", () => {
  it.each([
    ["before all changes", at(1), 9, 10],
    ["between two", at(15), 9, 20],
    ["after the last", at(25), 9, 30],
    ["heard of before a change, dated after it by the vendor's clock", at(25), 4, 20],
    ["heard of before all of them", at(25), 0, 10],
    ["in the second before a change, heard of before it", at(20), 4, 20],
    ["in the second of a change, heard of after it", at(20), 5, 30],
    ["dated to the second in which the change was made, heard of after it", at(19, 500), 5, 30],
    ["dated more than a second before the change, heard of after it", at(18, 999), 5, 20],
  ])("%s", (_, occurred_at, seen, expected) => {
    expect(rulesAt({ occurred_at, seen }, PAST, 30)).toBe(expected);
    expect(rulesAt({ occurred_at, seen }, PAST.toReversed(), 30)).toBe(expected);
  });

  it.each([
    ["before it applies", at(1), 9, 10],
    ["at its time", at(5), 9, 30],
    ["between two changes before it", at(15), 9, 30],
    ["heard of before all changes", at(15), 0, 30],
    ["heard of before the change after it", at(26), 6, 30],
    ["after the change after it", at(26), 7, 40],
    ["long before, heard of first", at(1), 0, 10],
  ])("a change that applies from the second 5, made at the second 20, %s", (_, occurred_at, seen, expected) => {
    const applied = { seq: 6, valid_until: at(20), rules: 30, applies_from: at(5) };
    const past = [...PAST, applied, { seq: 7, valid_until: at(25), rules: 30 }];
    expect(rulesAt({ occurred_at, seen }, past, 40)).toBe(expected);
    expect(rulesAt({ occurred_at, seen }, past.toReversed(), 40)).toBe(expected);
  });

  it("without a change: the current one, however old the payment is", () => {
    expect(rulesAt({ occurred_at: at(-1_000_000), seen: 0 }, [], 30)).toBe(30);
  });
});

describe("flowsAt (PAY-16)", () => {
  const flow = (id: string, fields: Partial<Flow> = {}): Flow => ({
    ...{ id, name: id, action_type: "flat", action_value: 1, conditions: [], priority: 0, active: true },
    ...{ created_at: at(0), starts_at: null, ends_at: null, currency: null, hold_days: null },
    ...fields,
  });

  it("gives the flows that were active then, as they were: not a later one, and one that was removed since", () => {
    const past: PastRule<Flow>[] = [
      { seq: 1, valid_until: at(10), rules: flow("new", { active: false }) },
      { seq: 2, valid_until: at(20), rules: flow("changed", { action_value: 7 }) },
      { seq: 3, valid_until: at(20), rules: flow("removed") },
      { seq: 4, valid_until: at(20), rules: flow("off") },
    ];
    const current = [flow("new"), flow("changed"), flow("off", { active: false })];
    const then = (second: number) =>
      flowsAt({ occurred_at: at(second), seen: 4 }, past, current).map(({ id, action_value }) => [id, action_value]);
    expect(then(5).toSorted()).toEqual([
      ["changed", 7],
      ["off", 1],
      ["removed", 1],
    ]);
    expect(then(15).toSorted()).toEqual([
      ["changed", 7],
      ["new", 1],
      ["off", 1],
      ["removed", 1],
    ]);
    expect(then(25).toSorted()).toEqual([
      ["changed", 1],
      ["new", 1],
    ]);
  });
});
