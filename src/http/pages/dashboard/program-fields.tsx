import type { ProgramPatch } from "../../../core/programs/programs.ts";
import type { SecretPatch } from "../../../core/kernel/provider-secrets.ts";
import type { Program } from "../../../core/kernel/rows.ts";
import { isLiveOnly } from "../../../domain/program.ts";
import { moneyValue, type FormFields, type Problems } from "../forms.ts";
import { Field, SelectField } from "../parts/form.tsx";
import { ApplyFromField } from "./apply-from.tsx";

/** The secrets have forms of their own. */
type ProgramField = Exclude<keyof ProgramPatch, keyof SecretPatch | "apply_from">;

const FIELDS = Object.keys({
  name: true,
  domain: true,
  currency: true,
  default_commission_pct: true,
  payout_term: true,
  min_payout_cents: true,
  cookie_days: true,
  attribution: true,
  code_precedence: true,
  auto_approve_days: true,
  live_only: true,
} satisfies Record<ProgramField, true>) as ProgramField[];

/** The settings as their form shows them, the minimum payout with the currency's decimals: what was typed, or else is stored. */
export type ProgramValues = Record<ProgramField | "apply_from", string>;

export function programValues(stored: Program, fields?: FormFields): ProgramValues {
  const text = (name: ProgramField) => {
    if (name === "live_only") return String(isLiveOnly(stored));
    return name === "min_payout_cents"
      ? moneyValue(stored.min_payout_cents, stored.currency)
      : String(stored[name] ?? "");
  };
  const values = Object.fromEntries(FIELDS.map((name) => [name, fields?.given(name) ?? text(name)]));
  return { ...(values as Record<ProgramField, string>), apply_from: fields?.text("apply_from") ?? "" };
}

/** What was typed, as the schema of the API takes it. */
export function programInput(fields: FormFields, currency: string): Record<ProgramField, unknown> {
  const chosen = fields.text("currency").toUpperCase() || currency;
  return {
    name: fields.given("name"),
    domain: fields.textOrNull("domain"),
    currency: chosen,
    default_commission_pct: fields.number("default_commission_pct"),
    payout_term: fields.given("payout_term")?.toUpperCase(),
    min_payout_cents: fields.given("min_payout_cents") === "" ? 0 : fields.money("min_payout_cents", chosen),
    cookie_days: fields.number("cookie_days"),
    attribution: fields.given("attribution"),
    code_precedence: fields.given("code_precedence"),
    auto_approve_days: fields.numberOrNull("auto_approve_days"),
    live_only: truthOf(fields.text("live_only")),
  };
}

/** What was chosen; nothing where the form lacks it, and what is no choice as it is, to be refused. */
function truthOf(text: string): boolean | string | undefined {
  if (text === "") return undefined;
  return text === "true" || (text === "false" ? false : text);
}

interface ProgramFieldsProps {
  values: ProgramValues;
  problems?: Problems | undefined;
  currency: string;
}

export function ProgramFields({ values, problems, currency }: ProgramFieldsProps) {
  return (
    <>
      <div class="fields two">
        <Field name="name" label="Name" value={values.name} problems={problems} required={true} maxlength={200} />
        <Field
          name="domain"
          label="Domain"
          value={values.domain}
          problems={problems}
          placeholder="shop.example.com"
          maxlength={253}
          inputmode="url"
          hint="Where partners' links lead."
        />
        <Field
          name="default_commission_pct"
          label="Commission rate"
          value={values.default_commission_pct}
          problems={problems}
          required={true}
          inputmode="decimal"
          unit="%"
          hint="For partners without a rate of their own, where no flow matches."
        />
        <ApplyFromField value={values.apply_from} problems={problems} />
        <Field
          name="currency"
          label="Currency"
          value={values.currency}
          problems={problems}
          required={true}
          maxlength={3}
          hint="Locked once a commission exists. Payments in others keep theirs."
        />
        <Field
          name="auto_approve_days"
          label="Approve automatically after"
          value={values.auto_approve_days}
          problems={problems}
          inputmode="numeric"
          unit="days"
          hint="Counted from the payment; flagged ones always wait for you. Empty: you approve all."
        />
        <Field
          name="payout_term"
          label="Payout term"
          value={values.payout_term}
          problems={problems}
          required={true}
          maxlength={7}
          hint="NET-30: due 30 days after the period ends."
        />
        <LaterFields values={values} problems={problems} currency={currency} />
      </div>
    </>
  );
}

/** The rest of them. */
function LaterFields({ values, problems, currency }: ProgramFieldsProps) {
  return (
    <>
      <Field
        name="min_payout_cents"
        label="Minimum payout"
        value={values.min_payout_cents}
        problems={problems}
        inputmode="decimal"
        unit={currency}
        hint="Less than that is carried forward."
      />
      <Field
        name="cookie_days"
        label="Remember a click for"
        value={values.cookie_days}
        problems={problems}
        required={true}
        inputmode="numeric"
        unit="days"
        hint="Changes the script tag below: copy it again."
      />
      <SelectField
        name="attribution"
        label="If several partners sent the visitor"
        value={values.attribution}
        problems={problems}
        options={[
          { value: "last", label: "the last one earns" },
          { value: "first", label: "the first one earns" },
        ]}
        hint="Changes the script tag below: copy it again."
      />
      <SelectField
        name="code_precedence"
        label="If a payment has a link's partner and a promotion code"
        value={values.code_precedence}
        problems={problems}
        options={[
          { value: "link", label: "the link's partner earns" },
          { value: "code", label: "the code's partner earns" },
        ]}
        hint="For payments from now on."
      />
      <SelectField
        name="live_only"
        label="The providers' test payments"
        value={values.live_only}
        problems={problems}
        options={[
          { value: "true", label: "earn nothing" },
          { value: "false", label: "earn as real ones do" },
        ]}
        hint="For trying things out; commissions on test payments can be paid out like any others."
      />
    </>
  );
}
