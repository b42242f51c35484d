import type { Action } from "./commission.ts";
import { cents, isCents, isPercent, LARGEST, percent, type Cents } from "./money.ts";
import type { ProviderName } from "./provider-name.ts";

export const CONDITION_FIELDS = ["txn_amount_cents", "customer_email", "partner_slug", "provider"] as const;
export const CONDITION_OPS = ["eq", "neq", "gt", "lt", "contains"] as const;
export const FLOW_ACTION_TYPES = ["percentage", "flat"] as const;

export type ConditionField = (typeof CONDITION_FIELDS)[number];
export type ConditionOp = (typeof CONDITION_OPS)[number];
export type FlowActionType = (typeof FLOW_ACTION_TYPES)[number];

/** Triggers of a flow (FLOW-1): a completed payment, or a lead that the owner's server reports. */
export const FLOW_EVENTS = ["transaction_completed", "lead_created"] as const;
export type FlowEvent = (typeof FLOW_EVENTS)[number];

/** Limits (FLOW-1): flows a program, and conditions a flow. */
export const MAX_FLOWS = 100;
export const MAX_CONDITIONS = 20;

export interface Condition {
  field: ConditionField;
  op: ConditionOp;
  value: number | string;
}

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
}

/** The values that conditions compare. A field that the payment lacks is null. */
export interface FlowSubject {
  event: FlowEvent;
  txn_amount_cents: Cents;
  customer_email: string | null;
  partner_slug: string;
  provider: ProviderName;
}

/** A condition, the value it compared, and whether it held. */
export interface ConditionTrace extends Condition {
  saw: number | string | null;
  held: boolean;
}

export interface FlowTrace {
  flow_id: string;
  name: string;
  priority: number;
  matched: boolean;
  /** All conditions tried; of a flow that did not match only the first failure, if the trace is too long. */
  conditions: ConditionTrace[];
}

/** Characters of JSON. 100 flows of 20 long conditions would exceed a database row, which is limited to 2 MB. */
const LONGEST_TRACE = 200_000;

/** Shortens a trace so that it can always be stored: the deciding flow keeps all of its conditions. */
function fitTrace(tried: FlowTrace[]): FlowTrace[] {
  if (JSON.stringify(tried).length <= LONGEST_TRACE) return tried;
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
    const conditions = givenConditions(flow).map((condition) => evaluate(condition, subject));
    const matched = conditions.every((condition) => condition.held);
    tried.push({ flow_id: flow.id, name: flow.name, priority: flow.priority, matched, conditions });
    if (matched) return { flow, tried: fitTrace(tried) };
  }
  return { flow: null, tried: fitTrace(tried) };
}

/** Active flows in the order of evaluation. Ids contain the time, so they order flows of one millisecond. */
export function sortFlows(flows: readonly Flow[]): Flow[] {
  return flows
    .filter((flow) => flow.active)
    .toSorted((a, b) => b.priority - a.priority || compare(a.created_at, b.created_at) || compare(a.id, b.id));
}

/** Strings compare ignoring case; a missing field matches only `neq` (FLOW-5). */
function evaluate(condition: Condition, subject: FlowSubject): ConditionTrace {
  const saw = subject[condition.field];
  return { ...condition, saw, held: holds(condition, saw) };
}

function holds({ op, value }: Condition, saw: number | string | null): boolean {
  if (saw === null) return op === "neq";
  const left = typeof saw === "string" ? saw.toLowerCase() : saw;
  const right = typeof value === "string" ? value.toLowerCase() : value;
  switch (op) {
    case "eq":
      return left === right;
    case "neq":
      return left !== right;
    case "gt":
      return left > right;
    case "lt":
      return left < right;
    case "contains":
      return typeof left === "string" && typeof right === "string" && left.includes(right);
  }
}

/** Why a condition is invalid, or null: op, field and value type must fit each other (FLOW-4). */
export function conditionProblem(condition: Condition): { path: "op" | "value"; message: string } | null {
  const isAmount = condition.field === "txn_amount_cents";
  if ((condition.op === "gt" || condition.op === "lt") && !isAmount) {
    return { path: "op", message: `${condition.op} needs the field txn_amount_cents` };
  }
  if (condition.op === "contains" && isAmount) {
    return { path: "op", message: "contains needs a text field" };
  }
  if (isAmount && !(typeof condition.value === "number" && isCents(condition.value))) {
    return { path: "value", message: "txn_amount_cents is compared with a whole number of cents" };
  }
  if (!isAmount && typeof condition.value !== "string") {
    return { path: "value", message: `${condition.field} is compared with a text` };
  }
  return null;
}

/** Fields that a lead has. */
const OF_LEADS: readonly ConditionField[] = ["customer_email", "partner_slug"];

/** Why a flow is invalid, or null: its action, or for lead flows fields and rates without a meaning (FLOW-12). */
export function flowProblem(
  flow: Pick<Flow, "action_type" | "action_value"> & {
    event?: FlowEvent | undefined;
    conditions?: readonly Condition[] | undefined;
  },
): { path: string; message: string } | null {
  if (flow.event === "lead_created") {
    if (flow.action_type !== "flat") {
      return { path: "action_type", message: "A flow for leads pays a flat amount, because leads have no payment." };
    }
    const wrong = (flow.conditions ?? []).findIndex(({ field }) => !OF_LEADS.includes(field));
    if (wrong >= 0) {
      return {
        path: `conditions.${wrong}.field`,
        message: `Leads do not have this field: use ${OF_LEADS.join(" or ")}.`,
      };
    }
  }
  const message = actionProblem(flow);
  return message === null ? null : { path: "action_value", message };
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
