/**
 * The kind of a fact's subject: an id of a payment, a subscription or a customer, or (`email`) the `emailKey` of a
 * customer's address. `address` finds facts about a customer's address by the customer's id; with `email` the same
 * facts are found by the address. `coded` finds the payments and uses that carry a code, by its id, also in lower case;
 * `code` finds facts about codes, by the name in lower case and by the ids of their sources. `sum` finds the payments
 * of a customer by amount and time (`core/ledger/facts.ts`).
 */
export type FactScope = "payment" | "subscription" | "customer" | "email" | "address" | "coded" | "code" | "sum";

/** Whether the subjects of a scope are people's addresses: an erasure deletes them and prevents new ones. */
const IS_ADDRESS: Record<FactScope, boolean> = {
  ...{ payment: false, subscription: false, customer: false, address: false, coded: false, code: false, sum: false },
  email: true,
};
export const ADDRESS_SCOPES = (Object.keys(IS_ADDRESS) as FactScope[]).filter((scope) => IS_ADDRESS[scope]);

/** `email` is a hash of the address. */
export type ErasedScope = Exclude<FactScope, "address" | "coded" | "code" | "sum">;
