/** The neutral name of a payment provider that reports by webhooks (IN-9). */
export type VendorName = `provider_${string}`;

/**
 * The name of a provider, a value of the API and the database. `providers/list.ts` defines which exist; an older or
 * newer version may have stored others. `api` is the owner's server (FACT-1).
 */
export type ProviderName = VendorName | "api";
