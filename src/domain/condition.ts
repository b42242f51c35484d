/** The conditions of flows: fields, operators, comparison and validation (FLOW-4, FLOW-5). */
import { isCents, type Cents } from "./money.ts";
import type { ProviderName } from "./provider-name.ts";

export const CONDITION_OPS = ["eq", "neq", "gt", "gte", "lt", "lte", "contains", "in", "not_in"] as const;
export type ConditionOp = (typeof CONDITION_OPS)[number];

/** How a payment was attributed to its partner. */
export const REF_KINDS = ["link", "code", "api", "import", "manual", "remembered"] as const;
export type RefKind = (typeof REF_KINDS)[number];

interface FieldRule {
  value: "amount" | "count" | "text" | "choice" | "flag";
  ops: readonly ConditionOp[];
  /** The smallest and the largest count. */
  range?: readonly [number, number];
  /** The only values, for a choice. */
  choices?: readonly string[];
  /** Whether a lead has it. */
  lead?: true;
  /** A payment has several values: `eq` and `in` need one of them, `neq` and `not_in` exclude all. */
  several?: true;
}

const SET = ["eq", "neq", "in", "not_in"] as const;
const TEXT = [...SET, "contains"] as const;
const ORDER = ["eq", "neq", "gt", "gte", "lt", "lte"] as const;

/** The largest `payment_number` of a condition, so that a settling reads a bounded number of a customer's payments. */
export const MAX_PAYMENT_NUMBER = 1_000;
const MAX_MONTHS = 1_200;

/** The fields that conditions compare, with the type of their value and their operators. */
export const FIELD_RULES = {
  txn_amount_cents: { value: "amount", ops: [...ORDER, "in", "not_in"] },
  customer_email: { value: "text", ops: TEXT, lead: true },
  partner_slug: { value: "text", ops: TEXT, lead: true },
  provider: { value: "text", ops: TEXT },
  partner_group: { value: "text", ops: SET, lead: true },
  currency: { value: "text", ops: SET },
  product_id: { value: "text", ops: SET, several: true },
  payment_number: { value: "count", ops: ORDER, range: [1, MAX_PAYMENT_NUMBER] },
  months_since_first_payment: { value: "count", ops: ORDER, range: [0, MAX_MONTHS] },
  new_customer: { value: "flag", ops: ["eq"] },
  ref_source: { value: "choice", ops: SET, choices: REF_KINDS },
} as const satisfies Record<string, FieldRule>;

export type ConditionField = keyof typeof FIELD_RULES;
export const CONDITION_FIELDS = Object.keys(FIELD_RULES) as ConditionField[];

/** The most characters of joined values in a trace. */
const LONGEST_SAW = 500;

/** The most values of `in` and `not_in`. */
export const MAX_VALUES = 100;

type Single = number | string | boolean;
/** A list is for `in` and `not_in` only. */
export type ConditionValue = Single | readonly Single[];

export interface Condition {
  field: ConditionField;
  op: ConditionOp;
  value: ConditionValue;
}

/** The values of a payment or lead that conditions compare. A value that it lacks is null. */
export interface ConditionSubject {
  txn_amount_cents: Cents;
  customer_email: string | null;
  partner_slug: string;
  /** The slug of the partner's group. */
  partner_group: string | null;
  provider: ProviderName;
  currency: string;
  /** The products and prices of its lines; null while they are unknown. */
  product_id: readonly string[] | null;
  payment_number: number;
  months_since_first_payment: number;
  new_customer: boolean;
  ref_source: RefKind;
}

/** A condition, the value it compared, and whether it held. */
export interface ConditionTrace extends Condition {
  /** Several values are joined. */
  saw: Single | null;
  held: boolean;
}

/** Compares a condition with a payment. */
export function traceCondition(condition: Condition, subject: ConditionSubject): ConditionTrace {
  const saw: Single | readonly string[] | null = subject[condition.field];
  if (saw === null || !isList(saw)) return { ...condition, saw, held: holds(condition, saw) };
  return { ...condition, saw: saw.join(", ").slice(0, LONGEST_SAW), held: holdsAmong(condition, saw) };
}

/** Compares a condition with several values. */
function holdsAmong(condition: Condition, values: readonly Single[]): boolean {
  const isNegative = condition.op === "neq" || condition.op === "not_in";
  const each = values.map((value) => holds(condition, value));
  return isNegative ? each.every(Boolean) : each.some(Boolean);
}

/**
 * Returns a test of the lines that a flow counts: those of the products that its conditions name, or all lines if
 * its conditions only exclude products (LINE-5).
 */
export function isMatching(conditions: readonly Condition[]): (line: { products: readonly string[] }) => boolean {
  const wanted = conditions.filter(({ field, op }) => field === "product_id" && (op === "eq" || op === "in"));
  return ({ products }) => wanted.length === 0 || wanted.some((condition) => holdsAmong(condition, products));
}

/** Strings compare ignoring case; a missing value matches only `neq` and `not_in` (FLOW-5). */
function holds({ op, value }: Condition, saw: Single | null): boolean {
  if (saw === null) return op === "neq" || op === "not_in";
  const left = normal(saw);
  const right = listed(value);
  const [first] = right;
  switch (op) {
    case "eq":
    case "in":
      return right.includes(left);
    case "neq":
    case "not_in":
      return !right.includes(left);
    case "gt":
      return first !== undefined && left > first;
    case "gte":
      return first !== undefined && left >= first;
    case "lt":
      return first !== undefined && left < first;
    case "lte":
      return first !== undefined && left <= first;
    case "contains":
      return typeof left === "string" && typeof first === "string" && left.includes(first);
  }
}

