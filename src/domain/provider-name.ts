/** The two payment providers, by their neutral names (contract §1). */
export const PROVIDER_NAMES = ["provider_a", "provider_b"] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
