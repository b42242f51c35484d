import type { Flow } from "./flow.ts";
import type { Percent } from "./money.ts";
import type { PartnerStatus } from "./partner.ts";
import type { CodePrecedence } from "./program.ts";

/** What a rate comes from. */
export type RuleSource = "flow" | "partner" | "program";

/** What of a program decides its payments. */
export interface ProgramRules {
  default_commission_pct: Percent;
  attribution: "last" | "first";
  /** Whether a promotion code goes before the references of a link. */
  code_precedence: CodePrecedence;
}

/** What of a partner decides its payments. */
export interface PartnerRules {
  status: PartnerStatus;
  commission_pct: Percent | null;
  /** By which flows know them. */
  slug: string;
}

interface RulesOf {
  program: ProgramRules;
  partner: PartnerRules;
  flow: Flow;
}

/** The columns that `past_rules` keeps of each rule; a test compares them with its triggers. */
export const RULE_COLUMNS: { [S in RuleSource]: readonly (keyof RulesOf[S])[] } = {
  program: columnsOf<ProgramRules>({ default_commission_pct: true, attribution: true, code_precedence: true }),
  partner: columnsOf<PartnerRules>({ status: true, commission_pct: true, slug: true }),
  flow: columnsOf<Flow>({
    ...{ id: true, name: true, action_type: true, action_value: true, conditions: true, priority: true, active: true },
    created_at: true,
  }),
};

/** One that is added to the rules does not compile until it is among them. */
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
  /**
   * The rule as it was left by this change applies to every payment since then, whatever it was in between. `rules` says
   * nothing then: the change itself is one before.
   */
  applies_from?: string | null;
}

/** When a payment was made. */
export interface RuleTime {
  /** As the vendor dates it. */
  occurred_at: string;
  /** The newest change when the payment was first heard of as paid. */
  seen: number;
}

/** In the place of that change: the payment was heard of only as one that is not paid. */
export const UNPAID_SEEN = Number.MAX_SAFE_INTEGER;

/** Vendors date events to the second, by a clock of their own: what is so close is ordered by what was heard first. */
const CLOSE_MS = 1_000;

/**
 * The rule in force when a payment was made: `current`, unless it was changed since. A change never decides a payment
 * that was heard of as paid before it; one that was heard of later it decides unless it was made after the payment's time. One
 * that applies from an earlier time decides all payments since then. The first rule counts back without end.
 */
export function rulesAt<Rules>(time: RuleTime, past: readonly PastRule<Rules>[], current: Rules): Rules {
  return firstSince(time, past)?.rules ?? current;
}

/** The rule in force when a payment was made, and what it was since, in this order: changes as they were made. */
export function rulesSince<Rules>(time: RuleTime, past: readonly PastRule<Rules>[], current: Rules): Rules[] {
  return [...changesSince(time, asMade(past)).map(({ rules }) => rules), current];
}

/** The active flows in force when a payment was made, of those that there are now and of what flows were before. */
export function flowsAt(time: RuleTime, past: readonly PastRule<Flow>[], current: readonly Flow[]): Flow[] {
  const now = new Map(current.map((flow) => [flow.id, flow]));
  const before = Map.groupBy(past, ({ rules }) => rules.id);
  const ids = new Set([...now.keys(), ...before.keys()]);
  return [...ids].flatMap((id) => {
    const flow = firstSince(time, before.get(id) ?? [])?.rules ?? now.get(id);
    return flow?.active ? [flow] : [];
  });
}

/** The changes that were made by a moment, and not those that apply from an earlier time. */
export function asMade<Rule extends PastRule<unknown>>(past: readonly Rule[]): Rule[] {
  return past.filter(({ applies_from }) => applies_from == null);
}

/** The newest change that applies to the payment from an earlier time; 0 where there is none. */
export function newestApplied({ occurred_at }: Pick<RuleTime, "occurred_at">, past: readonly PastRule<unknown>[]) {
  const made = Date.parse(occurred_at);
  const applied = past.filter(({ applies_from }) => applies_from != null && Date.parse(applies_from) <= made);
  return Math.max(0, ...applied.map(({ seq }) => seq));
}

function firstSince<Rules>(time: RuleTime, past: readonly PastRule<Rules>[]) {
  return changesSince(time, past)[0];
}

/** The changes that ended what a rule was when a payment was made, and later, in the order in which they were made. */
function changesSince<Rules>(time: RuleTime, past: readonly PastRule<Rules>[]) {
  const until = Date.parse(time.occurred_at) + CLOSE_MS;
  const applied = newestApplied(time, past);
  const since = asMade(past).filter(
    (rule) => rule.seq > applied && (rule.seq > time.seen || Date.parse(rule.valid_until) > until),
  );
  return since.toSorted((a, b) => a.seq - b.seq);
}
