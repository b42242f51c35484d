import { isDate } from "../../../domain/time-zone.ts";
import { PROVIDER_NAMES } from "../../../providers/registry.ts";
import { providerText } from "./figures.tsx";
import { Field, SelectField, useValue } from "./form.tsx";

interface ChoiceProps<Value extends string> {
  name: string;
  label: string;
  among: readonly Value[];
  text?: (value: Value) => string;
}

/** A choice of one value, or any. */
export function Choice<Value extends string>({ name, label, among, text = (value) => value }: ChoiceProps<Value>) {
  const options = [{ value: "", label: "Any" }, ...among.map((value) => ({ value, label: text(value) }))];
  return <SelectField name={name} label={label} options={options} />;
}

/** The search for payments and their customers (PAY-21). */
export function PaymentSearchField() {
  return <Field name="search" label="Order, customer or partner" type="search" maxlength={200} class="grow" />;
}

export function ProviderField() {
  return <Choice name="provider" label="Provider" among={PROVIDER_NAMES} text={providerText} />;
}

/** A list's time range. Exact instants of links are text fields: a date field would send them empty. */
export function RangeFields() {
  const typeOf = (text: string | null | undefined) => (!text || isDate(text) ? "date" : "text");
  return (
    <>
      <Field name="from" label="From" type={typeOf(useValue("from"))} />
      <Field name="to" label="To" type={typeOf(useValue("to"))} />
    </>
  );
}
