/** The steps of a random month of payouts (`payouts-conservation.property.test.ts`). */
import * as fc from "fast-check";
import type { Fault } from "./provider-a-api.ts";

const CURRENCIES = ["USD", "JPY", "KWD"] as const;

const pick = fc.nat({ max: 1_000 });

/** One step of a month; `pick` chooses among the existing rows. */
export const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("purchase" as const),
      partner: fc.nat({ max: 2 }),
      currency: fc.constantFrom(...CURRENCIES),
      net: fc.integer({ min: 1, max: 100_000 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("refund" as const), pick, share: fc.integer({ min: 1, max: 100 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("dispute" as const),
      pick,
      share: fc.integer({ min: 1, max: 100 }),
      stage: fc.constantFrom("open" as const, "lost" as const, "won" as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("approve all" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      pick,
      status: fc.constantFrom("approved" as const, "rejected" as const, "pending" as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("reject a clawback" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("auto-approve" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("manual" as const),
      partner: fc.nat({ max: 2 }),
      currency: fc.constantFrom(...CURRENCIES),
      amount: fc.integer({ min: -3_000, max: 3_000 }).filter((amount) => amount !== 0),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("generate" as const),
      daysAgo: fc.nat({ max: 3 }),
      atOnce: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("cancel" as const), pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("mark paid" as const), pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("return" as const), pick }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("pay" as const),
      pick,
      fault: fc.constantFrom<Fault | "refuse" | null>(
        null,
        null,
        "refuse",
        "drop_reply",
        "drop_request",
        "error_stored",
      ),
    }),
  },
  // Frequent, so that refunds, reversals and the owner's decisions also meet paid rows.
  { weight: 5, arbitrary: fc.record({ do: fc.constant("pay all" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("reconcile" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("minimum" as const), cents: fc.constantFrom(0, 1, 5_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("payout currency" as const),
      currency: fc.constantFrom(null, "EUR", "USD", "JPY"),
      usd: fc.integer({ min: 1, max: 9_999_999 }),
      hasKwd: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), hours: fc.constantFrom(1, 26, 24 * 9) }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
