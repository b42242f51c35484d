/** A customer that the owner has erased (JOB-1): the address goes, sums and rules stay. */
import type { State } from "./model-state.ts";

export function customerOf({ provider, customer }: { provider: string; customer: string | null }): string {
  return `${provider} ${customer}`;
}

/** All payments with this address lose it; the rules by which they earn stay. */
export function erase(state: State, email: string, now: number): void {
  const own = Object.values(state.purchases).filter(({ said }) => said.some((one) => one.email === email));
  const customers = new Set([...state.erased.customers, ...own.map(customerOf)]);
  state.erased = { customers: [...customers], addresses: { ...state.erased.addresses, [email]: now } };
  for (const [key, purchase] of Object.entries(state.purchases)) {
    if (!own.some((one) => customerOf(one) === customerOf(purchase))) continue;
    state.purchases[key] = { ...purchase, said: purchase.said.map((one) => ({ ...one, email: null })) };
    const sale = state.sales[key];
    if (sale) state.sales[key] = { ...sale, kept: sale.rule !== null };
  }
}

/** The kept address of an event: after an erasure by address alone, only later events keep it. */
export function keptAddress(state: State, customer: string, email: string | null, at: number): string | null {
  const { customers, addresses } = state.erased;
  if (customers.includes(customer)) return null;
  if (email === null || (addresses[email] ?? Number.NEGATIVE_INFINITY) < at) return email;
  state.erased = { customers: [...customers, customer], addresses };
  return null;
}