function normal(value: Single): Single {
  return typeof value === "string" ? value.toLowerCase() : value;
}

/** The values that a condition compares, in the form in which they are equal. */
function listed(value: ConditionValue): Single[] {
  return (isList(value) ? value : [value]).map(normal);
}

/** Whether the condition has several values, as `in` and `not_in` have. */
export function isList(value: ConditionValue): value is readonly Single[] {
  return Array.isArray(value);
}

export interface ConditionProblem {
  path: "op" | "value";
  message: string;
}

/** Why a condition is invalid, or null: operator, field and type of the value must fit each other (FLOW-4). */
export function conditionProblem({ field, op, value }: Condition): ConditionProblem | null {
  const rule: FieldRule = FIELD_RULES[field];
  if (!rule.ops.includes(op)) return { path: "op", message: `${field} is compared with ${rule.ops.join(", ")}.` };
  const needsList = op === "in" || op === "not_in";
  if (needsList !== isList(value)) {
    return { path: "value", message: needsList ? `${op} needs a list of values.` : `${op} needs one value.` };
  }
  const values = isList(value) ? value : [value];
  if (values.length === 0 || values.length > MAX_VALUES) {
    return { path: "value", message: `Give 1 to ${MAX_VALUES} values.` };
  }
  const message = values.map((one) => valueProblem(field, rule, one)).find((one) => one !== null);
  return message === undefined ? null : { path: "value", message };
}

function valueProblem(field: ConditionField, { value: type, range, choices }: FieldRule, value: Single): string | null {
  switch (type) {
    case "amount":
      return typeof value === "number" && isCents(value) ? null : `${field} is compared with a whole number of cents.`;
    case "count": {
      const [least, most] = range ?? [0, Number.MAX_SAFE_INTEGER];
      const fits = typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
      return fits ? null : `${field} is compared with a whole number, ${least} to ${most}.`;
    }
    case "flag":
      return typeof value === "boolean" ? null : `${field} is compared with true or false.`;
    case "choice":
      return choices?.some((one) => one === value) ? null : `${field} is one of ${choices?.join(", ")}.`;
    case "text":
      return typeof value === "string" ? null : `${field} is compared with a text.`;
  }
}

/** Whether a lead has the value that a field compares (FLOW-12). */
export function isFieldOfLeads(field: ConditionField): boolean {
  const rule: FieldRule = FIELD_RULES[field];
  return rule.lead === true;
}

/** The fields that a lead has. */
export const LEAD_FIELDS = CONDITION_FIELDS.filter(isFieldOfLeads);

/**
 * The index of the first condition that can never hold together with those before it (FLOW-13), or null. Each must be
 * valid by `conditionProblem`.
 */
export function contradictionIn(conditions: readonly Condition[]): number | null {
  if ([...Map.groupBy(conditions, ({ field }) => field)].every(([field, own]) => canHold(field, own))) return null;
  return conditions.findIndex(({ field }, i) => {
    const own = conditions.slice(0, i + 1).filter((one) => one.field === field);
    return !canHold(field, own);
  });
}

/** Whether some value of the field satisfies all of these conditions on it. */
function canHold(field: ConditionField, conditions: readonly Condition[]): boolean {
  const { several }: FieldRule = FIELD_RULES[field];
  if (several) {
    // Each positive condition may be met by another value, which all negative ones must accept.
    const [positive, negative] = [
      ["eq", "in"],
      ["neq", "not_in"],
    ].map((ops) => conditions.filter(({ op }) => ops.includes(op)));
    return positive!.every(({ value }) => listed(value).some((one) => negative!.every((other) => holds(other, one))));
  }
  return candidatesOf(field, conditions).some((value) => conditions.every((one) => holds(one, value)));
}

/** Values among which one satisfies the conditions if any value does. */
function candidatesOf(field: ConditionField, conditions: readonly Condition[]): readonly Single[] {
  const { value: type, range = [0, Number.MAX_SAFE_INTEGER], choices = [] }: FieldRule = FIELD_RULES[field];
  const positive = conditions.find(({ op }) => op === "eq" || op === "in");
  if (positive) return listed(positive.value);
  if (type === "flag") return [true, false];
  if (type === "choice") return choices;
  // Each value that is left out may exclude one candidate, and one more remains.
  const spare = Array.from({ length: conditions.flatMap(({ value }) => listed(value)).length + 1 }, (_, i) => i);
  const valuesOf = (...ops: ConditionOp[]) =>
    conditions.filter(({ op }) => ops.includes(op)).flatMap(({ value }) => listed(value));
  if (type === "text") return spare.map((i) => `${valuesOf("contains").join("")} ${i}`);
  const least = Math.max(range[0], ...valuesOf("gte").map(Number), ...valuesOf("gt").map((value) => Number(value) + 1));
  return spare.map((i) => least + i).filter((value) => value <= range[1]);
}

/**
 * The number of a customer's first payments that these conditions compare (`customer.ts`): 0 if they compare this
 * payment alone.
 */
export function paymentsCompared(conditions: readonly Condition[]): number {
  return Math.max(
    0,
    ...conditions.map(({ field, value }) => {
      if (field === "payment_number") return Math.max(...listed(value).map(Number));
      return field === "months_since_first_payment" || field === "new_customer" ? 1 : 0;
    }),
  );
}
