export const PAYOUT_STATUSES = ["pending", "processing", "paid", "failed", "canceled"] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];
