/**
 * Why a delivery of a payment provider is refused (IN-11): it carries no signature that can be read, one that is
 * not right, or one of another time; the program has no secret to verify it with; it is signed and not of a documented
 * shape.
 */
export const REFUSAL_REASONS = ["no_signature", "wrong_signature", "time", "not_configured", "unparsable"] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** It is for a program that is not here: nobody but the operator can be notified. */
export type UnownedRefusal = "unknown_program";
