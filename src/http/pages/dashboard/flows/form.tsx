/** A flow as a form: its values as texts, and back. The fields are in `fields.tsx`. */
import type { FlowInput } from "../../../../core/programs/flows.ts";
import type { Flow, Group, Product, Program } from "../../../../core/kernel/rows.ts";
import {
  CONDITION_FIELDS,
  CONDITION_OPS,
  conditionProblem,
  FIELD_RULES,
  isList,
  MAX_VALUES,
  type Condition,
  type ConditionField,
  type ConditionOp,
  type ConditionValue,
} from "../../../../domain/condition.ts";
import {
  actionProblem,
  currencyOfFlow,
  FLOW_ACTION_TYPES,
  FLOW_BASES,
  FLOW_EVENTS,
  givenConditions,
  MAX_CONDITIONS,
} from "../../../../domain/flow.ts";
import { MAX_HOLD_DAYS } from "../../../../domain/group.ts";
import { dayIn, isDate, laterDate, startOfDateIn, startOfDayIn } from "../../../../domain/time-zone.ts";
import { iso } from "../../../../lib/time.ts";
import type { EditForm } from "../../edits.ts";
import { FormFields, moneyValue, parseMoney } from "../../forms.ts";
import type { Ruled } from "../../parts/flow-sentence.tsx";
import { applyFromInput } from "../rules/apply-from.tsx";

/** A condition as its row shows it: one text a value. */
export interface ConditionRow {
  field: string;
  op: string;
  values: string[];
}

/** The values that the form offers by name. */
export interface Choices {
  products: readonly Product[];
  groups: readonly Group[];
  /** The labels of the products by id. */
  labels: Labels;
}

type Labels = ReadonlyMap<string, string>;

/** A flow as its form shows it: amounts with the decimals of its currency, else the program's. */
export interface FlowValues {
  name: string;
  event: string;
  action_type: string;
  action_value: string;
  priority: string;
  hold_days: string;
  active: boolean;
  starts_at: string;
  ends_at: string;
  currency: string;
  base: string;
  conditions: ConditionRow[];
  /** The rate of a second flow for later payments; of a new flow only. */
  then_value: string;
  /** Whether a last flow of 0 % is added for all other payments. */
  only: boolean;
  apply_from: string;
}

export const NEW_FLOW: FlowValues = {
  name: "",
  event: "transaction_completed",
  action_type: "percentage",
  action_value: "",
  priority: "0",
  hold_days: "",
  active: true,
  starts_at: "",
  ends_at: "",
  currency: "",
  base: "payment",
  conditions: [],
  then_value: "",
  only: false,
  apply_from: "",
};

type Setting = Pick<Program, "currency" | "time_zone">;

export function flowValues(flow: Flow, program: Setting, labels: Labels = new Map()): FlowValues {
  const currency = flow.currency ?? program.currency;
  const isFlat = flow.action_type === "flat";
  return {
    name: flow.name,
    event: flow.event,
    action_type: flow.action_type,
    action_value: isFlat ? moneyValue(flow.action_value, currency) : String(flow.action_value),
    priority: String(flow.priority),
    hold_days: String(flow.hold_days ?? ""),
    active: flow.active,
    starts_at: limitText("starts_at", flow.starts_at, program),
    ends_at: limitText("ends_at", flow.ends_at, program),
    currency: flow.currency ?? "",
    base: flow.base,
    conditions: givenConditions(flow).map(({ field, op, value }) => ({
      field,
      op,
      values: (isList(value) ? value : [value]).map((one) => valueText(field, one, currency, labels)),
    })),
    ...{ then_value: "", only: false, apply_from: "" },
  };
}

/**
 * A limit of a flow as a day of the program's zone, the first or the last one that counts; as a time if it is within a
 * day.
 */
function limitText(limit: Limit, at: string | null, { time_zone }: Setting): string {
  if (at === null) return "";
  const ms = Date.parse(at);
  if (startOfDayIn(time_zone, ms) !== ms) return at;
  return dayIn(time_zone, limit === "starts_at" ? ms : ms - 1);
}

type Limit = "starts_at" | "ends_at";

