/** The rules of a program, their changes, and those in force at a moment. */
import type { Attribution } from "./model-facts.ts";
import { flowFor, type Compared, type Flow, type Rule } from "./model-flows.ts";
import type { Group, PartnerRule, Rules, State } from "./model-state.ts";

/** Vendors date events to the second: closer ones are ordered by arrival. */
export const CLOSE = 1_000;

/** Those in force when the payment was made, whenever its facts arrive (PAY-16). */
export function rulesAt(state: State, at: number, heard: number | null): Rules {
  const { pct, attribution, auto_approve_days, partners, groups, flows, changes } = state;
  const then: Rules = { pct, attribution, auto_approve_days, partners: { ...partners }, groups, flows };
  const applied = new Set<string>();
  for (const [i, { at: changed, undo, applies }] of [...changes.entries()].toReversed()) {
    if (applies && applies[1] <= at) applied.add(applies[0]);
    if (i < (heard ?? Infinity) && changed <= at + CLOSE) continue;
    if (undo.pct !== undefined && !applied.has("the program's")) then.pct = undo.pct;
    if (undo.days !== undefined) then.auto_approve_days = undo.days;
    if (undo.group) then.groups = { ...then.groups, [undo.group[0]]: undo.group[1] };
    if (undo.attribution) then.attribution = undo.attribution;
    if (undo.partner) {
      const [slug, was] = undo.partner;
      then.partners[slug] = { ...was, pct: applied.has(slug) ? then.partners[slug]!.pct : was.pct };
    }
    const [name, before] = undo.flow ?? [];
    if (name !== undefined && !applied.has(name))
      then.flows = then.flows.flatMap((flow) => (flow.name === name ? (before ?? []) : flow));
  }
  return then;
}

export interface RuleChange {
  pct?: number;
  days?: number | null;
  attribution?: Attribution;
  partner?: [slug: string, pct: number | null];
  group?: [slug: string, change: Partial<Group>];
  flow?: Flow;
}

/** Sets a partner's status; false if unchanged. */
export function putPartner(state: State, slug: string, change: Partial<PartnerRule>, now: number): boolean {
  const { email, ...was } = state.partners[slug]!;
  const is = { ...was, ...change };
  if (is.status === was.status && is.pct === was.pct && is.called === was.called && is.group === was.group)
    return false;
  state.changes = [...state.changes, { at: now, undo: { partner: [slug, was] } }];
  state.partners = { ...state.partners, [slug]: { ...is, email } };
  return true;
}

/** A change of the program's rate or attribution, a partner's rate or a flow, from now on. */
export function changeRules(
  state: State,
  now: number,
  { pct, days, attribution, partner, group, flow }: RuleChange,
): void {
  if (attribution && attribution !== state.attribution) {
    state.changes = [...state.changes, { at: now, undo: { attribution: state.attribution } }];
    state.attribution = attribution;
  }
  if (pct !== undefined && pct !== state.pct) {
    state.changes = [...state.changes, { at: now, undo: { pct: state.pct } }];
    state.pct = pct;
  }
  if (days !== undefined && days !== state.auto_approve_days) {
    state.changes = [...state.changes, { at: now, undo: { days: state.auto_approve_days } }];
    state.auto_approve_days = days;
  }
  if (partner) {
    const [slug, pct] = partner;
    putPartner(state, slug, { pct }, now);
  }
  if (group) {
    const was = state.groups[group[0]]!;
    const is = { ...was, ...group[1] };
    if (is.pct !== was.pct || is.hold !== was.hold) {
      state.changes = [...state.changes, { at: now, undo: { group: [group[0], was] } }];
      state.groups = { ...state.groups, [group[0]]: is };
    }
  }
  if (flow) {
    const before = state.flows.find(({ name }) => name === flow.name) ?? null;
    state.changes = [...state.changes, { at: now, undo: { flow: [flow.name, before] } }];
    state.flows = before ? state.flows.map((one) => (one === before ? flow : one)) : [...state.flows, flow];
  }
}

/** The first matching flow's rule, "else the partner's rate, else the group's, else the program's"; the hold likewise. */
export function decideBy(
  then: Rules,
  slug: string,
  payment: Omit<Compared, "partner_slug" | "partner_group">,
  at: number,
): { rule: Rule; hold: number | null } {
  const { pct, called, group } = then.partners[slug]!;
  const { pct: ofGroup, hold } = then.groups[group]!;
  const flow = flowFor(then.flows, { ...payment, partner_slug: called, partner_group: group }, at);
  const rule: Rule = flow
    ? { type: flow.type, value: flow.value, ...(flow.counts ? { counts: flow.counts } : {}) }
    : { type: "percentage", value: pct ?? ofGroup ?? then.pct };
  return { rule, hold: flow?.hold ?? hold ?? then.auto_approve_days };
}
