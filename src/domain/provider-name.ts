/** The two payment providers, by their neutral names (IN-9). */
export const PROVIDER_NAMES = ["provider_a", "provider_b"] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
