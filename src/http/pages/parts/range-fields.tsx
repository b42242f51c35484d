import { isDate } from "../../../domain/time-zone.ts";
import { Field } from "./form.tsx";

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
