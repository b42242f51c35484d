import type { ProgramPatch } from "../../../../core/programs/programs.ts";
import type { SecretPatch } from "../../../../core/kernel/provider-secrets.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { MAX_QUESTIONS, MAX_TERMS } from "../../../../domain/application.ts";
import { assetsText, MAX_ASSETS, readAssets } from "../../../../domain/asset.ts";
import type { EditForm } from "../../edits.ts";
import { moneyValue, type FormFields, type Problems } from "../../forms.ts";
import { Field, FieldGroup, SelectField, TextArea, useProblems } from "../../parts/form.tsx";
import { MinimumFields, minimumRows, minimumsInput, minimumsText } from "./minimums.tsx";
import { ApplyFromField } from "../rules/apply-from.tsx";

/** The secrets have forms of their own. */
type ProgramField = Exclude<keyof ProgramPatch, keyof SecretPatch | "apply_from">;

const FIELDS = Object.keys({
  name: true,
  domain: true,
  currency: true,
  default_commission_pct: true,
  payout_term: true,
  min_payout_cents: true,
  min_payouts: true,
  cookie_days: true,
  attribution: true,
  code_precedence: true,
  auto_approve_days: true,
  live_only: true,
  brand_color: true,
  time_zone: true,
  applications: true,
  slug: true,
  questions: true,
  terms: true,
  sale_amounts: true,
  assets: true,
} satisfies Record<ProgramField, true>) as ProgramField[];

/** The settings in their form, with the currency's decimals: the input, or else the stored value. */
export type ProgramValues = Record<ProgramField | "apply_from", string>;

export function programValues(stored: Program, fields?: FormFields): ProgramValues {
  const text = (name: ProgramField) => {
    if (name === "live_only") return String(stored.live_only);
    if (name === "assets") return assetsText(stored.assets ?? []);
    if (name === "min_payouts") return minimumsText(stored);
    if (name === "questions") return (stored.questions ?? []).join("\n");
    return name === "min_payout_cents"
      ? moneyValue(stored.min_payout_cents, stored.currency)
      : String(stored[name] ?? "");
  };
  const values = Object.fromEntries(FIELDS.map((name) => [name, fields?.given(name) ?? text(name)]));
  return { ...(values as Record<ProgramField, string>), apply_from: fields?.text("apply_from") ?? "" };
}

/** The form of the program's settings (PAGE-30). */
export const PROGRAM_FORM: EditForm<Program> = {
  columns: (program) => Object.fromEntries(FIELDS.map((name) => [name, program[name]])),
  texts: (program) => programValues(program),
  changes: ({ id }) => ({ type: "program.updated", about: ["program_id", id] }),
};

/** The input for the API's schema. */
export function programInput(fields: FormFields, currency: string): Record<ProgramField, unknown> {
  const chosen = fields.text("currency").toUpperCase() || currency;
  return {
    name: fields.given("name"),
    domain: fields.textOrNull("domain"),
    currency: chosen,
    default_commission_pct: fields.number("default_commission_pct"),
    payout_term: fields.given("payout_term")?.toUpperCase(),
    min_payout_cents: fields.given("min_payout_cents") === "" ? 0 : fields.money("min_payout_cents", chosen),
    min_payouts: minimumsInput(fields),
    cookie_days: fields.number("cookie_days"),
    attribution: fields.given("attribution"),
    code_precedence: fields.given("code_precedence"),
    auto_approve_days: fields.numberOrNull("auto_approve_days"),
    live_only: truthOf(fields.text("live_only")),
    brand_color: fields.textOrNull("brand_color"),
    time_zone: fields.given("time_zone"),
    applications: fields.given("applications"),
    slug: fields.textOrNull("slug"),
    questions: fields.given("questions") === undefined ? undefined : linesOf(fields.text("questions")),
    sale_amounts: fields.given("sale_amounts"),
    assets: fields.given("assets") === undefined ? undefined : readAssets(fields.raw("assets")),
    terms: fields.given("terms") === undefined ? undefined : fields.raw("terms").trim() || null,
  };
}

/** The lines that are not empty. */
function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The chosen truth value; undefined if absent. Other texts are unchanged: the schema refuses them. */
function truthOf(text: string): boolean | string | undefined {
  if (text === "") return undefined;
  return text === "true" || (text === "false" ? false : text);
}

/** The settings in groups, in the order in which a new program needs them. */
export function ProgramFields({ program, fields }: { program: Program; fields?: FormFields | undefined }) {
  return (
    <>
      <FieldGroup name="General">
        <GeneralFields />
      </FieldGroup>
      <FieldGroup name="Commissions">
        <CommissionFields />
        <AttributionFields />
      </FieldGroup>
      <FieldGroup name="Payouts">
        <PayoutFields currency={program.currency} />
        <MinimumFields rows={minimumRows(program, fields)} />
      </FieldGroup>
      <FieldGroup name="Partner portal">
        <PortalFields />
      </FieldGroup>
      <FieldGroup name="Applications">
        <ApplicationFields />
      </FieldGroup>
    </>
  );
}

