/** One customer, repeated reports of the partner who brought them, and the payments of their subscription. */
import * as fc from "fast-check";
import { vendorNamed } from "../../src/providers/registry.ts";
import type { WorldEvent } from "./ledger-world.ts";
import type { EventA } from "./provider-a-event.ts";
import {
  chargeRefunded,
  customerEvent,
  disputeClosed,
  disputeEvent,
  subscriptionEventA,
} from "./provider-a-changes.ts";
import { invoicePaid } from "./provider-a.ts";

const AMOUNT = 10_000;
const T0 = 1_780_000_000;
const CUSTOMER = "cus_1";
const SUBSCRIPTION = "sub_1";

/** Minutes after the beginning. */
const reference = fc.record({
  of: fc.constantFrom("subscription", "subscription", "subscription", "customer"),
  at: fc.nat(300),
});
const payment = fc.record({
  at: fc.integer({ min: 250, max: 400 }),
  ref: fc.constantFrom("ann", null, null, null, null, null),
  /** Percent. */
  refunded: fc.constantFrom(0, 0, 30, 100),
  dispute: fc.constantFrom("none", "none", "open", "won", "lost"),
});

export const rememberedWorld = fc.record({
  attribution: fc.constantFrom("first" as const, "last" as const),
  /**
   * The partners of `WORLD_PARTNERS` that are named in turns: two active ones, and possibly one who is not active yet.
   */
  named: fc.constantFrom(["ann", "Bob"], ["ann", "Bob"], ["Bob", "ivy", "ann"]),
  references: fc.uniqueArray(reference, { minLength: 3, maxLength: 6, selector: ({ at }) => at }),
  payments: fc.array(payment, { minLength: 1, maxLength: 2 }),
});
export type RememberedWorld = typeof rememberedWorld extends fc.Arbitrary<infer W> ? W : never;

/**
 * The keys of its payments, and all of the vendor's events, as they are understood; `moving` are the same events in an
 * order in which each new reference may give the payments to another partner.
 */
export function reportedOf({ attribution, named, references, payments }: RememberedWorld) {
  const later = attribution === "last" ? 1 : -1;
  const said = references
    .toSorted((a, b) => (a.at - b.at) * later)
    .map(({ of, at }, i) => {
      const created = T0 + at * 60;
      const ref = named[i % named.length]!;
      return of === "customer"
        ? customerEvent({ id: CUSTOMER, ref, created })
        : subscriptionEventA("customer.subscription.updated", { id: SUBSCRIPTION, customer: CUSTOMER, ref, created });
    })
    .map(understood);
  const paid = payments.flatMap((one, i) => eventsOfPayment(one, String(i))).map(understood);
  return { keys: payments.map((_, i) => `in_${i}`), events: [...said, ...paid], moving: [...paid, ...said] };
}

function eventsOfPayment({ at, ref, refunded, dispute }: RememberedWorld["payments"][number], n: string): EventA[] {
  const pay = { payment_intent: `pi_${n}`, charge: `ch_${n}` };
  const created = T0 + at * 60;
  const invoice = { id: `in_${n}`, ref, amount: AMOUNT, customer: CUSTOMER, subscription: SUBSCRIPTION, ...pay };
  const disputed = { id: `dp_${n}`, ...pay, amount: AMOUNT };
  return [
    invoicePaid({ ...invoice, email: "buyer@example.com", shape: "old", created }),
    ...(refunded === 0
      ? []
      : [chargeRefunded({ ...pay, amount: AMOUNT, refunded: (AMOUNT * refunded) / 100, created: created + 60 })]),
    ...(dispute === "none" ? [] : [disputeEvent("charge.dispute.created", { ...disputed, created: created + 120 })]),
    ...(dispute === "won" || dispute === "lost"
      ? [disputeClosed({ ...disputed, status: dispute, created: created + 180 })]
      : []),
  ];
}

function understood(event: EventA): WorldEvent {
  const parsed = vendorNamed("provider_a")!.parse(JSON.parse(JSON.stringify(event)));
  if (!parsed.ok) throw new Error(`a maker made an event that does not parse: ${JSON.stringify(parsed.details)}`);
  return { provider: "provider_a", event: parsed.event };
}
