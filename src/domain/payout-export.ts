/** Files by which payouts are paid (OUT-22). */
export const FILE_FORMATS = ["wallet"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export const EXPORT_STATUSES = ["open", "paid", "canceled"] as const;
export type ExportStatus = (typeof EXPORT_STATUSES)[number];

/** `back`: the payout is pending again, by `except` or because the file was canceled. */
export type ExportItemStatus = "open" | "paid" | "back";

/** Why a pending payout is not in a file of its method. */
export const LEFT_OUT_REASONS = ["details_missing", "details_unreadable"] as const;
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number];
