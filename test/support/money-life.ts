/** Random lives of customers: their purchases, credits, refunds and disputes at any provider. */
import * as fc from "fast-check";
import { PROVIDER_NAMES } from "../../src/providers/registry.ts";

/** Partners in either case, of every status; a shop's own numbers, another product's slug, an unknown slug. */
const slug: fc.Arbitrary<string | null> = fc.constantFrom(
  "ann",
  "ANN",
  "Bob",
  "ivy",
  "dan",
  "cart-77",
  "user_9",
  "other-product",
  null,
  null,
);

const amount = fc.oneof(
  fc.integer({ min: 1, max: 30 }),
  fc.integer({ min: 100, max: 30_000 }),
  fc.integer({ min: 1, max: 900_000_000 }),
);

const chapter = fc.oneof(
  { weight: 3, arbitrary: bought("buy") },
  { weight: 3, arbitrary: bought("subscribe") },
  { weight: 4, arbitrary: bought("renew") },
  { weight: 1, arbitrary: bought("upgrade") },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("downgrade" as const), amount, ref: slug }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("credit" as const), amount }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("refund" as const),
      pick: fc.nat(9),
      /** Percent of the remainder. */
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
type GeneratedChapter = typeof chapter extends fc.Arbitrary<infer C> ? C : never;
export type Chapter = GeneratedChapter | Lead;
export type Bought = Extract<Chapter, { do: "buy" | "subscribe" | "renew" | "upgrade" }> & {
  discount?: Discount | null;
};

/** The owner's server reports who brought a customer, at any provider. */
export interface Lead {
  do: "lead";
  ref: string;
  /** The identification of the customer. */
  by: "id" | "email" | "both";
}

/** The net discount of a promotion code, already subtracted from the amount. */
export interface Discount {
  code: string;
  off: number;
}

function bought<const Do extends "buy" | "subscribe" | "renew" | "upgrade">(what: Do) {
  return fc.record({
    do: fc.constant(what),
    amount,
    ref: slug,
    /** Another reference: in the metadata, or in another place of the vendor's shape. */
    other: slug,
    place: fc.constantFrom("subscription" as const, "line" as const, "invoice" as const),
    /** Money that is `held` is taken later, or a part of it: at provider A, in a checkout without a subscription. */
    how: fc.constantFrom("paid", "paid", "paid", "free", "late", "held", "never"),
    /**
     * The way of a one-off purchase: a hosted checkout, a payment intent alone, or a checkout whose intent reports as
     * much.
     */
    via: fc.constantFrom("session" as const, "session" as const, "intent" as const, "both" as const),
    shape: fc.constantFrom("new" as const, "repeated" as const, "old" as const),
  });
}

export const life = fc.record({
  provider: fc.constantFrom(...PROVIDER_NAMES),
  currency: fc.constantFrom("USD", "JPY", "KWD"),
  tax_pct: fc.constantFrom(0, 8, 19, 25),
  /** No address, or the partner's own: in that case it is no sale to another person. */
  email: fc.constantFrom("buyer@example.com", "ann@partners.example", null),
  /** One-off purchases of guests name no customer. */
  guest: fc.boolean(),
  /** Seconds between the events of one chapter. */
  tick: fc.constantFrom(0, 1, 40),
  /** The refund events that the vendor is configured to send. */
  refunds: fc.constantFrom("charge" as const, "refund" as const, "both" as const),
  chapters: fc.array(chapter, { minLength: 1, maxLength: 7 }),
});
type GeneratedLife = typeof life extends fc.Arbitrary<infer L> ? L : never;

export interface Life extends Omit<GeneratedLife, "currency" | "email" | "chapters"> {
  currency: string;
  email: string | null;
  /** Seconds: the time at which the vendor creates the customer. */
  begins?: number;
}
