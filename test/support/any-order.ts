/** A program's earnings from provider A's events, in each order of them. */
import { expect } from "vitest";
import { ledgerOf, sendA } from "./ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "./program.ts";
import type { EventA } from "./provider-a.ts";

async function shop(): Promise<TestProgram> {
  const program = await makeProgram();
  await makePartner(program, { slug: "jane" });
  return program;
}

/** The earnings by payment, in words that do not depend on the order of deliveries. */
export async function earnedAfter(events: readonly EventA[]) {
  const program = await shop();
  for (const event of events) expect((await sendA(program, event)).status).toBe(200);
  const { payments, commissions } = await ledgerOf(program);
  return {
    payments: payments
      .filter(({ outcome }) => outcome !== "merged")
      .map(({ outcome, txn_amount_cents, gross_cents, adjusted_cents, created_at }) => ({
        ...{ outcome, txn_amount_cents, gross_cents, adjusted_cents, created_at },
      })),
    commissions: commissions
      .filter(({ status }) => status !== "rejected")
      .map(({ amount_cents, flagged, created_at }) => ({ amount_cents, flagged, created_at })),
  };
}

/** Each order of them. */
export function orders<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]];
  return all.flatMap((first, i) => orders(all.toSpliced(i, 1)).map((rest) => [first, ...rest]));
}

/** The earnings after these events, which must be the same in each order of them. */
export async function inAnyOrder(events: readonly EventA[]) {
  const [first, ...others] = orders(events);
  const earned = await earnedAfter(first!);
  for (const order of others) expect(await earnedAfter(order), order.map(({ type }) => type).join()).toEqual(earned);
  return earned;
}
