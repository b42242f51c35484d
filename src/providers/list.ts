/** The payment providers: one line for each folder, and the only one that a provider needs outside its folder. */
export { ownersServer } from "./api/index.ts";
export { providerA } from "./provider-a/index.ts";
export { providerB } from "./provider-b/index.ts";
