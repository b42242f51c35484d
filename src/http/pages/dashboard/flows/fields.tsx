/** The form of a flow: a sentence that follows it, and its fields (PAGE-33). */
import { FLOW_ACTION_TYPES, FLOW_BASES, FLOW_EVENTS, type FlowBase } from "../../../../domain/flow.ts";
import { isDate } from "../../../../domain/time-zone.ts";
import type { Child } from "../../../jsx.ts";
import { Checkbox, Field, SelectField, useProblems } from "../../parts/form.tsx";
import { IfMay } from "../../rights.tsx";
import { EVENT_TEXTS } from "../../parts/words.ts";
import { ApplyFromField } from "../rules/apply-from.tsx";
import { CHANGE, ConditionFields, hasProduct, type Focus } from "./conditions.tsx";
import { NEW_FLOW, type Choices, type FlowValues } from "./form.tsx";
import { endingOf } from "./new-flows.ts";

interface FlowFieldsProps {
  values: FlowValues;
  choices: Choices;
  /** The program's. */
  currency: string;
  isNew: boolean;
  /** The flow in words. */
  sentences: Child;
  focus: Focus;
}

export function FlowFields({ values, choices, currency, isNew, sentences, focus }: FlowFieldsProps) {
  const { conditions, starts_at, ends_at, event } = values;
  const typeOf = (limit: string) => (limit === "" || isDate(limit) ? "date" : "text");
  return (
    <>
      <IfMay right="manage">
        <button type="submit" class="visually-hidden" tabindex={-1} aria-hidden="true">
          Save
        </button>
      </IfMay>
      <div class="sentence" role="status" data-sentence="">
        {sentences}
      </div>
      <IfMay right="manage">
        <noscript>
          <button type="submit" name={CHANGE} value="show">
            Update the sentence
          </button>
        </noscript>
      </IfMay>
      <Field name="name" label="Name" required={true} maxlength={200} />
      <ActionFields />
      <ConditionFields {...{ values, choices, focus }} currency={values.currency || currency} />
      {hasProduct(conditions) ? (
        <SelectField
          name="base"
          label="Commission base"
          options={FLOW_BASES.map((value) => ({ value, label: BASE_TEXTS[value] }))}
        />
      ) : null}
      {isNew && endingOf(conditions) ? (
        <Field
          name="then_value"
          label="Afterwards"
          inputmode="decimal"
          hint="What the partner gets later, in a second flow. 0 pays nothing; empty: the next flow or rate applies."
        />
      ) : null}
      {isNew && event !== "lead_created" ? (
        <Checkbox
          name="only"
          label="Everything else earns nothing"
          hint="Adds a last flow of 0 %. Otherwise other payments earn by the next flow, or the partner's rate."
        />
      ) : null}
      <div class="fields two">
        <Field name="starts_at" label="First day" type={typeOf(starts_at)} hint="Empty: from any time." />
        <Field name="ends_at" label="Last day" type={typeOf(ends_at)} hint="Empty: without end." />
      </div>
      <More values={values} currency={currency} isNew={isNew} />
    </>
  );
}

function ActionFields() {
  return (
    <>
      <SelectField
        name="event"
        label="Applies to"
        options={FLOW_EVENTS.map((value) => ({ value, label: EVENT_TEXTS[value].of }))}
        hint="Flows for leads pay a flat amount, and can only check the customer's e-mail, the partner's slug and group."
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
    </>
  );
}

const MORE = ["currency", "priority", "hold_days", "active", "apply_from"] as const;

/** Fields that few flows need; open if one is set or wrong. */
function More({ values, currency, isNew }: Pick<FlowFieldsProps, "values" | "currency" | "isNew">) {
  const problems = useProblems();
  const isUsed = MORE.some(
    (name) => (name !== "priority" && values[name] !== NEW_FLOW[name]) || problems?.fields[name],
  );
  return (
    <details class="more" open={!isNew || isUsed ? true : undefined}>
      <summary>Currency, hold, priority, earlier payments</summary>
      <div class="stack">
        <Field
          name="currency"
          label="Currency"
          maxlength={3}
          placeholder="any"
          list="currencies"
          hint={`A flow with an amount, flat or in a condition, applies to payments in one currency: ${currency} unless you name another. Payments in other currencies go on to the next flow.`}
        />
        <Field
          name="hold_days"
          label="Days on hold"
          inputmode="numeric"
          hint="How long its commissions wait before time approves them. Empty: the days of the partner's group, or of the program."
        />
        <Field
          name="priority"
          label="Priority"
          inputmode="decimal"
          hint="Highest first. The first flow whose conditions all match applies."
        />
        <Checkbox name="active" label="Active" hint="Only active flows apply." />
        <ApplyFromField />
      </div>
    </details>
  );
}

const BASE_TEXTS: Record<FlowBase, string> = {
  payment: "the whole payment",
  matching_items: "the products that the conditions name",
};
