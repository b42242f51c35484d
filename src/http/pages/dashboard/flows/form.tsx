import type { FlowInput } from "../../../../core/programs/flows.ts";
import type { Flow, Program } from "../../../../core/kernel/rows.ts";
import {
  CONDITION_OPS,
  FLOW_ACTION_TYPES,
  FLOW_EVENTS,
  givenConditions,
  MAX_CONDITIONS,
  type Condition,
  CONDITION_FIELDS,
} from "../../../../domain/flow.ts";
import type { EditForm } from "../../edits.ts";
import { FormFields, moneyValue, parseMoney } from "../../forms.ts";
import { Checkbox, Field, SelectField } from "../../parts/form.tsx";
import { EVENT_TEXTS, FIELD_TEXTS, OP_TEXTS } from "../../parts/words.ts";
import { ApplyFromField, applyFromInput } from "../rules/apply-from.tsx";

/** A flow as its form shows it: amounts with the decimals of the program's currency. */
export interface FlowValues {
  name: string;
  event: string;
  action_type: string;
  action_value: string;
  priority: string;
  hold_days: string;
  active: boolean;
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
  conditions: [],
  apply_from: "",
};

export function flowValues(flow: Flow, currency: string): FlowValues {
  const isFlat = flow.action_type === "flat";
  return {
    name: flow.name,
    event: flow.event,
    action_type: flow.action_type,
    action_value: isFlat ? moneyValue(flow.action_value, currency) : String(flow.action_value),
    priority: String(flow.priority),
    hold_days: String(flow.hold_days ?? ""),
    active: flow.active,
    conditions: givenConditions(flow).map(({ field, op, value }) => ({
      field,
      op,
      value: typeof value === "number" ? moneyValue(value, currency) : value,
    })),
    apply_from: "",
  };
}

export function flowForm(currency: string): EditForm<Flow> {
  return {
    columns: (flow) => {
      const { name, event, action_type, action_value, priority, hold_days, active } = flow;
      return { name, event, action_type, action_value, priority, hold_days, active, conditions: givenConditions(flow) };
    },
    texts: (flow) => {
      const values = flowValues(flow, currency);
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
  program: Pick<Program, "currency" | "time_zone">,
): Record<keyof FlowInput, unknown> & { apply_from?: string } {
  const { currency } = program;
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
    conditions: typedConditions(fields)?.map(({ field, op, value }) => ({
      field,
      op,
      value: field === "txn_amount_cents" ? parseMoney(value, currency) : value,
    })),
    ...applyFromInput(fields, program),
  };
}

interface FlowFieldsProps {
  conditions: FlowValues["conditions"];
  currency: string;
}

export function FlowFields({ conditions, currency }: FlowFieldsProps) {
  const rows = [...conditions, ...Array.from({ length: SPARE_ROWS }, () => EMPTY_ROW)].slice(0, MAX_CONDITIONS);
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
          hint={`Percent, or an amount such as 5.00. Amounts are read as ${currency} and paid in the payment's currency.`}
        />
      </div>
      <fieldset>
        <legend>Conditions (all must match)</legend>
        <div class="rows">
          {rows.map((row, i) => (
            <ConditionRow row={row} index={i} />
          ))}
        </div>
        <p class="hint">
          Choose “no condition” to remove a row. A flow without conditions applies to every payment or lead. Saving adds{" "}
          {SPARE_ROWS} more rows; {MAX_CONDITIONS} are possible.
        </p>
      </fieldset>
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

const FIELD_OPTIONS = [
  { value: "", label: "no condition" },
  ...CONDITION_FIELDS.map((value) => ({ value, label: FIELD_TEXTS[value] })),
];
const OP_OPTIONS = CONDITION_OPS.map((value) => ({ value, label: OP_TEXTS[value] }));

function ConditionRow({ row, index }: { row: typeof EMPTY_ROW; index: number }) {
  const name = (part: keyof Condition) => `conditions.${index}.${part}`;
  const label = (text: string) => <span class="visually-hidden">{`Condition ${index + 1}: ${text}`}</span>;
  return (
    <div class="row">
      <SelectField name={name("field")} label={label("field")} options={FIELD_OPTIONS} value={row.field} />
      <SelectField name={name("op")} label={label("comparison")} options={OP_OPTIONS} value={row.op} />
      <Field name={name("value")} label={label("value")} value={row.value} required={true} />
    </div>
  );
}
