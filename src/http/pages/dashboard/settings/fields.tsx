import { OF_CURRENCY, type ProgramPatch } from "../../../../core/programs/programs.ts";
import type { SecretPatch } from "../../../../core/kernel/provider-secrets.ts";
import type { Program } from "../../../../core/kernel/rows.ts";
import { MAX_QUESTIONS, MAX_TERMS } from "../../../../domain/application.ts";
import { MAX_OWN_SLUGS } from "../../../../domain/partner.ts";
import { assetsText, MAX_ASSETS, readAssets } from "../../../../domain/asset.ts";
import type { Child } from "../../../jsx.ts";
import type { EditForm } from "../../edits.ts";
import { moneyValue, type FormFields, type Problems } from "../../forms.ts";
import { Field, FieldGroup, SelectField, TextArea, useProblems } from "../../parts/form.tsx";
import { InvoiceFields } from "./invoices.tsx";
import { MinimumFields, minimumRows, minimumsInput, minimumsText } from "./minimums.tsx";
import { ApplyFromField } from "../rules/apply-from.tsx";

/** The settings that need a fresh proof (PROOF-3) have forms of their own. */
type ProgramField = Exclude<keyof ProgramPatch, keyof SecretPatch | "apply_from" | "payout_change_hold_days">;

/** A page of the settings with a form of the program's. */
export type ProgramTab = "general" | "commissions" | "payouts" | "portal";

/** The page of each setting. */
const TAB_OF: Record<ProgramField, ProgramTab> = {
  name: "general",
  domain: "general",
  currency: "general",
  time_zone: "general",
  brand_color: "general",
  default_commission_pct: "commissions",
  auto_approve_days: "commissions",
  live_only: "commissions",
  cookie_days: "commissions",
  attribution: "commissions",
  code_precedence: "commissions",
  payout_term: "payouts",
  min_payout_cents: "payouts",
  min_payouts: "payouts",
  payout_currency: "payouts",
  debtor_name: "payouts",
  debtor_iban: "payouts",
  debtor_bic: "payouts",
  payer_name: "payouts",
  payer_address: "payouts",
  payer_country: "payouts",
  payer_tax_id: "payouts",
  require_tax_data: "payouts",
  self_billing: "payouts",
  self_billing_prefix: "payouts",
  sale_amounts: "portal",
  partner_links: "portal",
  assets: "portal",
  applications: "portal",
  slug: "portal",
  questions: "portal",
  terms: "portal",
};

const FIELDS = Object.keys(TAB_OF) as ProgramField[];

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

/** The form of one page of the settings, which compares the settings of `OF_CURRENCY` together (PAGE-30). */
export function programForm(tab: ProgramTab): EditForm<Program> {
  const own = FIELDS.filter((name) => TAB_OF[name] === tab);
  const shown = OF_CURRENCY.some((name) => TAB_OF[name] === tab) ? new Set([...own, ...OF_CURRENCY]) : own;
  return {
    columns: (program) => Object.fromEntries([...shown].map((name) => [name, program[name]])),
    texts: (program) => programValues(program),
    changes: ({ id }) => ({ type: "program.updated", about: ["program_id", id] }),
  };
}

/** The input for the API's schema. */
export function programInput(fields: FormFields, currency: string): Record<ProgramField, unknown> {
  return {
    name: fields.given("name"),
    domain: hostOf(fields.textOrNull("domain")),
    currency: fields.given("currency") === "" ? currency : fields.given("currency")?.toUpperCase(),
    default_commission_pct: fields.number("default_commission_pct"),
    payout_term: fields.given("payout_term")?.toUpperCase(),
    min_payout_cents: fields.given("min_payout_cents") === "" ? 0 : fields.money("min_payout_cents", currency),
    min_payouts: minimumsInput(fields),
    payout_currency: currencyOf(fields.textOrNull("payout_currency")),
    self_billing: fields.given("self_billing"),
    self_billing_prefix: fields.given("self_billing_prefix"),
    payer_name: fields.textOrNull("payer_name"),
    payer_address: fields.given("payer_address") === undefined ? undefined : fields.raw("payer_address").trim() || null,
    payer_country: fields.textOrNull("payer_country"),
    payer_tax_id: fields.textOrNull("payer_tax_id"),
    require_tax_data: truthOf(fields.text("require_tax_data")),
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
    partner_links: truthOf(fields.text("partner_links")),
    assets: fields.given("assets") === undefined ? undefined : readAssets(fields.raw("assets")),
    debtor_name: fields.textOrNull("debtor_name"),
    debtor_iban: fields.textOrNull("debtor_iban"),
    debtor_bic: fields.textOrNull("debtor_bic"),
    terms: fields.given("terms") === undefined ? undefined : fields.raw("terms").trim() || null,
  };
}

