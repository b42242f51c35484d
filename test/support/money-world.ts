/**
 * Random lives of customers: what they buy, are credited, get back and dispute at either provider. A played vendor lives
 * them: it reports each in its own events, and keeps what really happened beside it.
 */
import * as fc from "fast-check";
import type { ProviderEvent } from "../../src/providers/provider.ts";
import { providerA } from "../../src/providers/provider-a.ts";
import { providerB } from "../../src/providers/provider-b.ts";
import type { ModelFlow, Said, Truth } from "./money-model.ts";
import { VendorA } from "./money-vendor-a.ts";
import { VendorB } from "./money-vendor-b.ts";
import type { EventA } from "./provider-a.ts";
import type { EventB } from "./provider-b.ts";

/** Partners in either case, of every status; a shop's own numbers, another product's slug, one that nobody has. */
const slug = fc.constantFrom("ann", "ANN", "Bob", "ivy", "dan", "cart-77", "user_9", "other-product", null, null);

const amount = fc.oneof(
  fc.integer({ min: 1, max: 30 }),
  fc.integer({ min: 100, max: 30_000 }),
  fc.integer({ min: 1, max: 900_000_000 }),
);

const chapter = fc.oneof(
  { weight: 3, arbitrary: bought("buy") },
  { weight: 3, arbitrary: bought("subscribe") },
  { weight: 4, arbitrary: bought("renew") },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("downgrade" as const), amount, ref: slug }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("credit" as const), amount }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("refund" as const),
      pick: fc.nat(9),
      /** Percent of what is left. */
      share: fc.constantFrom(0, 10, 33, 50, 51, 100),
      ends: fc.constantFrom("holds", "holds", "fails", "fails later", "waits"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("dispute" as const),
      pick: fc.nat(9),
      share: fc.constantFrom(20, 50, 100),
      ends: fc.constantFrom("open", "won", "lost", "reinstated", "partly back", "inquiry"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      ref: slug,
      of: fc.constantFrom("customer", "subscription"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("test" as const), pick: fc.nat(9), amount, ref: slug }) },
);
export type Chapter = typeof chapter extends fc.Arbitrary<infer C> ? C : never;
export type Bought = Extract<Chapter, { do: "buy" | "subscribe" | "renew" }>;

function bought<const Do extends "buy" | "subscribe" | "renew">(what: Do) {
  return fc.record({
    do: fc.constant(what),
    amount,
    ref: slug,
    /** Beside it: in the metadata, or wherever the vendor's shape has another place. */
    other: slug,
    place: fc.constantFrom("subscription" as const, "line" as const, "invoice" as const),
    how: fc.constantFrom("paid", "paid", "paid", "free", "late", "never"),
    shape: fc.constantFrom("new" as const, "repeated" as const, "old" as const),
  });
}

const life = fc.record({
  provider: fc.constantFrom("provider_a" as const, "provider_b" as const),
  currency: fc.constantFrom("USD", "JPY", "KWD"),
  tax_pct: fc.constantFrom(0, 8, 19, 25),
  /** Nobody's, or the partner's own: then it is no sale to somebody else. */
  email: fc.constantFrom("buyer@example.com", "ann@partners.example", null),
  /** One-off purchases of guests name no customer. */
  guest: fc.boolean(),
  /** Seconds between the events of one chapter. */
  tick: fc.constantFrom(0, 1, 40),
  /** Which of its events about refunds the vendor was asked for. */
  refunds: fc.constantFrom("charge" as const, "refund" as const, "both" as const),
  chapters: fc.array(chapter, { minLength: 1, maxLength: 7 }),
});
export type Life = typeof life extends fc.Arbitrary<infer L> ? L : never;

const flow: fc.Arbitrary<ModelFlow> = fc.record({
  action_type: fc.constantFrom("percentage" as const, "flat" as const),
  action_value: fc.integer({ min: 0, max: 100 }),
  priority: fc.nat(2),
  above: fc.constantFrom(0, 400, 100_000),
  provider: fc.constantFrom("provider_a" as const, "provider_b" as const, null),
});

export const moneyWorld = fc.record({
  lives: fc.array(life, { minLength: 1, maxLength: 3 }),
  flows: fc.array(flow, { maxLength: 2 }),
  attribution: fc.constantFrom("first" as const, "last" as const),
});
export type MoneyWorld = typeof moneyWorld extends fc.Arbitrary<infer W> ? W : never;

/** An event as the vendor writes it, and as it is understood. */
export type Reported =
  | { provider: "provider_a"; raw: EventA; event: ProviderEvent }
  | { provider: "provider_b"; raw: EventB; event: ProviderEvent };

export interface Lived {
  events: Reported[];
  truths: Truth[];
  said: Said[];
  /** Keys of payments that are only tests. */
  tests: string[];
}

/**
 * Lives all lives of a world; events are in the order in which they happened. `mark` is in every id of a vendor:
 * programs of one secret must have none in common.
 */
export function liveAll({ lives }: MoneyWorld, mark = ""): Lived {
  const vendors = lives.map((one, i) => {
    const vendor = one.provider === "provider_a" ? new VendorA(one, `${mark}${i}`) : new VendorB(one, `${mark}${i}`);
    for (const [at, next] of one.chapters.entries()) vendor.live(next, at);
    return vendor;
  });
  const events = vendors.flatMap((vendor): Reported[] =>
    vendor instanceof VendorA
      ? vendor.events.map((raw) => ({ provider: "provider_a", raw, event: understood(providerA.parse(onWire(raw))) }))
      : vendor.events.map((raw) => ({ provider: "provider_b", raw, event: understood(providerB.parse(onWire(raw))) })),
  );
  return {
    events: events,
    truths: vendors.flatMap(({ truths }) => truths),
    said: vendors.flatMap(({ said }) => said),
    tests: vendors.flatMap(({ tests }) => tests),
  };
}

function onWire(event: object): unknown {
  return JSON.parse(JSON.stringify(event));
}

function understood(result: ReturnType<typeof providerA.parse>): ProviderEvent {
  if (!result.ok) throw new Error(`a played vendor's event is refused: ${JSON.stringify(result.details)}`);
  return result.event;
}
