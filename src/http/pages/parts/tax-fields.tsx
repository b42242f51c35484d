import type { Context } from "hono";
import { setTaxData, viewTaxData, type OwnTaxData, type TaxDataView } from "../../../core/partners/tax-data.ts";
import { PAYEE_KINDS, TAX_FIELDS } from "../../../domain/tax.ts";
import { taxDataSet } from "../../api/tax-data.ts";
import type { PageEnv } from "../../session.ts";
import { sentFields } from "../act.ts";
import { openEdit, readShown, refusedEdit, sentEdit, type Edit, type EditForm } from "../edits.ts";
import { addressWithNote } from "../flash.ts";
import { parseInput, type FormFields } from "../forms.ts";
import { Field, SelectField, TextArea } from "./form.tsx";

/** The form of a partner's tax data (PAGE-30). */
const TAX_FORM: EditForm<TaxDataView> = {
  columns: ({ partner_id: _, ...data }) => data,
  texts: (stored) => ({ ...stored, kind: stored.kind && KINDS[stored.kind] }),
  changes: ({ partner_id }) => ({
    ...{ type: "partner.updated", about: ["partner_id", partner_id], recorded_as: "tax_data_id" },
  }),
};

export type TaxEdit = Edit<TaxDataView>;

export function openTaxEdit(own: OwnTaxData): TaxEdit {
  return openEdit(TAX_FORM, viewTaxData(own));
}

interface TaxPage {
  partner_id: string;
  at: string;
  /** Reads the stored data to show them; not called if the sent ones are stored. */
  read: () => Promise<OwnTaxData>;
  page: (own: OwnTaxData, edit: TaxEdit) => Response | Promise<Response>;
}

/** Stores the sent tax data, or shows the form again. */
export async function saveTaxData(c: Context<PageEnv>, { partner_id, at, read, page }: TaxPage): Promise<Response> {
  const fields = await sentFields(c);
  const parsed = parseInput(taxDataSet, typedTaxData(fields));
  let refusal: unknown;
  if (parsed.ok) {
    try {
      await setTaxData(c.var.ctx, partner_id, parsed.value, readShown(fields));
      return c.redirect(addressWithNote(at, "saved"), 303);
    } catch (error) {
      refusal = error;
    }
  }
  const own = await read();
  const edit = sentEdit(TAX_FORM, viewTaxData(own), fields);
  const problems = parsed.ok ? undefined : parsed.problems;
  return page(own, problems ? { ...edit, problems } : await refusedEdit(c, TAX_FORM, edit, refusal));
}

/** The input for the API's schema. */
function typedTaxData(fields: FormFields) {
  return {
    ...{
      legal_name: fields.text("legal_name"),
      address: fields.raw("address").trim(),
      country: fields.text("country"),
    },
    ...{ kind: fields.text("kind"), tax_id: fields.textOrNull("tax_id"), vat_rate: fields.numberOrNull("vat_rate") },
  };
}

/** The typed texts, or else the stored data, for the form. */
export function taxValues({ row, fields }: TaxEdit): Record<string, string> {
  return Object.fromEntries(TAX_FIELDS.map((name) => [name, fields?.given(name) ?? String(row[name] ?? "")]));
}

const KINDS: Record<(typeof PAYEE_KINDS)[number], string> = { business: "a business", private: "a private person" };

/** The fields of a partner's tax data (OUT-33). */
export function TaxFields() {
  return (
    <>
      <Field name="legal_name" label="Legal name" required={true} maxlength={200} autocomplete="organization" />
      <TextArea name="address" label="Address" required={true} rows={3} maxlength={500} />
      <div class="fields two">
        <Field
          name="country"
          label="Country"
          required={true}
          maxlength={2}
          placeholder="DE"
          autocomplete="country"
          hint="Two letters, such as DE."
        />
        <SelectField
          name="kind"
          label="The payee is"
          options={PAYEE_KINDS.map((value) => ({ value, label: KINDS[value] }))}
        />
        <Field name="tax_id" label="VAT or tax id" maxlength={50} autocomplete="off" hint="Empty: none." />
        <Field
          name="vat_rate"
          label="VAT rate"
          inputmode="decimal"
          unit="%"
          hint="Only for a business that charges VAT to customers in its own country. Amounts include it."
        />
      </div>
    </>
  );
}
