/**
 * Why a provider's list of events could not be read (IN-15): it does not accept the API key; the key lacks a permission;
 * it asks to come later; it gives no answer, or only that it failed; its answer is not of the documented form; it refuses
 * the request for another reason; or what was read could not be stored.
 */
export const READ_TROUBLES = [
  "api_key_refused",
  "permission_missing",
  "rate_limited",
  "unavailable",
  "unreadable",
  "refused",
  "not_stored",
] as const;
export type ReadTrouble = (typeof READ_TROUBLES)[number];
