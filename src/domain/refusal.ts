import { KEY_TROUBLES } from "./read-trouble.ts";

/**
 * Why an event that only names what happened could not be read: the program has no API key to read it with, or one of test
 * mode, or the provider did not give it.
 */
export const UNREAD_REASONS = ["no_api_key", ...KEY_TROUBLES] as const;
export type UnreadReason = (typeof UNREAD_REASONS)[number];

/**
 * Why a delivery of a payment provider is refused (IN-11): it carries no signature that can be read, one that is
 * not right, or one of another time; the program has no secret to verify it with; it is signed and not of a documented
 * shape; or it could not be read.
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

/** It is for a program that is not here: nobody but the operator can be notified. */
export type UnownedRefusal = "unknown_program";

/** Whether what was refused may be no delivery but an event of the provider's list; then it is the provider's, not anybody's. */
export function isMaybeListed(reason: RefusalReason): boolean {
  return reason === "unparsable";
}
