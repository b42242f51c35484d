import { KEY_TROUBLES } from "./read-trouble.ts";

/** Why a thin event was not read: without an API key, with a test-mode one, or refused by the provider. */
export const UNREAD_REASONS = ["no_api_key", ...KEY_TROUBLES] as const;
export type UnreadReason = (typeof UNREAD_REASONS)[number];

/** Why a delivery is refused (IN-11): signature, secret, an undocumented shape, or unreadable data. */
export const REFUSAL_REASONS = [
  "no_signature",
  "wrong_signature",
  "time",
  "not_configured",
  "unparsable",
  ...UNREAD_REASONS,
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Whether a delivery was refused by its signature, which needs a stored secret to check. */
export function isAboutSignature(reason: RefusalReason): boolean {
  return reason === "no_signature" || reason === "wrong_signature" || reason === "time";
}

/** The program does not exist here: only the operator can be notified. */
export type UnownedRefusal = "unknown_program";

/** Whether the refused body may be an event of the provider's list, and so come from the provider. */
export function isMaybeListed(reason: RefusalReason): boolean {
  return reason === "unparsable";
}
