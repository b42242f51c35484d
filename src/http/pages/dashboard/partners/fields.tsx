import type { Child } from "../../../jsx.ts";
import type { EditForm } from "../../edits.ts";
import type { FormFields } from "../../forms.ts";
import { Field, Form, SelectField } from "../../parts/form.tsx";
import { ApplyFromField } from "../rules/apply-from.tsx";
import { PayoutFields, typedTexts } from "../../parts/payout-fields.tsx";
import type { Group, Partner, Program } from "../../../../core/kernel/rows.ts";
import { columnsWith, maxLengthOf, pick, type AnyField, type ColumnsWith } from "../../../../resources/field.ts";
import { PARTNER, PARTNER_TEXTS } from "../../../../resources/partner.ts";

type Typed = ColumnsWith<typeof PARTNER, "form">;

const TYPED = columnsWith(PARTNER, "form");

/** The fields of a partner's form: the input, or the stored value of fields that were not sent. */
export type PartnerValues = Record<Typed | "apply_from", string>;

export function partnerValues(stored: Partner | null, fields?: FormFields): PartnerValues {
  const texts = TYPED.map((name) => [name, fields?.given(name) ?? String(stored?.[name] ?? "")]);
  return {
    ...(Object.fromEntries(texts) as Record<Typed, string>),
    ...typedTexts(fields),
    apply_from: fields?.text("apply_from") ?? "",
  };
}

export const PARTNER_FORM: EditForm<Partner> = {
  columns: (partner) => pick(partner, TYPED),
  texts: (partner) => partnerValues(partner),
  changes: ({ id }) => ({ type: "partner.updated", about: ["partner_id", id] }),
};

/** The input for the API's schemas. */
export function partnerInput(fields: FormFields): Record<Typed, unknown> {
  const read = (name: Typed) => {
    const { needed, form }: AnyField = PARTNER[name];
    if (needed || name === "group_id") return fields.given(name);
    return form?.type === "number" ? fields.numberOrNull(name) : fields.textOrNull(name);
  };
  return Object.fromEntries(TYPED.map((name) => [name, read(name)])) as Record<Typed, unknown>;
}

/** The address is enough for an invitation: the rest can be added later. */
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

interface ColumnFieldProps {
  name: Typed;
  hint?: Child;
  unit?: string;
  maxlength?: number;
}

/** The field of a column, as its resource describes it. */
function ColumnField({ name, ...own }: ColumnFieldProps) {
  const { form, write, needed }: AnyField = PARTNER[name];
  const maxlength = maxLengthOf(write);
  return (
    <Field
      name={name}
      label={form?.label}
      type={form?.type === "email" ? "email" : "text"}
      {...(maxlength === undefined ? {} : { maxlength })}
      required={needed === true}
      {...(form?.type === "number" ? { inputmode: "decimal" } : { autocomplete: "off" })}
      hint={form?.hint}
      {...own}
    />
  );
}

interface PartnerFieldsProps {
  program: Program;
  groups: readonly Group[];
  /** Null for a new partner. */
  stored: Partner | null;
}

export function PartnerFields({ program, groups, stored }: PartnerFieldsProps) {
  const isNew = stored === null;
  return (
    <>
      <ColumnField name="email" />
      <ColumnField
        name="slug"
        maxlength={64}
        hint={
          isNew ? (
            <>
              Part of the partner's link: <code>{`${program.domain ?? "your-domain"}/?ref=slug`}</code>
            </>
          ) : (
            "Links with the old slug keep working, and no other partner can use it."
          )
        }
      />
      <div class="fields two">
        {PARTNER_TEXTS.map((name) => (
          <ColumnField name={name} />
        ))}
      </div>
      <SelectField name="group_id" label={PARTNER.group_id.form.label} options={groupOptions(groups)} />
      <ColumnField
        name="commission_pct"
        unit="%"
        hint={`Leave empty for the group's rate, or the program's ${program.default_commission_pct} %. Flows that match come first.`}
      />
      {isNew ? null : <ApplyFromField />}
      <PayoutFields stored={stored} label={PARTNER.payout_method.form.label} />
    </>
  );
}

/** The groups, with the default one for a value that is not set. */
function groupOptions(groups: readonly Group[]) {
  return groups.map(({ id, name, is_default }) => ({ value: id, label: is_default ? `${name} (default)` : name }));
}