/** The time for the API's schemas: null if the field is empty, undefined if it was not sent. */
function typedLimit(fields: FormFields, limit: Limit, { time_zone }: Setting): string | null | undefined {
  if (!fields.has(limit)) return undefined;
  const text = fields.text(limit);
  if (text === "") return null;
  if (!isDate(text)) return text;
  const start = startOfDateIn(time_zone, limit === "starts_at" ? text : laterDate(text, 1));
  return iso(start);
}

type Single = Exclude<ConditionValue, readonly unknown[]>;

/** A value of a condition as the form shows it: a product by its label. */
function valueText(field: ConditionField, value: Single, currency: string, labels: Labels): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (FIELD_RULES[field].value === "amount") return moneyValue(Number(value), currency);
  return (field === "product_id" ? labels.get(String(value)) : undefined) ?? String(value);
}

/** The labels of products by id: the name, with the id if the name alone is ambiguous. */
export function productLabels(products: readonly Product[]): Labels {
  const names = new Map(products.map(({ id, name }) => [id, name ?? id]));
  const uses = Map.groupBy(
    [...names].flatMap(([id, name]) => (id === name ? [id] : [id, name])),
    (text) => text.toLowerCase(),
  );
  return new Map(
    [...names].map(([id, name]) => [id, uses.get(name.toLowerCase())?.length === 1 ? name : `${name} (${id})`]),
  );
}

/** The value of a condition for the API's schemas; a text that does not fit the field is refused there. */
function typedValue(
  { field, op, values }: ConditionRow,
  currency: string,
  labels: Labels,
): { op: string; value: unknown } {
  const type = isField(field) ? FIELD_RULES[field].value : "text";
  const single = (text: string) => {
    if (type === "amount") return parseMoney(text, currency);
    if (type === "count") return /^\d{1,15}$/.test(text.trim()) ? Number(text) : text;
    if (type === "flag") return FLAGS.get(text.trim().toLowerCase()) ?? text;
    if (field !== "product_id") return text;
    return [...labels].find(([, label]) => label.toLowerCase() === text.toLowerCase())?.[0] ?? text;
  };
  const given = values.filter((value) => value !== "");
  // Several values need the operator of a list.
  const several = given.length > 1 ? LIST_OPS[op] : undefined;
  if (several !== undefined || op === "in" || op === "not_in") return { op: several ?? op, value: given.map(single) };
  return { op, value: single(given[0] ?? "") };
}

/** The operators of a list for those of one value. */
export const LIST_OPS: Partial<Record<string, ConditionOp>> = { eq: "in", neq: "not_in" };

export function isField(field: string): field is ConditionField {
  return CONDITION_FIELDS.some((one) => one === field);
}

const FLAGS = new Map([
  ["yes", true],
  ["true", true],
  ["no", false],
  ["false", false],
]);

/** The form that edits a flow (PAGE-30). */
export function flowForm(program: Setting): EditForm<Flow> {
  return {
    columns: (flow) => {
      const { name, event, action_type, action_value, priority, active } = flow;
      const { starts_at, ends_at, currency, hold_days, base } = flow;
      return {
        ...{ name, event, action_type, action_value, priority, active, conditions: givenConditions(flow) },
        ...{ starts_at, ends_at, currency, hold_days, base },
      };
    },
    texts: (flow) => {
      const values = flowValues(flow, program);
      return { ...values, conditions: values.conditions.length === 0 ? "none" : values.conditions };
    },
    changes: ({ id }) => ({ type: "flow.updated", about: ["flow_id", id] }),
  };
}

/** The input, or the stored value of fields that were not sent. */
export function typedFlow(fields: FormFields, stored: FlowValues): FlowValues {
  return {
    name: fields.given("name") ?? stored.name,
    event: fields.given("event") ?? stored.event,
    action_type: fields.given("action_type") ?? stored.action_type,
    action_value: fields.given("action_value") ?? stored.action_value,
    priority: fields.given("priority") ?? stored.priority,
    hold_days: fields.given("hold_days") ?? stored.hold_days,
    active: fields.isTicked("active") ?? stored.active,
    starts_at: fields.given("starts_at") ?? stored.starts_at,
    ends_at: fields.given("ends_at") ?? stored.ends_at,
    currency: fields.given("currency") ?? stored.currency,
    base: fields.given("base") ?? stored.base,
    conditions: typedConditions(fields) ?? stored.conditions,
    then_value: fields.text("then_value"),
    only: fields.isTicked("only") ?? false,
    apply_from: fields.text("apply_from"),
  };
}

