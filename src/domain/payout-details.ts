/** The payout details of each method, and their checks (OUT-23). */
import { isCurrency } from "./currency.ts";
import { BIC_PATTERN, ibanProblem, tidyIban } from "./iban.ts";
import { maskAccount, maskAddress, maskIban, maskText } from "./mask.ts";
import { TRANSFER_METHOD, type PayoutMethod } from "./partner.ts";

/** The codes of a bank or branch, one of which goes with an account number. */
export const ROUTING_FIELDS = ["routing_number", "sort_code", "bsb"] as const;
type RoutingField = (typeof ROUTING_FIELDS)[number];

/** A bank account: an IBAN, or an account number and one of `ROUTING_FIELDS`. */
export interface BankAccount extends Partial<Record<RoutingField, string>> {
  account_holder: string;
  /** ISO 3166-1 alpha-2. */
  country: string;
  /** ISO 4217: the account's currency. */
  currency: string;
  iban?: string;
  bic?: string;
  account_number?: string;
}

export interface CryptoAddress {
  network: string;
  address: string;
}

export type BankDetails = { method: "bank_transfer" } & BankAccount;

/** The details of one method. */
export type PayoutDetails =
  | { method: "wallet"; email: string }
  | BankDetails
  | ({ method: "crypto" } & CryptoAddress)
  | { method: typeof TRANSFER_METHOD; account: string };

const BANK_FIELDS = [
  "account_holder",
  "country",
  "currency",
  "iban",
  "bic",
  "account_number",
  ...ROUTING_FIELDS,
] as const;

/** The fields of each method, in the order of forms. */
export const FIELDS_OF = {
  wallet: ["email"],
  [TRANSFER_METHOD]: ["account"],
  bank_transfer: BANK_FIELDS,
  crypto: ["network", "address"],
} as const satisfies Record<PayoutMethod, readonly string[]>;

export type BankField = (typeof BANK_FIELDS)[number];
export type DetailField = (typeof FIELDS_OF)[PayoutMethod][number];

/** The details as typed: the fields of one method. */
type TypedDetails = { [F in DetailField]?: string | null | undefined };
export type GivenDetails = TypedDetails & { method: PayoutMethod | null };

/** The column of a partner that is null without details of the method; of sealed details it is the masked text. */
export const COLUMN_OF = {
  wallet: "payout_email",
  [TRANSFER_METHOD]: "provider_a_account_id",
  bank_transfer: "bank_account",
  crypto: "crypto_address",
} as const satisfies Record<PayoutMethod, string>;

/** Whether a request names a method alone, which means its stored details. */
export function namesMethodAlone({ method: _, ...given }: GivenDetails): boolean {
  return Object.values(given).every((text) => text == null || text.trim() === "");
}

export interface FieldProblem {
  path: DetailField;
  message: string;
}

/** The fields that each method always needs. */
export const REQUIRED: Record<PayoutMethod, readonly DetailField[]> = {
  ...{ wallet: ["email"], [TRANSFER_METHOD]: ["account"], crypto: ["network", "address"] },
  bank_transfer: ["account_holder", "country", "currency"],
};

/** Checks the details as typed, and normalizes them: spaces and the case of codes do not matter. */
export function readDetails({
  method,
  ...given
}: TypedDetails & { method: PayoutMethod }): { ok: true; value: PayoutDetails } | { ok: false; problem: FieldProblem } {
  const refuse = (path: DetailField, message: string) => ({ ok: false, problem: { path, message } }) as const;
  const own: readonly DetailField[] = FIELDS_OF[method];
  const values: Partial<Record<DetailField, string>> = {};
  for (const [field, text] of Object.entries(given) as [DetailField, string | null | undefined][]) {
    if (text == null || text.trim() === "") continue;
    if (!own.includes(field)) return refuse(field, `This is not a field of the method ${method}.`);
    values[field] = tidy(field, text);
  }
  const missing = REQUIRED[method].find((field) => values[field] === undefined);
  if (missing) return refuse(missing, "This is required.");
  for (const field of own) {
    const message = values[field] === undefined ? null : (CHECKS[field]?.(values[field], values) ?? null);
    if (message !== null) return refuse(field, message);
  }
  const problem = method === "bank_transfer" ? accountProblem(values) : null;
  if (problem) return { ok: false, problem };
  return { ok: true, value: { method, ...values } as PayoutDetails };
}

