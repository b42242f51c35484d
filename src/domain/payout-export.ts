/** Files by which payouts are paid (OUT-22). */
export const FILE_FORMATS = ["wallet", "bank", "wise", "sepa"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export const EXPORT_STATUSES = ["open", "paid", "canceled"] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

/**
 * `back`: the payout is pending again, by `except` or because the file was canceled. `failed`: a result file reported
 * that it was not paid (OUT-28).
 */
export type ExportItemStatus = "open" | "paid" | "back" | "failed";

/** Why a payout of the method is not in a file; `not_in_format`: the format cannot contain its account or amount. */
export const LEFT_OUT_REASONS = ["details_missing", "details_unreadable", "not_in_format", "held"] as const;
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];

/** The account that a SEPA file pays from (OUT-27). */
export interface Debtor {
  name: string;
  iban: string;
  bic: string | null;
}

/** The effect of a line of a result file on its payout (OUT-28). A `problem` contradicts the stored rows, and is skipped. */
export const RESULT_OUTCOMES = ["paid", "failed", "returned", "unchanged", "problem"] as const;
export type ResultOutcome = (typeof RESULT_OUTCOMES)[number];
