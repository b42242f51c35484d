import { isDate } from "../../../domain/time-zone.ts";
import { PROVIDER_NAMES } from "../../../providers/registry.ts";
import { capitalized, providerText } from "./figures.tsx";
import { Field, SelectField, useValue } from "./form.tsx";

/** A field of a list's filter. */
export interface FilterField {
  /** Its parameter in the address. */
  name: string;
  label: string;
  /** The name of the active filter, if it is not the label. */
  chip?: string;
  /** The values to choose from; without them it is a text. */
  among?: readonly string[];
  /** A value in words. */
  text?: (value: string) => string;
  hint?: string;
  placeholder?: string;
  maxlength?: number;
  /** It is beside the filter, not in it. */
  isSearch?: true;
}

/** A choice of one value, or any. */
export function choice<Value extends string>(
  name: string,
  label: string,
  among: readonly Value[],
  text: (value: Value) => string = capitalized,
): FilterField {
  const known: readonly string[] = among;
  return { name, label, among, text: (value) => (known.includes(value) ? text(value as Value) : value) };
}

/** The search for payments and their customers (PAY-21). */
export const PAYMENT_SEARCH: FilterField = {
  ...{
    name: "search",
    label: "Order, customer's full e-mail, or partner",
    chip: "Search",
    maxlength: 200,
    isSearch: true,
  },
};

export const PROVIDER_FIELD = choice("provider", "Provider", PROVIDER_NAMES, providerText);

/** The time range of a list. */
export const RANGE_FIELDS: readonly FilterField[] = [
  { name: "from", label: "From" },
  { name: "to", label: "To" },
];

export function FilterInput({ field }: { field: FilterField }) {
  const { name, label, among, text, isSearch, chip: _chip, ...rest } = field;
  if (name === "from" || name === "to") return <DayField name={name} label={label} />;
  if (among) return <Choice {...{ name, label, among }} text={text} />;
  return <Field {...{ name, label, ...rest }} type={isSearch ? "search" : "text"} class={isSearch ? "grow" : ""} />;
}

interface ChoiceProps<Value extends string> {
  name: string;
  label: string;
  among: readonly Value[];
  text?: ((value: Value) => string) | undefined;
}

export function Choice<Value extends string>({ name, label, among, text = capitalized }: ChoiceProps<Value>) {
  const options = [{ value: "", label: "Any" }, ...among.map((value) => ({ value, label: text(value) }))];
  return <SelectField name={name} label={label} options={options} />;
}

/** Exact instants of links are text fields: a date field would send them empty. */
function DayField({ name, label }: { name: string; label: string }) {
  const value = useValue(name);
  return <Field name={name} label={label} type={!value || isDate(value) ? "date" : "text"} />;
}

export function RangeFields() {
  return RANGE_FIELDS.map(({ name, label }) => <DayField name={name} label={label} />);
}
