/**
 * What an API key may do (ACCESS-10). `payouts`: decide that a partner is paid (ACCESS-13), pay, and see and change payout details. `keys`: make keys and see or change
 * secrets.
 */
export const SCOPES = ["read", "write", "payouts", "keys"] as const;

export type Scope = (typeof SCOPES)[number];

/** Keys that a program has beside its first, at most. */
export const MAX_API_KEYS = 50;
export const MAX_API_KEY_NAME = 100;

/** The first of the scopes that are needed and not held. */
export function missingScope(needed: readonly Scope[], held: readonly Scope[]): Scope | undefined {
  return needed.find((scope) => !held.includes(scope));
}
