/** The payment providers: one line for each folder, and the only one that a provider needs outside its folder. */
export { providerA } from "./provider-a/index.ts";
export { providerB } from "./provider-b/index.ts";
