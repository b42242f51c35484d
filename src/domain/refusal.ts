/**
 * Why a delivery of a payment provider is refused before it counts as one (contract-2 §5): it carries no signature that
 * can be read, one that is not right, one of another time, or it is for a program that is not here.
 */
export const REFUSAL_REASONS = ["no_signature", "wrong_signature", "time", "unknown_program"] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];
