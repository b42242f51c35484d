/** Scopes of an API key (ACCESS-10). `payouts`: decide, pay, see details (ACCESS-13). `keys`: keys and secrets. */
export const SCOPES = ["read", "write", "payouts", "keys"] as const;

export type Scope = (typeof SCOPES)[number];

/** API keys that a program may have in addition to its first. */
export const MAX_API_KEYS = 50;
export const MAX_API_KEY_NAME = 100;

/** The first required scope that is missing. */
export function missingScope(needed: readonly Scope[], held: readonly Scope[]): Scope | undefined {
  return needed.find((scope) => !held.includes(scope));
}
