/**
 * The neutral name of a payment provider (IN-9): a value of the API and of the database. Which there are is said by
 * `providers/list.ts` alone; what an older or newer version stored can have another.
 */
export type ProviderName = `provider_${string}`;
