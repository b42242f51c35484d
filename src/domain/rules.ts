import type { Flow } from "./flow.ts";
import type { Percent } from "./money.ts";
import type { PartnerStatus } from "./partner.ts";
import type { CodePrecedence } from "./program.ts";

/** The owner of a rate. */
export type RuleSource = "flow" | "partner" | "group" | "program";

/** The columns of a program that decide its payments. */
export interface ProgramRules {
  default_commission_pct: Percent;
  attribution: "last" | "first";
  /** Whether a promotion code takes precedence over a link's reference. */
  code_precedence: CodePrecedence;
  /** The days of the hold, unless a flow or the group has its own (COM-6). */
  auto_approve_days: number | null;
}

/** The columns of a partner that decide their payments. */
export interface PartnerRules {
  status: PartnerStatus;
  commission_pct: Percent | null;
  /** Compared by flows. */
  slug: string;
  group_id: string;
}

/** The columns of a group that decide the payments of its partners. */
export interface GroupRules {
  id: string;
  /** Compared by flows; never changes. */
  slug: string;
  commission_pct: Percent | null;
  hold_days: number | null;
}

interface RulesOf {
  program: ProgramRules;
  partner: PartnerRules;
  group: GroupRules;
  flow: Flow;
}

/** The columns that `past_rules` stores for each rule; a test compares them with its triggers. */
export const RULE_COLUMNS: { [S in RuleSource]: readonly (keyof RulesOf[S])[] } = {
  program: columnsOf<ProgramRules>({
    ...{ default_commission_pct: true, attribution: true, code_precedence: true, auto_approve_days: true },
  }),
  partner: columnsOf<PartnerRules>({ status: true, commission_pct: true, slug: true, group_id: true }),
  group: columnsOf<GroupRules>({ id: true, slug: true, commission_pct: true, hold_days: true }),
  flow: columnsOf<Flow>({
    ...{ id: true, name: true, action_type: true, action_value: true, conditions: true, priority: true, active: true },
    ...{ created_at: true, starts_at: true, ends_at: true, currency: true, hold_days: true, base: true },
  }),
};

/** The compiler requires every rule column in the list. */
function columnsOf<Rules>(columns: Record<keyof Rules, true>): readonly (keyof Rules)[] {
  return Object.keys(columns) as (keyof Rules)[];
}

/** A rule as it was before a change. */
export interface PastRule<Rules> {
  /** Changes are numbered in the order in which they were made. */
  seq: number;
  /** When it was changed. */
  valid_until: string;
  rules: Rules;
  /** After this change its rule applies to every payment since then; `rules` then has no meaning of its own. */
  applies_from?: string | null;
}

/** The time of a payment. */
export interface RuleTime {
  /** As dated by the vendor. */
  occurred_at: string;
  /** The newest change when the payment was first reported as paid. */
  seen: number;
}

/** Replaces the number of that change for a payment reported only as unpaid. */
export const UNPAID_SEEN = Number.MAX_SAFE_INTEGER;

/** Vendors date events to the second, by their own clocks: times this close are ordered by arrival. */
const CLOSE_MS = 1_000;

/**
 * The rule in force when a payment was made: `current`, unless it changed since. A change never decides a payment that
 * was reported as paid before it; it decides one reported later unless the payment was made before it. A change applied
 * from an earlier time decides all payments since then. The first rule extends back without limit.
 */
export function rulesAt<Rules>(time: RuleTime, past: readonly PastRule<Rules>[], current: Rules): Rules {
  return firstSince(time, past)?.rules ?? current;
}

/**
 * One column of the rule in force when a payment was made. A change applied from an earlier time counts if it names the
 * column. A version without the column is older than the column, and has the value of the next one.
 */
export function columnAt<Rules, Column extends keyof Rules>(
  column: Column,
  time: RuleTime,
  past: readonly PastRule<Partial<Rules>>[],
  current: Rules,
): Rules[Column] {
  const about = past.filter(({ applies_from, rules }) => applies_from == null || column in rules);
  const known = changesSince(time, about).find(({ rules }) => rules[column] !== undefined);
  return known ? (known.rules[column] as Rules[Column]) : current[column];
}

/** The rule in force when a payment was made, followed by its later versions in the order of the changes. */
export function rulesSince<Rules>(time: RuleTime, past: readonly PastRule<Rules>[], current: Rules): Rules[] {
  return [...changesSince(time, withoutBackdated(past)).map(({ rules }) => rules), current];
}

/** The flows that were active when a payment was made, from the current flows and their past versions. */
export function flowsAt(time: RuleTime, past: readonly PastRule<Flow>[], current: readonly Flow[]): Flow[] {
  const now = new Map(current.map((flow) => [flow.id, flow]));
  const before = Map.groupBy(past, ({ rules }) => rules.id);
  const ids = new Set([...now.keys(), ...before.keys()]);
  return [...ids].flatMap((id) => {
    const flow = firstSince(time, before.get(id) ?? [])?.rules ?? now.get(id);
    return flow?.active ? [flow] : [];
  });
}

/** The changes made by then, without those applied from an earlier time. */
export function withoutBackdated<Rule extends PastRule<unknown>>(past: readonly Rule[]): Rule[] {
  return past.filter(({ applies_from }) => applies_from == null);
}

/** The newest change that applies to the payment from an earlier time, or 0. */
export function newestApplied({ occurred_at }: Pick<RuleTime, "occurred_at">, past: readonly PastRule<unknown>[]) {
  const made = Date.parse(occurred_at);
  const applied = past.filter(({ applies_from }) => applies_from != null && Date.parse(applies_from) <= made);
  return Math.max(0, ...applied.map(({ seq }) => seq));
}

function firstSince<Rules>(time: RuleTime, past: readonly PastRule<Rules>[]) {
  return changesSince(time, past)[0];
}

/** The changes since a payment was made, in order. */
function changesSince<Rules>(time: RuleTime, past: readonly PastRule<Rules>[]) {
  const until = Date.parse(time.occurred_at) + CLOSE_MS;
  const applied = newestApplied(time, past);
  const since = withoutBackdated(past).filter(
    (rule) => rule.seq > applied && (rule.seq > time.seen || Date.parse(rule.valid_until) > until),
  );
  return since.toSorted((a, b) => a.seq - b.seq);
}