/** The host of a pasted address. */
function hostOf<None extends null | undefined>(text: string | None): string | None {
  return typeof text === "string" ? text.replace(/^https?:\/\//i, "").replace(/[/?#].*$/, "") : text;
}

/** A currency in upper case. */
function currencyOf<None extends null | undefined>(text: string | None): string | None {
  return typeof text === "string" ? text.toUpperCase() : text;
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

interface TabProps {
  program: Program;
  fields?: FormFields | undefined;
}

/** The settings of a page, in groups. */
export const PROGRAM_TABS: Record<ProgramTab, (props: TabProps) => Child> = {
  general: () => (
    <FieldGroup name="Program">
      <GeneralFields />
    </FieldGroup>
  ),
  commissions: () => (
    <>
      <FieldGroup name="Rate and approval">
        <CommissionFields />
      </FieldGroup>
      <FieldGroup name="Attribution">
        <AttributionFields />
      </FieldGroup>
    </>
  ),
  payouts: ({ program, fields }) => (
    <>
      <FieldGroup name="Payouts">
        <PayoutFields currency={program.currency} />
        <MinimumFields rows={minimumRows(program, fields)} />
      </FieldGroup>
      <FieldGroup name="Your bank account">
        <DebtorFields />
      </FieldGroup>
      <FieldGroup name="Statements and invoices">
        <InvoiceFields />
      </FieldGroup>
    </>
  ),
  portal: () => (
    <>
      <FieldGroup name="Applications">
        <ApplicationFields />
      </FieldGroup>
      <FieldGroup name="Partner portal">
        <PortalFields />
      </FieldGroup>
    </>
  ),
};

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
        label="Test payments"
        options={[
          { value: "true", label: "Ignore" },
          { value: "false", label: "Count like real payments" },
        ]}
        hint="Payments in a provider's test mode. Their commissions can be paid out like any others."
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
        hint="Changes the script tag: copy it again from General."
      />
      <SelectField
        name="attribution"
        label="Several partners sent the visitor"
        options={[
          { value: "last", label: "Last partner earns" },
          { value: "first", label: "First partner earns" },
        ]}
        hint="Changes the script tag: copy it again from General."
      />
      <SelectField
        name="code_precedence"
        label="Link and promotion code name different partners"
        options={[
          { value: "link", label: "Link's partner earns" },
          { value: "code", label: "Code's partner earns" },
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
      <Field
        name="payout_currency"
        label="Payout currency"
        maxlength={3}
        placeholder="As earned"
        hint="Later payouts convert other currencies to it, with the exchange rates below. Empty: one payout in each currency, as earned."
      />
    </>
  );
}

/** The account that SEPA files pay from (OUT-27). */
function DebtorFields() {
  return (
    <>
      <Field name="debtor_name" label="Account holder" maxlength={140} hint="For SEPA files. As your bank writes it." />
      <Field
        name="debtor_iban"
        label="IBAN"
        maxlength={64}
        hint="The account that your SEPA files pay from. It is stored encrypted and shown masked; to replace it, type the whole IBAN."
      />
      <Field name="debtor_bic" label="BIC" maxlength={11} hint="Only if your bank asks for it." />
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
          { value: "shown", label: "Show to partners" },
          { value: "hidden", label: "Hide from partners" },
        ]}
        hint="In the portal and its files, along with the rate of each commission. Partners who know their rate can still work out the amount."
      />
      <SelectField
        name="partner_links"
        label="Further links"
        options={[
          { value: "false", label: "One link for each partner" },
          { value: "true", label: "Partners add links with their own names" },
        ]}
        hint={`Up to ${MAX_OWN_SLUGS} for each partner. Each link belongs to its partner for good.`}
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
        label="Applications"
        options={[
          { value: "off", label: "Closed" },
          { value: "review", label: "Review each application" },
          { value: "auto", label: "Approve automatically" },
        ]}
        hint="People apply on your program's page and verify their e-mail address."
      />
      <Field
        name="slug"
        label="Address of the application page"
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
