/** Each provider's parser reads or refuses any input without an error, and computes money exactly. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { VENDORS, type ListedVendor } from "../../src/providers/registry.ts";
import { expectLawful, mutate } from "../support/fact-laws.ts";
import { invoicePaid } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { signatureOf } from "../support/signed.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { bytesOf } from "../support/vendor.ts";

const pick = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const ODD = [null, undefined, "", "0", "5", "-1", "1.5", "9".repeat(17), 0, -0, -1, 0.5, 2 ** 53, 1e308, [], {}];
const values = fc.oneof(fc.jsonValue(), fc.constantFrom(...ODD, "__proto__", "\ud800"));
const NOW = 1_700_000_000_000;
const money = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) }).map(Number);

describe.each(VENDORS)("any input of $name", (vendor) => {
  const name = vendor.name as ListedVendor;
  const events = fc.constantFrom(...TEST_VENDORS[name].samples);
  const holds = (numRuns: number, arbitrary: fc.Arbitrary<unknown>, check: (body: unknown) => void) =>
    fc.assert(fc.property(arbitrary, check), { numRuns });

  it("is answered, never thrown at", () => {
    for (const body of [fc.jsonValue(), fc.anything()]) holds(500, body, (one) => expectLawful(vendor.parse(one)));
  });

  it("under a known type, with any object", () => {
    const body = fc.tuple(events, fc.jsonValue()).map(([event, object]) => ({ ...event, data: { object } }));
    const bare = fc.tuple(events, fc.jsonValue()).map(([event, data]) => ({ ...event, data }));
    for (const arbitrary of [body, bare]) holds(500, arbitrary, (one) => expectLawful(vendor.parse(one)));
  });

  it("as a real event with one to three places spoilt", () => {
    const spoilt = fc.array(fc.tuple(pick, values), { minLength: 1, maxLength: 3 });
    const body = fc.tuple(events, spoilt).map(([event, changes]) =>
      changes.reduce<unknown>((left, [place, value]) => {
        return typeof left === "object" && left !== null ? mutate(left, place, value) : left;
      }, event),
    );
    holds(5_000, body, (one) => {
      const before = structuredClone(one);
      expectLawful(vendor.parse(one));
      expect(one).toEqual(before);
    });
  });

  it("claims texts or nothing, and nothing where its events claim no program", () => {
    const spoilt = fc.tuple(events, pick, values).map(([event, place, value]) => mutate(event, place, value));
    for (const body of [fc.anything(), spoilt]) {
      holds(500, body, (one) => {
        for (const claim of Object.values(vendor.claimedOwner(one))) {
          if (!vendor.claims_programs) expect(claim).toBeNull();
          else if (claim !== null)
            expect([typeof claim, claim.length > 0, claim.length <= 255]).toEqual(["string", true, true]);
        }
      });
    }
  });

  it("has no signature in any header that is not signed", async () => {
    const alphabet = fc.constantFrom(..."tsvh10=,;abcdef: \n", "t=", "v1=", "ts=", "h1=", "1700000000", "0".repeat(64));
    const parts = fc.array(alphabet, { maxLength: 40 }).map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), parts), async (header) => {
        expect(await vendor.verify({ header, body: bytesOf("{}"), secrets: ["key"], now: NOW })).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("has none in a good one with one character changed", async () => {
    const verify = (header: string) => vendor.verify({ header, body: bytesOf("{}"), secrets: ["key"], now: NOW });
    const good = await signatureOf(name, "{}", "key", NOW / 1000);
    expect(await verify(good)).toBe(true);
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.string({ maxLength: 2 }), async (at, text) => {
        const header = good.slice(0, at) + text + good.slice(at + 1);
        fc.pre(header !== good);
        expect(await verify(header)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("has one for the signed bytes and secret alone, whatever they are (IN-8)", async () => {
    const bytes = fc.uint8Array({ maxLength: 64 });
    await fc.assert(
      fc.asyncProperty(bytes, bytes, fc.string({ minLength: 1 }), async (signed, other, key) => {
        const header = await signatureOf(name, signed, key, NOW / 1000);
        expect(await vendor.verify({ header, body: signed, secrets: [key], now: NOW })).toBe(true);
        const same = signed.length === other.length && signed.every((byte, i) => byte === other[i]);
        expect(await vendor.verify({ header, body: other, secrets: [key], now: NOW })).toBe(same);
      }),
      { numRuns: 200 },
    );
  });
});

/** `a ÷ b`, half up, of non-negative BigInts: written unlike the code under test. */
function halfUp(a: bigint, b: bigint): bigint {
  return a / b + ((a % b) * 2n >= b ? 1n : 0n);
}

describe("provider A: an invoice's money base", () => {
  it("is the net total, pro rata to what was paid, exactly", () => {
    fc.assert(
      fc.property(money, money, money, fc.constantFrom("new" as const, "old" as const), (amount, tax, paid, shape) => {
        fc.pre(amount > 0 && tax <= amount && paid <= amount);
        const result = providerA.parse(invoicePaid({ amount, tax, amount_paid: paid, shape }));
        const base = halfUp(BigInt(amount - tax) * BigInt(paid), BigInt(amount));
        expect(result).toMatchObject({ ok: true, event: { facts: [{ base_cents: Number(base), gross_cents: paid }] } });
      }),
      { numRuns: 500 },
    );
  });
});

describe("provider B: a transaction's money base", () => {
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
