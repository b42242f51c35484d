import type { FlowInput } from "../../../../core/programs/flows.ts";
import type { Flow, Product, Program } from "../../../../core/kernel/rows.ts";
import {
  CONDITION_FIELDS,
  CONDITION_OPS,
  FIELD_RULES,
  isList,
  type Condition,
  type ConditionField,
  type ConditionValue,
} from "../../../../domain/condition.ts";
import {
  FLOW_ACTION_TYPES,
  FLOW_BASES,
  FLOW_EVENTS,
  givenConditions,
  MAX_CONDITIONS,
  type FlowBase,
} from "../../../../domain/flow.ts";
import { dayIn, isDate, laterDate, startOfDateIn, startOfDayIn } from "../../../../domain/time-zone.ts";
import { iso } from "../../../../lib/time.ts";
import type { EditForm } from "../../edits.ts";
import { FormFields, moneyValue, parseMoney } from "../../forms.ts";
import { Checkbox, Field, SelectField } from "../../parts/form.tsx";
import { providerText } from "../../parts/figures.tsx";
import { EVENT_TEXTS, FIELD_TEXTS, OP_TEXTS } from "../../parts/words.ts";
import { ApplyFromField, applyFromInput } from "../rules/apply-from.tsx";

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
  conditions: { field: string; op: string; value: string }[];
  apply_from: string;
}

const SPARE_ROWS = 2;
const EMPTY_ROW = { field: "", op: "eq", value: "" };

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
  apply_from: "",
};

type Setting = Pick<Program, "currency" | "time_zone">;

export function flowValues(flow: Flow, program: Setting): FlowValues {
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
      value: conditionText(field, value, currency),
    })),
    apply_from: "",
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

/** A value of a condition as a person types it; a list is separated by commas. */
function conditionText(field: ConditionField, value: ConditionValue, currency: string): string {
  if (isList(value)) return value.map((one) => conditionText(field, one, currency)).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  return FIELD_RULES[field].value === "amount" ? moneyValue(Number(value), currency) : String(value);
}

/** The value of a condition for the API's schemas; a text that does not fit the field is refused there. */
function typedValue({ field, op, value }: FlowValues["conditions"][number], currency: string): unknown {
  const type = CONDITION_FIELDS.some((one) => one === field) ? FIELD_RULES[field as ConditionField].value : "text";
  const single = (text: string) => {
    if (type === "amount") return parseMoney(text, currency);
    if (type === "count") return /^\d{1,15}$/.test(text.trim()) ? Number(text) : text;
    return type === "flag" ? (FLAGS.get(text.trim().toLowerCase()) ?? text) : text;
  };
  if (op !== "in" && op !== "not_in") return single(value);
  return value
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean)
    .map(single);
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
    apply_from: fields.text("apply_from"),
  };
}

/** The fields that the form of these values sends. */
export function formOf({ active, conditions, ...texts }: FlowValues): FormFields {
  const data = new FormData();
  for (const [name, value] of Object.entries(texts)) data.set(name, value);
  data.set("active", active ? "on" : "");
  const rows = conditions.length === 0 ? [EMPTY_ROW] : conditions;
  for (const [i, row] of rows.entries())
    for (const [name, value] of Object.entries(row)) data.set(`conditions.${i}.${name}`, value);
  return new FormFields(data);
}

function typedConditions(fields: FormFields): FlowValues["conditions"] | undefined {
  if (!fields.has("conditions.0.field")) return undefined;
  const rows = Array.from({ length: MAX_CONDITIONS }, (_, i) => ({
    field: fields.text(`conditions.${i}.field`),
    op: fields.text(`conditions.${i}.op`),
    value: fields.text(`conditions.${i}.value`),
  }));
  return rows.filter(({ field }) => field !== "");
}

/** The input for the API's schemas. */
export function flowInput(
  fields: FormFields,
  program: Setting,
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
    conditions: typedConditions(fields)?.map((row) => ({ ...row, value: typedValue(row, currency) })),
    ...applyFromInput(fields, program),
  };
}

interface FlowFieldsProps {
  values: FlowValues;
  /** The program's. */
  currency: string;
  /** Those seen in payments. */
  products: readonly Product[];
}

