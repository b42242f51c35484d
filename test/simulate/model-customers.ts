/** The payments of one customer, and the place of each among them (FLOW-14). */
import { emailOf, idOf, moneyOf, occurredAt, type Purchase } from "./model-facts.ts";
import { placeAmong, type Place } from "./model-flows.ts";
import type { State } from "./model-state.ts";

/** The customer's other payments. */
export function ofCustomer({ purchases }: State, key: string): string[] {
  const own = purchases[key]!;
  return Object.entries(purchases).flatMap(([other, one]) =>
    other !== key && areOfOneCustomer(own, one) ? [other] : [],
  );
}

/** "A payment counts if it is completed and above 0 net of tax; a refund does not undo that." */
export function placeOf(state: State, key: string): Place {
  const counted = ofCustomer(state, key).flatMap((other) => {
    const purchase = state.purchases[other]!;
    if (!purchase.said.some(({ paid }) => paid) || moneyOf(purchase).base <= 0) return [];
    const hasPartner = (state.sales[other]?.partner ?? null) !== null;
    return [{ at: occurredAt(purchase), id: idOf(other, purchase), hasPartner }];
  });
  const own = state.purchases[key]!;
  return placeAmong({ at: occurredAt(own), id: idOf(key, own) }, counted);
}

/** Whether two purchases are of one customer: the same id at one provider, or the same address. */
function areOfOneCustomer(one: Purchase, other: Purchase): boolean {
  if (one.customer !== null && one.provider === other.provider && one.customer === other.customer) return true;
  const email = emailOf(one)?.toLowerCase();
  return email !== undefined && email === emailOf(other)?.toLowerCase();
}
