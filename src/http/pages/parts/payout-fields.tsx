import type { Partner } from "../../../core/kernel/rows.ts";
import { WALLET_SERVICE } from "../../../domain/partner.ts";
import {
  FIELDS_OF,
  REQUIRED,
  namesMethodAlone,
  type DetailField,
  type GivenDetails,
} from "../../../domain/payout-details.ts";
import type { FormFields } from "../forms.ts";
import { Field, SelectField, type Option } from "./form.tsx";
import { PAYOUT_METHOD_OPTIONS } from "./payout-method.ts";

/** The names of the fields on pages. */
export const DETAIL_LABELS: Record<DetailField, string> = {
  email: `E-mail at ${WALLET_SERVICE}`,
  account: "Account",
  ...{ account_holder: "Account holder", country: "Country", currency: "Currency", iban: "IBAN", bic: "BIC" },
  ...{ account_number: "Account number", routing_number: "Routing number", sort_code: "Sort code", bsb: "BSB" },
  ...{ network: "Network", address: "Address" },
};

const HINTS: Partial<Record<DetailField, string>> = {
  country: "Two letters, such as DE.",
  currency: "Of the account, such as EUR.",
  iban: "Or the account number, with the code of the bank.",
  network: "Such as bitcoin.",
};

interface PayoutFieldsProps {
  /** The partner with its masked accounts; null for a new one. */
  stored: Pick<Partner, "bank_account" | "crypto_address"> | null;
  /** The label of the choice of the method, and the methods offered. */
  label: string;
  options?: readonly Option[];
}

/** The choice of the payout method, and the fields of each. Stored accounts are masked, and stay if they are left empty. */
export function PayoutFields({ stored, label, options = PAYOUT_METHOD_OPTIONS }: PayoutFieldsProps) {
  return (
    <div class="stack payout-fields">
      <SelectField name="payout_method" label={label} options={options} />
      <fieldset class="of-wallet">
        <Field
          name="payout_email"
          label={DETAIL_LABELS.email}
          type="email"
          autocomplete="email"
          maxlength={254}
          optional={false}
          hint={`Only for payouts by ${WALLET_SERVICE}.`}
        />
      </fieldset>
      <DetailFields
        class="of-bank_transfer"
        method="bank_transfer"
        title="Bank account"
        stored={stored?.bank_account ?? null}
      />
      <DetailFields class="of-crypto" method="crypto" title="Crypto address" stored={stored?.crypto_address ?? null} />
    </div>
  );
}

interface DetailFieldsProps {
  class: string;
  method: "bank_transfer" | "crypto";
  title: string;
  stored: string | null;
}

function DetailFields({ method, title, stored, ...rest }: DetailFieldsProps) {
  return (
    <fieldset class={rest.class}>
      <legend>{title}</legend>
      {stored === null ? null : (
        <p class="muted small">
          Saved: <code>{stored}</code>. Leave the fields empty to keep it.
        </p>
      )}
      <div class="fields two">
        {FIELDS_OF[method].map((name) => (
          <Field
            name={name}
            label={DETAIL_LABELS[name]}
            maxlength={200}
            autocomplete="off"
            hint={HINTS[name]}
            optional={stored !== null || !REQUIRED[method].includes(name)}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** The typed texts of the details, to show a refused form again. */
export function typedTexts(fields: FormFields | undefined): Record<string, string> {
  const names = [...FIELDS_OF.bank_transfer, ...FIELDS_OF.crypto];
  return Object.fromEntries(names.map((name) => [name, fields?.text(name) ?? ""]));
}

/** The typed details of the chosen method, or an empty object if its fields are empty. */
export function typedDetails(fields: FormFields): { details?: GivenDetails } {
  const method = fields.text("payout_method");
  if (method !== "bank_transfer" && method !== "crypto") return {};
  const typed: GivenDetails = { method };
  for (const name of FIELDS_OF[method]) typed[name] = fields.text(name);
  return namesMethodAlone(typed) ? {} : { details: typed };
}