function tidy(field: DetailField, text: string): string {
  if (field === "iban" || field === "bic") return tidyIban(text);
  if (field === "country" || field === "currency") return text.trim().toUpperCase();
  const isNumber = field === "account_number" || ROUTING_FIELDS.some((routing) => routing === field);
  return isNumber ? text.replaceAll(/[\s-]/g, "").toUpperCase() : text.trim();
}

type Check = (text: string, values: Partial<Record<DetailField, string>>) => string | null;

const matches = (pattern: RegExp, message: string) => (text: string) => (pattern.test(text) ? null : message);

const CHECKS: Partial<Record<DetailField, Check>> = {
  account_holder: matches(/^\P{C}{1,140}$/u, "A name has at most 140 characters."),
  currency: (text) => (isCurrency(text) ? null : "This must be an ISO 4217 code, such as USD."),
  account: matches(/^acct_\w{1,100}$/, "This is not the id of a connected account: acct_…"),
  iban: ibanProblem,
  bic: matches(BIC_PATTERN, "A BIC has 8 or 11 letters and digits."),
  country: matches(/^[A-Z]{2}$/, "This must be a country code of two letters, such as DE."),
  account_number: matches(/^[A-Z0-9]{4,34}$/, "An account number has 4 to 34 digits or letters."),
  routing_number: (text, { country }) => (country === "US" ? usRoutingProblem(text) : routingProblem(text)),
  sort_code: matches(/^\d{6}$/, "A sort code has 6 digits."),
  bsb: matches(/^\d{6}$/, "A BSB has 6 digits."),
  network: matches(/^[\w .-]{2,40}$/, "A network has 2 to 40 letters or digits, such as bitcoin."),
  address: matches(/^[\w:.-]{8,200}$/, "An address has 8 to 200 letters or digits."),
};

const routingProblem = matches(/^[A-Z0-9]{3,20}$/, "A routing number has 3 to 20 digits or letters.");

/** The checksum of the American Bankers Association: weights 3, 7, 1. */
function usRoutingProblem(text: string): string | null {
  const digits = /^\d{9}$/.test(text) ? Array.from(text, Number) : [];
  const sum = digits.reduce((total, digit, i) => total + digit * [3, 7, 1][i % 3]!, 0);
  return digits.length === 9 && sum % 10 === 0
    ? null
    : "This is not a routing number of the USA: 9 digits with a checksum.";
}

function accountProblem(values: Partial<Record<DetailField, string>>): FieldProblem | null {
  const routing = ROUTING_FIELDS.filter((field) => values[field] !== undefined);
  if (values.iban !== undefined) {
    const other = values.account_number === undefined ? routing[0] : "account_number";
    return other === undefined
      ? null
      : { path: other, message: "An IBAN needs no account number or code of the bank." };
  }
  if (values.account_number === undefined) return { path: "iban", message: "Give the IBAN, or the account number." };
  if (routing[0] === undefined) {
    return { path: "routing_number", message: `An account number needs one of ${ROUTING_FIELDS.join(", ")}.` };
  }
  return routing[1] === undefined ? null : { path: routing[1], message: "Give one code of the bank." };
}

/** One line for people who do not pay by it: `DE** **** **** **** **30 00`. */
export function maskDetails(details: PayoutDetails): string {
  if (details.method === "wallet") return maskAddress(details.email);
  if (details.method === "crypto") return `${details.network}: ${maskText(details.address)}`;
  if (details.method === TRANSFER_METHOD) return maskAccount(details.account);
  if (details.iban !== undefined) return maskIban(details.iban);
  return `${details.country}: ${maskText(details.account_number ?? "")}`;
}

/** Each field masked, except those that many accounts share. */
export function maskFields(details: PayoutDetails): PayoutDetails {
  switch (details.method) {
    case "wallet":
      return { ...details, email: maskAddress(details.email) };
    case "crypto":
      return { ...details, address: maskText(details.address) };
    case TRANSFER_METHOD:
      return { ...details, account: maskAccount(details.account) };
    case "bank_transfer": {
      const { iban, account_number, account_holder } = details;
      return {
        ...details,
        account_holder: maskText(account_holder),
        ...(iban === undefined ? {} : { iban: maskIban(iban) }),
        ...(account_number === undefined ? {} : { account_number: maskText(account_number) }),
      };
    }
  }
}
