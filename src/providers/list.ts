/** The payment providers: one line for each folder. Outside the folder only the log knows more: the form of secrets. */
export { ownersServer } from "./api/index.ts";
export { providerA } from "./provider-a/index.ts";
export { providerB } from "./provider-b/index.ts";
