import type { Action } from "./commission.ts";
import {
  contradictionIn,
  isFieldOfLeads,
  LEAD_FIELDS,
  traceCondition,
  type Condition,
  type ConditionSubject,
  type ConditionTrace,
} from "./condition.ts";
import { cents, isCents, isPercent, LARGEST, percent } from "./money.ts";

export const FLOW_ACTION_TYPES = ["percentage", "flat"] as const;
export type FlowActionType = (typeof FLOW_ACTION_TYPES)[number];

/** The base of a percentage: the whole payment, or the lines that the flow's product conditions match (LINE-5). */
export const FLOW_BASES = ["payment", "matching_items"] as const;
export type FlowBase = (typeof FLOW_BASES)[number];

/** Triggers of a flow (FLOW-1): a completed payment, or a lead that the owner's server reports. */
export const FLOW_EVENTS = ["transaction_completed", "lead_created"] as const;
export type FlowEvent = (typeof FLOW_EVENTS)[number];

/** Limits (FLOW-1): flows a program, and conditions a flow. */
export const MAX_FLOWS = 100;
export const MAX_CONDITIONS = 20;

/** A stored condition that marks a flow as triggered by another event than payments (`storedConditions`). */
interface EventCondition {
  field: "event";
  op: "eq";
  value: Exclude<FlowEvent, "transaction_completed">;
}
export type StoredCondition = Condition | EventCondition;

/** A flow's stored conditions. The event is one of them, so that `past_rules` keeps it with earlier versions. */
export function storedConditions(event: FlowEvent, conditions: readonly Condition[]): StoredCondition[] {
  return event === "transaction_completed"
    ? [...conditions]
    : [{ field: "event", op: "eq", value: event }, ...conditions];
}

/** The conditions that the owner set. */
export function givenConditions({ conditions }: { conditions: readonly StoredCondition[] }): Condition[] {
  return conditions.filter((condition): condition is Condition => condition.field !== "event");
}

/** The trigger of a stored flow. */
export function eventOf({ conditions }: { conditions: readonly StoredCondition[] }): FlowEvent {
  return conditions.find((condition) => condition.field === "event")?.value ?? "transaction_completed";
}

export interface Flow {
  id: string;
  name: string;
  action_type: FlowActionType;
  action_value: number;
  conditions: StoredCondition[];
  priority: number;
  active: boolean;
  created_at: string;
  /** The days of the hold (COM-6); null: the group's or the program's. */
  hold_days: number | null;
  /** The flow applies to payments made from then on; null: always. */
  starts_at: string | null;
  /** The flow applies to payments made before; null: always. */
  ends_at: string | null;
  /** The only currency to which it applies; null: every currency (FLOW-15). */
  currency: string | null;
  /** Absent in a past version of before the column. */
  base?: FlowBase;
}

/** A payment or lead as flows see it. */
export interface FlowSubject extends ConditionSubject {
  event: FlowEvent;
  occurred_at: string;
}

/** Why a flow was not compared with a payment: its time or its currency. */
export const SKIPS = ["not_started", "ended", "other_currency"] as const;
export type Skip = (typeof SKIPS)[number];

export interface FlowTrace {
  flow_id: string;
  name: string;
  priority: number;
  matched: boolean;
  /** Present if only the matching lines count. */
  base?: "matching_items";
  /** Present if the conditions were not compared. */
  skipped?: Skip;
  /** All conditions tried; of a flow that did not match only the first failure, if the trace is too long. */
  conditions: ConditionTrace[];
}

/** Characters of JSON. Every payment stores its trace, and 100 flows of 20 conditions have 180,000 or more. */
const LONGEST_TRACE = 20_000;

