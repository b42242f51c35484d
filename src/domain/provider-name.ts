/** The neutral name of a payment provider that reports by webhooks (IN-9). */
export type VendorName = `provider_${string}`;

/**
 * A provider's name in API and database; other versions may have stored further ones. `api` is the owner's server
 * (FACT-1).
 */
export type ProviderName = VendorName | "api";
