/** Rates and flows that are applied from an earlier time (FLOW-11). */
import { occurredAt } from "./model-facts.ts";
import { changeRules, type RuleChange } from "./model-rules.ts";
import { settle } from "./model.ts";
import type { State } from "./model-state.ts";

/** A change of a rate or a flow that applies to all payments since `from`: they are settled again. */
export function applyRules(state: State, now: number, change: RuleChange, from: number): void {
  changeRules(state, now, change);
  const rule = change.partner?.[0] ?? change.flow?.name ?? "the program's";
  state.changes = [...state.changes, { at: now, undo: {}, applies: [rule, from] }];
  for (const [key, purchase] of Object.entries(state.purchases)) {
    if (state.sales[key] && occurredAt(purchase) >= from) settle(state, key, now);
  }
}
