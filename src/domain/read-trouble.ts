/**
 * Why a provider did not give what was asked for with an API key: it does not accept the key; the key lacks a permission;
 * it asks to come later; it gives no answer, or only that it failed; its answer is not of the documented form; or it
 * refuses the request for another reason.
 */
export const VENDOR_TROUBLES = [
  "api_key_refused",
  "permission_missing",
  "rate_limited",
  "unavailable",
  "unreadable",
  "refused",
] as const;
export type VendorTrouble = (typeof VENDOR_TROUBLES)[number];

/** Whether it passes without anybody's doing, so that trying again soon is of use. */
export function isPassing(reason: VendorTrouble): boolean {
  return reason === "rate_limited" || reason === "unavailable";
}

/** Why nothing is read with an API key: one of these, or it is of the provider's test mode, and what is to be read is live. */
export const KEY_TROUBLES = [...VENDOR_TROUBLES, "test_key"] as const;
export type KeyTrouble = (typeof KEY_TROUBLES)[number];

/** Why its list of events could not be read (IN-15): one of these, or what was read could not be stored. */
export const READ_TROUBLES = [...KEY_TROUBLES, "not_stored"] as const;
export type ReadTrouble = (typeof READ_TROUBLES)[number];
