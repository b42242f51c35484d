/** The forms of the files by which payouts are paid (OUT-22, OUT-27). */
import { csvRecord, type CsvCell } from "../../domain/csv.ts";
import { decimalAmount, walletAmount } from "../../domain/currency.ts";
import type { PayoutMethod } from "../../domain/partner.ts";
import type { BankDetails } from "../../domain/payout-details.ts";
import type { Debtor, FileFormat, LeftOutReason } from "../../domain/payout-export.ts";
import type { Recipient } from "../../domain/recipient.ts";
import { fitsSepa, SEPA_CURRENCY, SEPA_FOOT, sepaHead, sepaTransfer } from "../../domain/sepa.ts";
import { WISE_CURRENCIES, fitsWise, wiseHead, wiseRow } from "../../domain/wise.ts";
import type { Occurrence } from "../kernel/commit.ts";
import type { Payout, PayoutExport } from "../kernel/rows.ts";

/** A payout in a file, with its recipient as frozen. */
type FileRow = Pick<Payout, "id" | "amount_cents" | "currency"> & { to: Recipient };

type FileHead = PayoutExport & { debtor: Debtor | null };

interface Format {
  method: PayoutMethod;
  /** The most payouts in one file. */
  most: number;
  /** The currencies of which files can be made; all if absent. */
  currencies?: readonly string[];
  /** Whether the file names the account that pays. */
  needs_debtor?: true;
  /** Why a file cannot contain a payout; null if it can. */
  problem: (row: FileRow) => LeftOutReason | null;
  head?: (file: FileHead) => string;
  row: (row: FileRow) => string;
  foot?: string;
  /** An amount as the file has it. */
  amount: (amount_cents: Payout["amount_cents"], currency: string) => string;
  media_type: string;
  extension: string;
}

const CSV = { media_type: "text/csv; charset=utf-8; header=present", extension: "csv" };

interface BankFormat extends Omit<Format, "method" | "problem" | "row" | "amount"> {
  fits: (to: BankDetails, row: FileRow) => boolean;
  row: (row: Omit<FileRow, "to"> & { to: BankDetails }) => string;
}

/** A format of bank transfers: several have this method. */
function bankFormat({ fits, row, ...rest }: BankFormat): Format {
  return {
    ...rest,
    method: "bank_transfer",
    amount: decimalAmount,
    problem: (given) => {
      const to = bankOf(given);
      if (to === null) return "details_missing";
      return fits(to, given) ? null : "not_in_format";
    },
    row: (given) => row({ ...given, to: bankOf(given)! }),
  };
}

function bankOf({ to }: FileRow): BankDetails | null {
  return to.details?.method === "bank_transfer" ? to.details : null;
}

const BANK_COLUMNS = [
  ...["payout_id", "account_holder", "country", "iban", "bic", "account_number", "bank_code"],
  ...["amount", "currency", "reference"],
];

export const FORMATS: Record<FileFormat, Format> = {
  // PayPal's upload: at most 5,000 payouts, no header, a note that is typed at the upload.
  wallet: {
    ...{ method: "wallet", most: 5_000, media_type: "text/csv; charset=utf-8; header=absent", extension: "csv" },
    problem: ({ to }) => (to.payout_email === null ? "details_missing" : null),
    amount: walletAmount,
    row: ({ id, amount_cents, currency, to }) =>
      // A changed address, even by an apostrophe, would be another person's. An address cannot be a harmful formula.
      csvRecord([{ exact: to.payout_email ?? "" }, walletAmount(amount_cents, currency), currency, id, null, "PAYPAL"]),
  },
  bank: bankFormat({
    ...CSV,
    most: 5_000,
    fits: () => true,
    head: () => csvRecord(BANK_COLUMNS),
    row: ({ id, amount_cents, currency, to }) =>
      csvRecord([id, ...accountCells(to), decimalAmount(amount_cents, currency), currency, id]),
  }),
  wise: bankFormat({
    ...CSV,
    most: 1_000,
    currencies: WISE_CURRENCIES,
    fits: (to, { currency }) => fitsWise(to, currency),
    head: ({ currency }) => wiseHead(currency),
    row: wiseRow,
  }),
  sepa: bankFormat({
    ...{ most: 5_000, currencies: [SEPA_CURRENCY], needs_debtor: true },
    ...{ media_type: "application/xml; charset=utf-8", extension: "xml" },
    fits: (to, { amount_cents }) => fitsSepa({ amount_cents, to }),
    head: ({ debtor, ...file }) => sepaHead({ ...file, debtor: debtor! }),
    row: sepaTransfer,
    foot: SEPA_FOOT,
  }),
};

function accountCells(to: BankDetails): CsvCell[] {
  const { account_holder, country, iban, bic, account_number, routing_number, sort_code, bsb } = to;
  const code = routing_number ?? sort_code ?? bsb;
  return [account_holder, country, iban ?? null, bic ?? null, account_number ?? null, code ?? null];
}

/** Why a file cannot contain a payout that has details; null if it can. */
export function leftOutBecause(
  format: FileFormat,
  row: Omit<FileRow, "to">,
  to: Recipient | null,
): LeftOutReason | null {
  return to === null ? "details_unreadable" : FORMATS[format].problem({ ...row, to });
}

/** Each reading of the payees' details is an event. */
export function exportedEvent({ id, format, currency, count }: PayoutExport): Occurrence {
  return { type: "payout.exported", payload: { export_id: id, format, status: null, currency, count } };
}
