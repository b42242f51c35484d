import { isDate } from "../../../domain/time-zone.ts";
import type { ProviderName } from "../../../domain/provider-name.ts";
import { PROVIDER_NAMES } from "../../../providers/registry.ts";
import { providerText } from "./figures.tsx";
import { Field, SelectField } from "./form.tsx";

/** What finds payments, and with them their customers (PAY-21). */
export function PaymentSearchField({ value }: { value: string | undefined }) {
  return (
    <Field name="search" label="Order, customer or partner" type="search" value={value} maxlength={200} class="grow" />
  );
}

export function ProviderField({ value }: { value: ProviderName | undefined }) {
  return (
    <SelectField
      name="provider"
      label="Provider"
      value={value}
      options={[
        { value: "", label: "Any" },
        ...PROVIDER_NAMES.map((name) => ({ value: name, label: providerText(name) })),
      ]}
    />
  );
}

/**
 * From when to when a list is read. Instants, which links have where a day would not do, are kept as they are: a field of a
 * date would send them away empty.
 */
export function RangeFields({ texts }: { texts: Partial<Record<string, string>> }) {
  const type = (text: string | undefined) => (text === undefined || isDate(text) ? "date" : "text");
  const { from, to } = texts;
  return (
    <>
      <Field name="from" label="From" type={type(from)} value={from} />
      <Field name="to" label="To" type={type(to)} value={to} />
    </>
  );
}
