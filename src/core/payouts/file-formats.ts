/** The forms of the files by which payouts are paid (OUT-22). */
import { csvRecord } from "../../domain/csv.ts";
import { walletAmount } from "../../domain/currency.ts";
import type { PayoutMethod } from "../../domain/partner.ts";
import type { FileFormat, LeftOutReason } from "../../domain/payout-export.ts";
import type { Recipient } from "../../domain/recipient.ts";
import type { Occurrence } from "../kernel/commit.ts";
import type { Payout, PayoutExport } from "../kernel/rows.ts";

/** A payout in a file, with its recipient as frozen. */
type FileRow = Pick<Payout, "id" | "amount_cents" | "currency"> & { to: Recipient };

interface Format {
  method: PayoutMethod;
  /** The most payouts in one file. */
  most: number;
  /** Whether a file can name this recipient. */
  fits: (to: Recipient) => boolean;
  row: (row: FileRow) => string;
  media_type: string;
  extension: string;
}

export const FORMATS: Record<FileFormat, Format> = {
  // PayPal's upload: at most 5,000 payouts, no header, a note that is typed at the upload.
  wallet: {
    ...{ method: "wallet", most: 5_000, media_type: "text/csv; charset=utf-8; header=absent", extension: "csv" },
    fits: ({ payout_email }) => payout_email !== null,
    row: ({ id, amount_cents, currency, to }) =>
      // A changed address, even by an apostrophe, would be another person's. An address cannot be a harmful formula.
      csvRecord([{ exact: to.payout_email ?? "" }, walletAmount(amount_cents, currency), currency, id, null, "PAYPAL"]),
  },
};

/** Why a file cannot contain a payout that has details; null if it can. */
export function leftOutBecause(format: FileFormat, to: Recipient | null): LeftOutReason | null {
  if (to === null) return "details_unreadable";
  return FORMATS[format].fits(to) ? null : "details_missing";
}

/** Each reading of the payees' details is an event. */
export function exportedEvent({ id, format, currency, count }: PayoutExport): Occurrence {
  return { type: "payout.exported", payload: { export_id: id, format, status: null, currency, count } };
}
