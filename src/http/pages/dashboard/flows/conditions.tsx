/** The conditions in the form of a flow, which are added and removed without saving (PAGE-33). */
import {
  CONDITION_FIELDS,
  FIELD_RULES,
  LEAD_FIELDS,
  REF_KINDS,
  type Condition,
  type ConditionField,
} from "../../../../domain/condition.ts";
import { MAX_CONDITIONS } from "../../../../domain/flow.ts";
import { PROVIDER_NAMES } from "../../../../providers/registry.ts";
import { providerText } from "../../parts/figures.tsx";
import { Datalist, Field, SelectField, TextArea, useProblems, type Option } from "../../parts/form.tsx";
import { IfMay } from "../../rights.tsx";
import { FIELD_TEXTS, OP_TEXTS, REF_KIND_TEXTS } from "../../parts/words.ts";
import { isField, LIST_OPS, type Choices, type ConditionRow, type FlowValues } from "./form.tsx";

/** The name of the buttons that change the form without saving it. */
export const CHANGE = "action";

/** The control that has the focus: a row's last value, or the buttons that add a condition. */
export type Focus = number | "add" | undefined;

/** More values than these are lines of one field. */
const MOST_FIELDS = 12;

/**
 * The form's values after a button that changes the form: `add:<field>`, `remove:<index>`, `or:<index>` for one more
 * value; any other leaves them.
 */
export function changeForm(values: FlowValues, change: string): { values: FlowValues; focus: Focus } {
  const [verb, of = ""] = change.split(":");
  const conditions = [...values.conditions];
  const index = Number(of);
  const row = conditions[index];
  let focus: Focus = undefined;
  if (verb === "add" && isField(of) && conditions.length < MAX_CONDITIONS) {
    conditions.push({ field: of, op: firstOp(of), values: [""] });
    focus = conditions.length - 1;
  } else if (verb === "remove" && row) {
    conditions.splice(index, 1);
    focus = "add";
  } else if (verb === "or" && row) {
    conditions[index] = { ...row, op: LIST_OPS[row.op] ?? row.op, values: [...row.values, ""] };
    focus = index;
  }
  // A form with its first product counts that product; without products, a flow counts the payment.
  const [had, has] = [hasProduct(values.conditions), hasProduct(conditions)];
  const base = had === has ? values.base : has ? "matching_items" : "payment";
  return { values: { ...values, conditions, base }, focus };
}

export function hasProduct(conditions: readonly ConditionRow[]): boolean {
  return conditions.some(({ field }) => field === "product_id");
}

function firstOp(field: ConditionField): string {
  return FIRST_OPS[field] ?? "eq";
}

const FIRST_OPS: Partial<Record<ConditionField, string>> = {
  txn_amount_cents: "gte",
  payment_number: "lte",
  months_since_first_payment: "lt",
};

interface FieldsProps {
  values: FlowValues;
  choices: Choices;
  /** The program's, or the flow's own. */
  currency: string;
  focus: Focus;
}

export function ConditionFields({ values: { conditions, event }, focus, ...rest }: FieldsProps) {
  const fields = event === "lead_created" ? LEAD_FIELDS : CONDITION_FIELDS;
  return (
    <fieldset class="conditions">
      <legend>Conditions (all must match)</legend>
      <input type="hidden" name="conditions" value="" />
      {conditions.length === 0 ? (
        <p class="hint">None: it applies to every {event === "lead_created" ? "lead" : "payment"}.</p>
      ) : null}
      {conditions.map((row, i) => (
        <Row row={row} index={i} isFocused={focus === i} {...rest} />
      ))}
      {conditions.length >= MAX_CONDITIONS ? (
        <p class="hint">{MAX_CONDITIONS} conditions are the most.</p>
      ) : (
        <IfMay right="manage">
          <div class="chips" role="group" aria-label="Add a condition">
            <span class="muted">Add</span>
            {fields.map((field, i) => (
              <button
                type="submit"
                name={CHANGE}
                value={`add:${field}`}
                class="chip"
                autofocus={focus === "add" && i === 0 ? true : undefined}
              >
                <span aria-hidden="true">+ </span>
                {FIELD_TEXTS[field]}
              </button>
            ))}
          </div>
        </IfMay>
      )}
      <Lists choices={rest.choices} currency={rest.currency} />
    </fieldset>
  );
}

/** Suggestions for values. */
function Lists({ choices: { products, labels }, currency }: Pick<FieldsProps, "choices" | "currency">) {
  return (
    <>
      <Datalist
        id="products"
        options={products.map(({ id, provider }) => {
          const label = labels.get(id) ?? id;
          return { value: label, label: [...(label === id ? [] : [id]), providerText(provider)].join(", ") };
        })}
      />
      <Datalist
        id="currencies"
        options={[...new Set([currency, ...CURRENCIES])].map((code) => ({ value: code, label: code }))}
      />
    </>
  );
}