export function FlowFields({ values: { conditions, starts_at, ends_at }, currency, products }: FlowFieldsProps) {
  const typeOf = (limit: string) => (limit === "" || isDate(limit) ? "date" : "text");
  return (
    <>
      <Field name="name" label="Name" required={true} maxlength={200} />
      <SelectField
        name="event"
        label="Applies to"
        options={FLOW_EVENTS.map((value) => ({ value, label: EVENT_TEXTS[value].of }))}
        hint="Flows for leads pay a flat amount, and can only check the customer's e-mail or the partner's slug."
      />
      <div class="fields two">
        <SelectField
          name="action_type"
          label="The partner gets"
          options={FLOW_ACTION_TYPES.map((value) => ({
            value,
            label: value === "percentage" ? "a percentage of the payment" : "a flat amount",
          }))}
        />
        <Field
          name="action_value"
          label="Amount"
          required={true}
          inputmode="decimal"
          hint="Percent, or an amount such as 5.00."
        />
      </div>
      <ConditionFields {...{ conditions, products }} />
      <SelectField
        name="base"
        label="What counts"
        options={FLOW_BASES.map((value) => ({ value, label: BASE_TEXTS[value] }))}
      />
      <Field
        name="currency"
        label="Currency"
        maxlength={3}
        placeholder="any"
        hint={`A flow with an amount, flat or in a condition, applies to payments in one currency: ${currency} unless you name another. Payments in other currencies go on to the next flow.`}
      />
      <div class="fields two">
        <Field name="starts_at" label="First day" type={typeOf(starts_at)} hint="Empty: from any time." />
        <Field name="ends_at" label="Last day" type={typeOf(ends_at)} hint="Empty: without end." />
      </div>
      <Field
        name="priority"
        label="Priority"
        inputmode="decimal"
        hint="Highest first. The first flow whose conditions all match applies."
      />
      <Field
        name="hold_days"
        label="Days on hold"
        inputmode="numeric"
        hint="How long its commissions wait before time approves them. Empty: the days of the partner's group, or of the program."
      />
      <Checkbox name="active" label="Active" hint="Only active flows apply." />
      <ApplyFromField />
    </>
  );
}

function ConditionFields({ conditions, products }: Pick<FlowFieldsProps, "products"> & Pick<FlowValues, "conditions">) {
  const rows = [...conditions, ...Array.from({ length: SPARE_ROWS }, () => EMPTY_ROW)].slice(0, MAX_CONDITIONS);
  return (
    <fieldset>
      <legend>Conditions (all must match)</legend>
      <div class="rows">
        {rows.map((row, i) => (
          <ConditionRow row={row} index={i} />
        ))}
      </div>
      <p class="hint">
        Choose “no condition” to remove a row. A flow without conditions applies to every payment or lead. Separate
        several values by commas. Saving adds {SPARE_ROWS} more rows; {MAX_CONDITIONS} are possible.
      </p>
      <Products products={products} />
    </fieldset>
  );
}

/** Suggestions for the values of conditions. */
function Products({ products }: Pick<FlowFieldsProps, "products">) {
  return (
    <>
      {products.length > 0 ? (
        <p class="hint">A product or price is its provider's id. Type a name to choose among those in past payments.</p>
      ) : null}
      <datalist id="products">
        {products.map(({ id, name, provider }) => (
          <option value={id}>{[name, providerText(provider)].filter(Boolean).join(", ")}</option>
        ))}
      </datalist>
    </>
  );
}

const FIELD_OPTIONS = [
  { value: "", label: "no condition" },
  ...CONDITION_FIELDS.map((value) => ({ value, label: FIELD_TEXTS[value] })),
];
const BASE_TEXTS: Record<FlowBase, string> = {
  payment: "the whole payment",
  matching_items: "the products that the conditions name",
};
const OP_OPTIONS = CONDITION_OPS.map((value) => ({ value, label: OP_TEXTS[value] }));

function ConditionRow({ row, index }: { row: typeof EMPTY_ROW; index: number }) {
  const name = (part: keyof Condition) => `conditions.${index}.${part}`;
  const label = (text: string) => <span class="visually-hidden">{`Condition ${index + 1}: ${text}`}</span>;
  return (
    <div class="row">
      <SelectField name={name("field")} label={label("field")} options={FIELD_OPTIONS} value={row.field} />
      <SelectField name={name("op")} label={label("comparison")} options={OP_OPTIONS} value={row.op} />
      <Field name={name("value")} label={label("value")} value={row.value} required={true} list="products" />
    </div>
  );
}
