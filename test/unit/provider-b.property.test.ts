import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { expectLawful, mutate } from "../support/fact-laws.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  customerEventB,
  subscriptionCanceled,
  subscriptionEventB,
  transactionCompleted,
} from "../support/provider-b.ts";
import { bytesOf } from "../support/vendor.ts";

const EVENTS = [
  transactionCompleted({ ref: "jane", program: "prog_1", tax: 1, subscription: "sub_1" }),
  transactionCompleted({ amount: 0 }),
  transactionCompleted({ amount: -5_000, tax: -800, ref: "jane", subscription: "sub_1" }),
  transactionCompleted({ amount: 5_000, tax: 800, credit: 3_000, shape: "repeated" }),
  customerEventB({ ref: "jane" }),
  adjustmentCreated({ transaction: "txn_1", tax: 800 }),
  adjustmentUpdated({ transaction: "txn_1" }),
  adjustmentCreated({ transaction: "txn_1", action: "credit", status: "approved" }),
  adjustmentCreated({ transaction: "txn_1", action: "chargeback" }),
  adjustmentCreated({ transaction: "txn_1", action: "chargeback_warning_reverse", status: "reversed", tax: 800 }),
  subscriptionCanceled({ ref: 42, program: "prog_1" }),
  subscriptionEventB("subscription.created", { ref: "jane" }),
];

const types = fc.constantFrom(...EVENTS.map((event) => event.event_type), "x");
const pick = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const values = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    null,
    undefined,
    "",
    "0",
    "-1",
    "1.5",
    "9".repeat(17),
    0,
    -0,
    -1,
    0.5,
    2 ** 53,
    1e308,
    [],
    {},
    "\ud800",
  ),
);

describe("provider B: whatever arrives", () => {
  it("is answered, never thrown at", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => expectLawful(providerB.parse(body))),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.anything(), (body) => expectLawful(providerB.parse(body))),
      { numRuns: 500 },
    );
  });

  it("under a known type, with any data", () => {
    fc.assert(
      fc.property(types, fc.jsonValue(), (event_type, data) => {
        expectLawful(providerB.parse({ event_id: "evt_1", event_type, occurred_at: "2024-04-15T08:48:20Z", data }));
      }),
      { numRuns: 500 },
    );
  });

  it("as a real event with one to three places spoilt", () => {
    const spoilt = fc.array(fc.tuple(pick, values), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...EVENTS), spoilt, (event, changes) => {
        const body = changes.reduce<unknown>((left, [place, value]) => {
          return typeof left === "object" && left !== null ? mutate(left, place, value) : left;
        }, event);
        const before = structuredClone(body);
        expectLawful(providerB.parse(body));
        expect(body).toEqual(before);
      }),
      { numRuns: 5_000 },
    );
  });

  it("claims texts or nothing, never thrown at", () => {
    const check = (body: unknown) => {
      for (const claim of Object.values(providerB.claimedOwner(body))) {
        expect(claim === null || (typeof claim === "string" && claim.length > 0 && claim.length <= 255)).toBe(true);
      }
    };
    fc.assert(fc.property(fc.anything(), check), { numRuns: 500 });
    fc.assert(
      fc.property(fc.constantFrom(...EVENTS), pick, values, (event, place, value) =>
        check(mutate(event, place, value)),
      ),
      { numRuns: 1_000 },
    );
  });
});

describe("provider B: a transaction's money base", () => {
  const money = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) }).map(Number);
  it("is total less tax, exactly, where no credit paid", () => {
    fc.assert(
      fc.property(money, money, (one, other) => {
        const [tax, amount] = [Math.min(one, other), Math.max(one, other)];
        expect(providerB.parse(transactionCompleted({ amount, tax }))).toMatchObject({
          ok: true,
          event: { facts: [{ base_cents: amount - tax, gross_cents: amount }] },
        });
      }),
    );
  });

  it("is what was charged less its part of the tax, to half a unit, in the old shape and the new", () => {
    fc.assert(
      fc.property(money, money, money, (...three) => {
        const [tax, credit, amount] = three.toSorted((a, b) => a - b) as [number, number, number];
        const charged = BigInt(amount - credit);
        for (const shape of ["new", "repeated", "old"] as const) {
          const result = providerB.parse(transactionCompleted({ amount, tax, credit, shape }));
          const fact = result.ok ? result.event.facts[0] : undefined;
          if (fact?.kind !== "payment") throw new Error("no payment");
          expect(BigInt(fact.gross_cents)).toBe(charged);
          // |taken - tax x charged / amount| <= 1/2, without a fraction.
          const off = (charged - BigInt(fact.base_cents)) * BigInt(amount) - BigInt(tax) * charged;
          expect(2n * (off < 0n ? -off : off) <= BigInt(amount)).toBe(true);
        }
      }),
    );
  });
});

describe("provider B: any header", () => {
  it("is false unless signed, never thrown at", async () => {
    const alphabet = fc.constantFrom(..."tsh10=;abcdef,: \n", "ts=", "h1=", "1700000000", "0".repeat(64));
    const headers = fc.oneof(
      fc.string(),
      fc.array(alphabet, { maxLength: 40 }).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(headers, async (header) => {
        const input = { header, body: bytesOf("{}"), secrets: ["pdl_1"], now: 1_700_000_000_000 };
        expect(await providerB.verify(input)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