const CURRENCIES = ["EUR", "USD", "GBP", "JPY", "CHF", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "BRL", "INR"];

interface RowProps extends Pick<FieldsProps, "choices" | "currency"> {
  row: ConditionRow;
  index: number;
  isFocused: boolean;
}

function Row({ row, index, isFocused, ...rest }: RowProps) {
  const { field, op, values } = row;
  const name = (part: keyof Condition) => `conditions.${index}.${part}`;
  const problem = useProblems()?.fields[`conditions.${index}`];
  const title = isField(field) ? FIELD_TEXTS[field] : field;
  const ops = isField(field) ? FIELD_RULES[field].ops.map((one) => ({ value: one, label: OP_TEXTS[one] })) : [];
  const canBeMore = ops.some(({ value }) => value === "in") && values.length < MOST_FIELDS;
  const of = `condition ${index + 1}, ${title}`;
  return (
    <div class="condition" role="group" aria-label={`Condition ${index + 1}`}>
      <input type="hidden" name={name("field")} value={field} />
      <span class="condition-name">{title}</span>
      {ops.length === 1 ? (
        <>
          <input type="hidden" name={name("op")} value={op} />
          <span class="condition-op">is</span>
        </>
      ) : (
        <SelectField name={name("op")} label={hidden(`Comparison of ${of}`)} options={ops} value={op} />
      )}
      <div class="condition-values">
        <Values {...{ row, index, isFocused }} {...rest} />
      </div>
      <IfMay right="manage">
        <div class="condition-buttons">
          {canBeMore ? (
            <button type="submit" name={CHANGE} value={`or:${index}`} class="quiet">
              Or…{hidden(` another value of ${of}`)}
            </button>
          ) : null}
          <button type="submit" name={CHANGE} value={`remove:${index}`} class="quiet">
            Remove{hidden(` ${of}`)}
          </button>
        </div>
      </IfMay>
      {problem === undefined ? null : (
        <p class="problem" id={`f-conditions-${index}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

function hidden(text: string) {
  return <span class="visually-hidden">{text}</span>;
}

function Values({ row: { field, op, values }, index, isFocused, choices, currency }: RowProps) {
  const name = `conditions.${index}.value`;
  const shown = values.length === 0 ? [""] : values;
  const title = isField(field) ? FIELD_TEXTS[field] : field;
  const labelOf = (i: number) => hidden(`${title}${shown.length > 1 ? `, value ${i + 1}` : ""}`);
  if (shown.length > MOST_FIELDS) {
    return (
      <TextArea
        name={name}
        label={hidden(`${title}, one value a line`)}
        value={shown.join("\n")}
        rows={8}
        required={true}
      />
    );
  }
  const options = isField(field) && op !== "contains" ? optionsOf(field, choices) : null;
  return (
    <>
      {shown.map((value, i) => {
        const id = i === 0 ? name : `${name}.${i}`;
        const autofocus = isFocused && i === shown.length - 1 ? true : undefined;
        const label = labelOf(i);
        if (options === null)
          return <Field {...{ name, id, label, value, autofocus }} required={true} {...inputOf(field, currency)} />;
        const isKnown = value === "" || options.some((one) => one.value === value);
        const all = isKnown ? options : [...options, { value, label: `${value} (unknown)` }];
        return <SelectField {...{ name, id, label, value, autofocus }} options={all} />;
      })}
    </>
  );
}

/** The values of a field, if it has a short list of them. */
function optionsOf(field: ConditionField, { groups }: Choices): readonly Option[] | null {
  if (field === "partner_group") return groups.map(({ slug, name }) => ({ value: slug, label: name }));
  return OPTIONS[field] ?? null;
}

const OPTIONS: Partial<Record<ConditionField, readonly Option[]>> = {
  ref_source: REF_KINDS.map((value) => ({ value, label: REF_KIND_TEXTS[value] })),
  provider: PROVIDER_NAMES.map((value) => ({ value, label: providerText(value) })),
  new_customer: ["yes", "no"].map((value) => ({ value, label: value })),
};

function inputOf(field: string, currency: string): Partial<Parameters<typeof Field>[0]> {
  if (field === "txn_amount_cents") return { inputmode: "decimal", unit: currency };
  if (field === "product_id") return { list: "products", placeholder: "Name or id" };
  if (field === "currency") return { list: "currencies", maxlength: 3 };
  if (field === "payment_number" || field === "months_since_first_payment") return { inputmode: "numeric" };
  return {};
}
