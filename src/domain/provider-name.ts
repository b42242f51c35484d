/** The neutral name of a payment provider that reports by webhooks (IN-9). */
export type VendorName = `provider_${string}`;

/**
 * The name of a provider: a value of the API and of the database. Which there are is said by `providers/list.ts` alone;
 * what an older or newer version stored can have another. `api` is what the owner's server reports (FACT-1).
 */
export type ProviderName = VendorName | "api";
