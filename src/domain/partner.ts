export const PARTNER_STATUSES = ["invited", "active", "deactivated"] as const;
export type PartnerStatus = (typeof PARTNER_STATUSES)[number];

export const PAYOUT_METHODS = ["wallet", "provider_a", "bank_transfer", "crypto"] as const;
export type PayoutMethod = (typeof PAYOUT_METHODS)[number];

/** `[A-Za-z0-9_-]{1,64}` (contract §4); the tracking script checks the same alphabet. */
export const SLUG_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** Slugs are unique ignoring case: the form under which they are compared. */
export function slugKey(slug: string): string {
  return slug.toLowerCase();
}