/** Shortens a trace so that it can always be stored: the deciding flow keeps all of its conditions. */
function fitTrace(tried: FlowTrace[]): FlowTrace[] {
  let left = LONGEST_TRACE;
  if (tried.every((flow) => (left -= JSON.stringify(flow).length) >= 0)) return tried;
  return tried.map((flow) => {
    const failed = flow.conditions.find(({ held }) => !held);
    return failed ? { ...flow, conditions: [failed] } : flow;
  });
}

/**
 * Finds the first flow that matches, with the trace of all tried: active, of the event, by priority, then age (FLOW-2).
 */
export function matchFlow(flows: readonly Flow[], subject: FlowSubject): { flow: Flow | null; tried: FlowTrace[] } {
  const tried: FlowTrace[] = [];
  for (const flow of sortFlows(flows).filter((one) => eventOf(one) === subject.event)) {
    const trace = traceFlow(flow, subject);
    tried.push(trace);
    if (trace.matched) return { flow, tried: fitTrace(tried) };
  }
  return { flow: null, tried: fitTrace(tried) };
}

/** Active flows in the order of evaluation. Ids contain the time, so they order flows of one millisecond. */
export function sortFlows(flows: readonly Flow[]): Flow[] {
  return flows.filter((flow) => flow.active).toSorted(compareFlows);
}

/** The distance between renumbered priorities, which leaves room for others. */
const STEP = 10;

type Ordered = Pick<Flow, "id" | "priority" | "created_at">;

/**
 * The priorities that change so that the flows are tried in this order (FLOW-2): that of one flow if the others keep
 * their order and there is room, else those of all.
 */
export function prioritiesInOrder(flows: readonly Ordered[]): Map<string, number> {
  for (const [i, moved] of flows.entries()) {
    const rest = flows.toSpliced(i, 1);
    const priority = priorityBetween(flows[i - 1], flows[i + 1]);
    if (priority === null || !isInOrder(rest)) continue;
    const all = flows.with(i, { ...moved, priority });
    if (isInOrder(all)) return new Map([[moved.id, priority]]);
  }
  return new Map(flows.map(({ id }, i) => [id, (flows.length - i) * STEP]));
}

function priorityBetween(above: Ordered | undefined, below: Ordered | undefined): number | null {
  if (!above) return below ? Math.floor(below.priority) + STEP : null;
  if (!below) return Math.ceil(above.priority) - STEP;
  const middle = (above.priority + below.priority) / 2;
  const whole = Math.round(middle);
  return whole < above.priority && whole > below.priority ? whole : middle;
}

function isInOrder(flows: readonly Ordered[]): boolean {
  return flows.every((flow, i) => i === 0 || compareFlows(flows[i - 1]!, flow) < 0);
}

function compareFlows(a: Ordered, b: Ordered): number {
  return b.priority - a.priority || compare(a.created_at, b.created_at) || compare(a.id, b.id);
}

function traceFlow(flow: Flow, subject: FlowSubject): FlowTrace {
  const { id: flow_id, name, priority } = flow;
  const skipped = skipOf(flow, subject);
  const base = flow.base === "matching_items" ? { base: flow.base } : {};
  if (skipped) return { flow_id, name, priority, matched: false, ...base, skipped, conditions: [] };
  const conditions = givenConditions(flow).map((condition) => traceCondition(condition, subject));
  return { flow_id, name, priority, matched: conditions.every(({ held }) => held), ...base, conditions };
}

/** Whether a flow applies to payments at every time from `now` (ISO 8601) on, in every currency, that meet its conditions. */
export function isOpenEnded(
  { starts_at, ends_at, currency }: Pick<Flow, "starts_at" | "ends_at" | "currency">,
  now: string,
): boolean {
  return (starts_at === null || starts_at <= now) && ends_at === null && currency === null;
}

/** The reason to skip a flow before its conditions are compared. A lead has no currency of its own. */
function skipOf({ starts_at, ends_at, currency }: Flow, subject: FlowSubject): Skip | null {
  const made = Date.parse(subject.occurred_at);
  if (starts_at && made < Date.parse(starts_at)) return "not_started";
  if (ends_at && made >= Date.parse(ends_at)) return "ended";
  return currency && subject.event !== "lead_created" && currency !== subject.currency ? "other_currency" : null;
}

