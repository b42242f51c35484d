import { Field, SelectField, TextArea } from "../../parts/form.tsx";

/** The payer's data and self-billing (OUT-33, OUT-34). */
export function InvoiceFields() {
  return (
    <>
      <Field
        name="payer_name"
        label="Your legal name"
        maxlength={200}
        hint="On statements. Empty: the program's name."
      />
      <TextArea name="payer_address" label="Your address" rows={3} maxlength={500} />
      <Field name="payer_country" label="Your country" maxlength={2} placeholder="DE" hint="Two letters, such as DE." />
      <Field name="payer_tax_id" label="Your VAT or tax id" maxlength={50} />
      <SelectField
        name="require_tax_data"
        label="Partners without tax data"
        options={[
          { value: "false", label: "Pay them" },
          { value: "true", label: "Hold their payouts" },
        ]}
        hint="Partners enter the data in the portal. Held commissions roll over until then."
      />
      <SelectField
        name="self_billing"
        label="Self-billing invoices"
        options={[
          { value: "off", label: "Off" },
          { value: "on", label: "Number each paid payout" },
        ]}
        hint="Needs your legal name, address and country, and your partners' agreement. Ask your tax adviser."
      />
      <Field
        name="self_billing_prefix"
        label="Prefix of invoice numbers"
        maxlength={20}
        placeholder="SB-"
        hint="SB- gives SB-INV-000001 and, for credit notes, SB-CN-000001."
      />
    </>
  );
}
