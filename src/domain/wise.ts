/** The file of Wise's batch payments, by the template "Send to bank accounts" (OUT-27). */
import { csvRecord } from "./csv.ts";
import { decimalAmount } from "./currency.ts";
import type { Cents } from "./money.ts";
import type { BankDetails, BankField } from "./payout-details.ts";

/** The columns of the account and the fields that fill them, and the text for the recipient. */
interface Template {
  columns: readonly (readonly [column: string, field: BankField])[];
  referenceOf: (payout_id: string) => string;
}

const BY_IBAN: Template = { columns: [["IBAN", "iban"]], referenceOf: (id) => id };

/** The end of a payout's id: British and Australian banks take 18 characters. */
export function wiseReference(payout_id: string): string {
  return payout_id.slice(-18);
}

const account = (column: string, field: BankField): Template => ({
  columns: [
    [column, field],
    ["accountNumber", "account_number"],
  ],
  referenceOf: wiseReference,
});

/** Currencies that Wise sends to an IBAN, or to an account number and a code (docs.wise.com, Create a recipient account). */
const TEMPLATES = new Map<string, Template>([
  ...["CHF", "DKK", "EUR", "GEL", "NOK", "PKR", "PLN", "RON", "SEK"].map((currency) => [currency, BY_IBAN] as const),
  ["GBP", account("sortCode", "sort_code")],
  ["AUD", account("bsbCode", "bsb")],
]);

export const WISE_CURRENCIES: readonly string[] = [...TEMPLATES.keys()];

const COLUMNS = [
  ...["name", "recipientEmail", "paymentReference", "receiverType"],
  ...["amountCurrency", "amount", "sourceCurrency", "targetCurrency"],
];

export function fitsWise(to: BankDetails, currency: string): boolean {
  return templateOf(currency).columns.every(([, field]) => to[field] !== undefined);
}

export function wiseHead(currency: string): string {
  return csvRecord([...COLUMNS, ...templateOf(currency).columns.map(([column]) => column)]);
}

/** The recipient gets the exact amount. */
export function wiseRow(payout: { id: string; amount_cents: Cents; currency: string; to: BankDetails }): string {
  const { id, amount_cents, currency, to } = payout;
  const { columns, referenceOf } = templateOf(currency);
  return csvRecord([
    ...[to.account_holder, null, referenceOf(id), "PERSON"],
    ...["target", decimalAmount(amount_cents, currency), currency, currency],
    ...columns.map(([, field]) => to[field] ?? null),
  ]);
}

function templateOf(currency: string): Template {
  return TEMPLATES.get(currency) ?? BY_IBAN;
}
