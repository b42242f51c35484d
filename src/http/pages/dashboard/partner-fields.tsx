import type { EditForm } from "../edits.ts";
import type { FormFields } from "../forms.ts";
import { Field, Form, SelectField } from "../parts/form.tsx";
import { ApplyFromField } from "./apply-from.tsx";
import { PAYOUT_METHOD_OPTIONS } from "../parts/payout-method.ts";
import type { Partner, Program } from "../../../core/kernel/rows.ts";
import type { PartnerInput } from "../../../core/partners/partners.ts";
import { WALLET_SERVICE } from "../../../domain/partner.ts";

/** What of a partner is typed: everything that can be given but `metadata`, which the API alone takes. */
type Typed = Exclude<keyof PartnerInput, "metadata">;

/** The fields of a partner as a form shows them: what was typed, and of what was not sent what is stored. */
export type PartnerValues = Record<Typed | "apply_from", string>;

export function partnerValues(stored: Partner | null, fields?: FormFields): PartnerValues {
  const text = (name: Typed) => fields?.given(name) ?? String(stored?.[name] ?? "");
  return {
    email: text("email"),
    slug: text("slug"),
    first_name: text("first_name"),
    last_name: text("last_name"),
    commission_pct: text("commission_pct"),
    payout_method: text("payout_method"),
    payout_email: text("payout_email"),
    apply_from: fields?.text("apply_from") ?? "",
  };
}

/** Of a partner that is edited (PAGE-30). */
export const PARTNER_FORM: EditForm<Partner> = {
  columns: ({ email, slug, first_name, last_name, commission_pct, payout_method, payout_email }) => ({
    ...{ email, slug, first_name, last_name, commission_pct, payout_method, payout_email },
  }),
  texts: (partner) => partnerValues(partner),
  changes: ({ id }) => ({ type: "partner.updated", about: ["partner_id", id] }),
};

/** What was typed, as the schemas of the API take it. */
export function partnerInput(fields: FormFields): Record<Typed, unknown> {
  return {
    email: fields.given("email"),
    slug: fields.given("slug"),
    first_name: fields.textOrNull("first_name"),
    last_name: fields.textOrNull("last_name"),
    commission_pct: fields.numberOrNull("commission_pct"),
    payout_method: fields.textOrNull("payout_method"),
    payout_email: fields.textOrNull("payout_email"),
  };
}

/** The address is enough to invite somebody: the rest can be added later. */
export function InviteForm() {
  return (
    <Form action="/dashboard/partners/new" class="filter tight">
      <input type="hidden" name="invite" value="yes" />
      <Field
        name="email"
        id="invite"
        label={<span class="visually-hidden">E-mail address of a new partner</span>}
        type="email"
        placeholder="E-mail address"
        required={true}
        maxlength={254}
        autocomplete="off"
      />
      <button type="submit">Invite partner</button>
    </Form>
  );
}

export function PartnerFields({ program, isNew }: { program: Program; isNew: boolean }) {
  return (
    <>
      <Field
        name="email"
        label="E-mail address"
        type="email"
        maxlength={254}
        required={true}
        autocomplete="off"
        hint="The partner signs in with it."
      />
      <Field
        name="slug"
        label="Slug"
        required={true}
        autocomplete="off"
        maxlength={64}
        hint={
          isNew ? (
            <>
              Part of the partner's link: <code>{`${program.domain ?? "your-domain"}/?ref=slug`}</code>
            </>
          ) : (
            "Links with the old slug keep working, and nobody else can take it."
          )
        }
      />
      <div class="fields two">
        <Field name="first_name" label="First name" autocomplete="off" maxlength={200} />
        <Field name="last_name" label="Last name" autocomplete="off" maxlength={200} />
      </div>
      <Field
        name="commission_pct"
        label="Own commission rate"
        inputmode="decimal"
        unit="%"
        hint={`Leave empty for the program's ${program.default_commission_pct} %. Flows that match come first.`}
      />
      {isNew ? null : <ApplyFromField />}
      <PayoutFields />
    </>
  );
}

function PayoutFields() {
  return (
    <div class="fields two">
      <SelectField name="payout_method" label="Paid by" options={PAYOUT_METHOD_OPTIONS} />
      <Field
        name="payout_email"
        label={`E-mail at ${WALLET_SERVICE}`}
        type="email"
        maxlength={254}
        autocomplete="off"
      />
    </div>
  );
}
