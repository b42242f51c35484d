/**
 * What the subject of a fact is: an id of a payment, a subscription or a customer, or (`email`) the `emailKey` of a
 * customer's address. `address` finds what was said of a customer's address, by the customer's id; with `email` the same
 * facts are found by the address. `coded` finds the payments and uses that carry a code, by its id, also in lower case;
 * `code` what was said of codes, by the name in lower case and by the ids of what a code was made from. `sum`
 * finds the payments of a customer by what was taken and when (`core/ledger/twins.ts`).
 */
export type FactScope = "payment" | "subscription" | "customer" | "email" | "address" | "coded" | "code" | "sum";

/** Whether the subjects of a scope are addresses of people: an erasure deletes them, and after it none is stored. */
const IS_ADDRESS: Record<FactScope, boolean> = {
  ...{ payment: false, subscription: false, customer: false, address: false, coded: false, code: false, sum: false },
  email: true,
};
export const ADDRESS_SCOPES = (Object.keys(IS_ADDRESS) as FactScope[]).filter((scope) => IS_ADDRESS[scope]);

/** `email` is a hash of the address. */
export type ErasedScope = Exclude<FactScope, "address" | "coded" | "code" | "sum">;
