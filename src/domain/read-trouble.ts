/**
 * Why a request to a provider with an API key failed: the key is refused; the key lacks a permission; the rate limit is
 * reached; there is no answer, or a server error; the answer is not of the documented form; or the provider refuses the
 * request for another reason.
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

/** Whether the failure passes without action, so that an early retry is useful. */
export function isTemporary(reason: VendorTrouble): boolean {
  return reason === "rate_limited" || reason === "unavailable";
}

/** Why an API key cannot be used: one of these, or it is a test-mode key and the data is live. */
export const KEY_TROUBLES = [...VENDOR_TROUBLES, "test_key"] as const;
export type KeyTrouble = (typeof KEY_TROUBLES)[number];

/** Why the provider's list of events could not be read (IN-15): one of these, or its content could not be stored. */
export const READ_TROUBLES = [...KEY_TROUBLES, "not_stored"] as const;
export type ReadTrouble = (typeof READ_TROUBLES)[number];