type CheckedFlow = Pick<Flow, "action_type" | "action_value"> & {
  event?: FlowEvent | undefined;
  base?: FlowBase | undefined;
  conditions?: readonly Condition[] | undefined;
} & { [K in "starts_at" | "ends_at" | "currency"]?: string | null | undefined };

/**
 * Why a flow is invalid, or null: its action, its times, conditions that can never hold together (FLOW-13), or for lead
 * flows the use of fields and rates that a lead does not have (FLOW-12).
 */
export function flowProblem(flow: CheckedFlow): { path: string; message: string } | null {
  const { conditions = [], starts_at, ends_at } = flow;
  if (flow.event === "lead_created") {
    if (flow.action_type !== "flat") {
      return { path: "action_type", message: "A flow for leads pays a flat amount, because leads have no payment." };
    }
    const wrong = conditions.findIndex(({ field }) => !isFieldOfLeads(field));
    if (wrong >= 0) {
      return {
        path: `conditions.${wrong}.field`,
        message: `Leads do not have this field: use ${listOfWords(LEAD_FIELDS)}.`,
      };
    }
  }
  if (flow.base === "matching_items" && !conditions.some(({ field }) => field === "product_id")) {
    return { path: "base", message: "This needs a condition on product_id, whose lines count." };
  }
  if (starts_at && ends_at && Date.parse(ends_at) <= Date.parse(starts_at)) {
    return { path: "ends_at", message: "This must be after the start." };
  }
  const message = actionProblem(flow);
  return message === null ? contradictionOf(conditions, flow.currency ?? null) : { path: "action_value", message };
}

function contradictionOf(conditions: readonly Condition[], currency: string | null) {
  const index = contradictionIn(conditions);
  if (index !== null) {
    return {
      path: `conditions.${index}`,
      message: "This can never hold together with the other conditions on the same field: no payment would match.",
    };
  }
  const own: Condition[] = currency === null ? [] : [{ field: "currency", op: "eq", value: currency }];
  if (contradictionIn([...conditions, ...own]) === null) return null;
  return {
    path: "currency",
    message: `The flow applies to payments in ${currency} only, but a condition excludes ${currency}.`,
  };
}

function listOfWords(words: readonly string[]): string {
  return [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(Boolean).join(" or ");
}

/**
 * The currency of a flow (FLOW-15): as given; else the program's if the flow has an amount, which belongs to a currency;
 * else null.
 */
export function currencyOfFlow(
  flow: Pick<Flow, "action_type"> & {
    currency?: string | null | undefined;
    conditions?: readonly Condition[] | undefined;
  },
  programCurrency: string,
): string | null {
  const hasAmount = flow.action_type === "flat" || flow.conditions?.some(({ field }) => field === "txn_amount_cents");
  return flow.currency ?? (hasAmount === true ? programCurrency : null);
}

/** Why an action is invalid, or null: a percentage is 0–100, a flat amount an integer ≥ 0 in cents (FLOW-1). */
export function actionProblem({ action_type, action_value }: Pick<Flow, "action_type" | "action_value">) {
  if (action_type === "flat") {
    const isAmount = isCents(action_value) && action_value >= 0 && action_value <= LARGEST;
    return isAmount ? null : `A flat amount is a whole number of cents, 0 to ${LARGEST}.`;
  }
  return isPercent(action_value) ? null : "A percentage is 0 to 100 with at most four decimals.";
}

/** The action of a flow, whose value is an amount or a percentage by its type; `actionProblem` has checked it. */
export function actionOf({ action_type, action_value }: Pick<Flow, "action_type" | "action_value">): Action {
  return action_type === "flat"
    ? { action_type, action_value: cents(action_value) }
    : { action_type, action_value: percent(action_value) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