/** The program's identity, look and time zone. */
function GeneralFields() {
  return (
    <>
      <Field name="name" label="Name" required={true} maxlength={200} />
      <Field
        name="domain"
        label="Domain"
        placeholder="shop.example.com"
        maxlength={253}
        inputmode="url"
        hint="The site that partners' links lead to."
      />
      <Field
        name="currency"
        label="Currency"
        required={true}
        maxlength={3}
        hint="Fixed once a commission or lead exists. Payments in other currencies keep theirs."
      />
      <Field
        name="time_zone"
        label="Time zone"
        required={true}
        maxlength={64}
        placeholder="Europe/Berlin"
        hint="For dates and times on all pages, including the portal, and for days in e-mails."
      />
      <Field
        name="brand_color"
        label="Color of e-mails"
        maxlength={7}
        placeholder="#3730a3"
        hint="For buttons and the top line in your program's e-mails: # and six hexadecimal digits."
      />
    </>
  );
}

/** The rules of commissions and their approval. */
function CommissionFields() {
  return (
    <>
      <Field
        name="default_commission_pct"
        label="Commission rate"
        required={true}
        inputmode="decimal"
        unit="%"
        hint="For partners without their own rate, if no flow matches."
      />
      <ApplyFromField />
      <Field
        name="auto_approve_days"
        label="Approve automatically after"
        inputmode="numeric"
        unit="days"
        hint="From the payment, or from its first report if that is later. Flagged commissions always wait for you. Empty: you approve all by hand."
      />
      <SelectField
        name="live_only"
        label="The providers' test payments"
        options={[
          { value: "true", label: "earn nothing" },
          { value: "false", label: "earn like real ones" },
        ]}
        hint="For testing. Commissions on test payments can be paid out like any others."
      />
    </>
  );
}

/** The rules that assign payments to partners. */
function AttributionFields() {
  return (
    <>
      <Field
        name="cookie_days"
        label="Remember a click for"
        required={true}
        inputmode="numeric"
        unit="days"
        hint="Changes the script tag below: copy it again."
      />
      <SelectField
        name="attribution"
        label="If several partners sent the visitor"
        options={[
          { value: "last", label: "the last one earns" },
          { value: "first", label: "the first one earns" },
        ]}
        hint="Changes the script tag below: copy it again."
      />
      <SelectField
        name="code_precedence"
        label="If a payment has a link's partner and a promotion code"
        options={[
          { value: "link", label: "the link's partner earns" },
          { value: "code", label: "the code's partner earns" },
        ]}
        hint="For payments from now on."
      />
    </>
  );
}

function PayoutFields({ currency }: { currency: string }) {
  return (
    <>
      <Field
        name="payout_term"
        label="Payout term"
        required={true}
        maxlength={7}
        hint="NET-30: due 30 days after the period ends."
      />
      <Field
        name="min_payout_cents"
        label="Minimum payout"
        inputmode="decimal"
        unit={currency}
        hint="Smaller amounts roll over to the next payout."
      />
    </>
  );
}

/** Moves the problem of one asset to the field of all assets. */
function assetProblems(problems: Problems | undefined): Problems | undefined {
  const [path, message] = Object.entries(problems?.fields ?? {}).find(([name]) => name.startsWith("assets.")) ?? [];
  if (problems === undefined || path === undefined || message === undefined) return problems;
  const [, index = "0", part = ""] = path.split(".");
  const said = part === "kind" ? "it begins with banner:, text: or link:." : `${part}: ${message}`;
  return { ...problems, fields: { ...problems.fields, assets: `Number ${Number(index) + 1}: ${said}` } };
}

/** The content of the partners' portal. */
function PortalFields() {
  return (
    <>
      <SelectField
        name="sale_amounts"
        label="Amounts of sales"
        options={[
          { value: "shown", label: "is shown to the partner" },
          { value: "hidden", label: "is hidden from the partner" },
        ]}
        hint="In the portal and its files, along with the rate of each commission. Partners who know their rate can still work out the amount."
      />
      <TextArea
        name="assets"
        label="Banners, texts and pages for partners"
        problems={assetProblems(useProblems())}
        code={true}
        rows={6}
        hint={`Each begins with banner:, text: or link: and a name; below it the https:// address of the picture or page, or the text, with {link} for the partner's link. Put a line --- between two; ${MAX_ASSETS} at most.`}
      />
    </>
  );
}

/** The permission to apply as a partner, and the questions of the form. */
function ApplicationFields() {
  return (
    <>
      <SelectField
        name="applications"
        label="People who apply to become partners"
        options={[
          { value: "off", label: "cannot apply" },
          { value: "review", label: "wait until you approve them" },
          { value: "auto", label: "become partners at once" },
        ]}
        hint="They apply on your program's page and verify their e-mail address."
      />
      <Field
        name="slug"
        label="Name in the address of that page"
        placeholder="example-shop"
        maxlength={64}
        hint="/join/example-shop. Empty: the program id."
      />
      <TextArea
        name="questions"
        label="Questions for applicants"
        rows={4}
        hint={`One question on each line, ${MAX_QUESTIONS} at most; name, e-mail and website are always included. End a question with (optional) if applicants may skip it.`}
      />
      <TextArea
        name="terms"
        label="Terms and conditions"
        rows={6}
        maxlength={MAX_TERMS}
        hint="We record which version of the terms each applicant accepted."
      />
    </>
  );
}
