/** The payment providers: one line for each folder, the only line outside the folder that a provider needs. */
export { ownersServer } from "./api/index.ts";
export { providerA } from "./provider-a/index.ts";
export { providerB } from "./provider-b/index.ts";