/** The fields that the form of these values sends. */
export function formOf({ active, only, conditions, ...texts }: FlowValues): FormFields {
  const data = new FormData();
  for (const [name, value] of Object.entries(texts)) data.set(name, value);
  data.set("active", active ? "on" : "");
  data.set("only", only ? "on" : "");
  data.set("conditions", "");
  for (const [i, { field, op, values }] of conditions.entries()) {
    data.set(`conditions.${i}.field`, field);
    data.set(`conditions.${i}.op`, op);
    for (const value of values) data.append(`conditions.${i}.value`, value);
  }
  return new FormFields(data);
}

/** The conditions of a form, undefined if it has no place for them. Each line of a value is a value. */
function typedConditions(fields: FormFields): ConditionRow[] | undefined {
  if (!fields.has("conditions") && !fields.has("conditions.0.field")) return undefined;
  const rows = Array.from({ length: MAX_CONDITIONS }, (_, i) => ({
    field: fields.text(`conditions.${i}.field`),
    op: fields.text(`conditions.${i}.op`),
    values: fields
      .all(`conditions.${i}.value`)
      .flatMap((value) => value.split("\n"))
      .map((value) => value.trim())
      .slice(0, MAX_VALUES + 1),
  }));
  return rows.filter(({ field }) => field !== "");
}

/** The input for the API's schemas. */
export function flowInput(
  fields: FormFields,
  program: Setting,
  labels: Labels,
): Record<keyof FlowInput, unknown> & { apply_from?: string } {
  const currency = fields.text("currency").toUpperCase() || program.currency;
  const isFlat = fields.text("action_type") === "flat";
  const priority = fields.numberOrNull("priority");
  return {
    name: fields.given("name"),
    event: fields.given("event"),
    action_type: fields.given("action_type"),
    action_value: isFlat ? fields.money("action_value", currency) : fields.number("action_value"),
    priority: priority === null ? 0 : priority,
    active: fields.isTicked("active"),
    hold_days: fields.numberOrNull("hold_days"),
    starts_at: typedLimit(fields, "starts_at", program),
    ends_at: typedLimit(fields, "ends_at", program),
    currency: fields.has("currency") ? fields.text("currency").toUpperCase() || null : undefined,
    base: fields.given("base"),
    conditions: typedConditions(fields)?.map((row) => ({ field: row.field, ...typedValue(row, currency, labels) })),
    ...applyFromInput(fields, program),
  };
}

/** The rule of a form for its sentence. Missing and invalid parts are left out. */
export function ruledOf(values: FlowValues, program: Setting, labels: Labels): Ruled {
  const fields = formOf(values);
  const input = flowInput(fields, program, labels);
  const conditions = (input.conditions as Condition[]).filter(isCondition);
  const [action_type, base, event] = [
    FLOW_ACTION_TYPES.find((one) => one === values.action_type) ?? "percentage",
    FLOW_BASES.find((one) => one === values.base) ?? "payment",
    FLOW_EVENTS.find((one) => one === values.event) ?? "transaction_completed",
  ];
  const action_value = Number(values.action_value === "" ? Number.NaN : input.action_value);
  const currency = /^[A-Z]{3}$/.test(String(input.currency)) ? String(input.currency) : null;
  const days = Number(values.hold_days === "" ? Number.NaN : values.hold_days);
  const time = (at: unknown) => (typeof at === "string" && Number.isFinite(Date.parse(at)) ? at : null);
  return {
    ...{ action_type, base, event, conditions },
    action_value: actionProblem({ action_type, action_value }) === null ? action_value : null,
    currency: currencyOfFlow({ action_type, currency, conditions }, program.currency),
    hold_days: Number.isInteger(days) && days >= 0 && days <= MAX_HOLD_DAYS ? days : null,
    ...{ starts_at: time(input.starts_at), ends_at: time(input.ends_at) },
  };
}

function isCondition({ field, op, value }: Condition): boolean {
  const isEmpty = isList(value) ? value.length === 0 : value === "";
  return isField(field) && CONDITION_OPS.includes(op) && !isEmpty && conditionProblem({ field, op, value }) === null;
}
