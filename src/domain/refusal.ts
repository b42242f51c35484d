import { KEY_TROUBLES } from "./read-trouble.ts";

/**
 * Why an event that contains only a reference to its data could not be read: the program has no API key for it, or a
 * test-mode one, or the provider did not return the data.
 */
export const UNREAD_REASONS = ["no_api_key", ...KEY_TROUBLES] as const;
export type UnreadReason = (typeof UNREAD_REASONS)[number];

/**
 * Why a provider's delivery is refused (IN-11): its signature is unreadable, wrong or too old; the program has no
 * secret to verify it; it is signed but not of a documented shape; or it could not be read.
 */
export const REFUSAL_REASONS = [
  "no_signature",
  "wrong_signature",
  "time",
  "not_configured",
  "unparsable",
  ...UNREAD_REASONS,
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** The program does not exist here: only the operator can be notified. */
export type UnownedRefusal = "unknown_program";

/**
 * Whether the refused body may be an event of the provider's list and not a forged delivery; then it comes from the
 * provider.
 */
export function isMaybeListed(reason: RefusalReason): boolean {
  return reason === "unparsable";
}
