import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { expectLawful, mutate } from "../support/fact-laws.ts";
import {
  chargeRefunded,
  chargeSucceeded,
  disputeClosed,
  disputeEvent,
  invoicePaid,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  refundEvent,
  refundFailed,
  sessionCompleted,
  sessionSetup,
  signA,
  subscriptionDeleted,
} from "../support/provider-a.ts";
import { bytesOf } from "../support/vendor.ts";

const EVENTS = [
  sessionCompleted({ ref: "jane", tax: 1, customer: "cus_1" }),
  sessionCompleted({ subscription: "sub_1", invoice: "in_1", payment_status: "unpaid" }),
  sessionSetup({ ref: "jane", customer: "cus_1" }),
  invoicePaid({ ref: "jane", tax: 1_900, amount_paid: 7_000 }),
  invoicePaid({ ref: "jane", tax: 1_900, shape: "old", charge: "ch_1", payment_intent: "pi_1" }),
  invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1" }),
  chargeSucceeded({ payment_intent: "pi_1" }),
  chargeRefunded({ payment_intent: "pi_1", refunded: 5 }),
  paymentIntentSucceeded({ charge: "ch_1", order_reference: "in_1" }),
  refundFailed({ charge: "ch_1" }),
  refundEvent("refund.updated", { charge: "ch_1", status: "canceled" }),
  disputeClosed({ charge: "ch_1" }),
  disputeEvent("charge.dispute.created", { charge: "ch_1" }),
  invoicePaid({ amount: -4_000, tax: -600, amount_paid: 0 }),
  subscriptionDeleted({ ref: "jane" }),
];

const types = fc.constantFrom(...EVENTS.map((event) => event.type), "checkout.session.async_payment_succeeded", "x");
const pick = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const values = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, undefined, "", 0, -0, -1, 0.5, 2 ** 53, 1e308, [], {}, "__proto__", "\ud800", "5"),
);

describe("provider A: whatever arrives", () => {
  it("is answered, never thrown at", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => expectLawful(providerA.parse(body))),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.anything(), (body) => expectLawful(providerA.parse(body))),
      { numRuns: 500 },
    );
  });

  it("under a known type, with any object", () => {
    fc.assert(
      fc.property(types, fc.jsonValue(), (type, object) => {
        expectLawful(providerA.parse({ id: "evt_1", type, created: 1, data: { object } }));
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
        expectLawful(providerA.parse(body));
        expect(body).toEqual(before);
      }),
      { numRuns: 5_000 },
    );
  });

  it("claims nothing", () => {
    fc.assert(
      fc.property(fc.anything(), (body) => {
        expect(Object.values(providerA.claimedOwner(body))).toEqual([null, null, null]);
      }),
    );
  });
});

/** `a ÷ b`, half up, of non-negative BigInts: written unlike the code under test. */
function halfUp(a: bigint, b: bigint): bigint {
  return a / b + ((a % b) * 2n >= b ? 1n : 0n);
}

describe("provider A: an invoice's money base", () => {
  const money = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) }).map(Number);
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

describe("provider A: any header", () => {
  const body = "{}";
  const secret = "whsec_1";
  const now = 1_700_000_000_000;

  it("is false unless signed, never thrown at", async () => {
    const alphabet = fc.constantFrom(..."tv10=,abcdef;: \n", "t=", "v1=", "1700000000", "0".repeat(64));
    const headers = fc.oneof(
      fc.string(),
      fc.array(alphabet, { maxLength: 40 }).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(headers, async (header) => {
        expect(await providerA.verify({ header, body: bytesOf(body), secrets: [secret], now })).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("with one character changed is false", async () => {
    const good = await signA(body, secret, now / 1000);
    expect(await providerA.verify({ header: good, body: bytesOf(body), secrets: [secret], now })).toBe(true);
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.string({ minLength: 0, maxLength: 2 }), async (at, text) => {
        const header = good.slice(0, at) + text + good.slice(at + 1);
        fc.pre(header !== good);
        expect(await providerA.verify({ header, body: bytesOf(body), secrets: [secret], now })).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("signed for any bytes and secret is true, and false for any other bytes", async () => {
    const bytes = fc.uint8Array({ maxLength: 64 });
    await fc.assert(
      fc.asyncProperty(bytes, bytes, fc.string({ minLength: 1 }), async (signed, other, key) => {
        const header = await signA(signed, key, now / 1000);
        expect(await providerA.verify({ header, body: signed, secrets: [key], now })).toBe(true);
        const same = signed.length === other.length && signed.every((byte, i) => byte === other[i]);
        expect(await providerA.verify({ header, body: other, secrets: [key], now })).toBe(same);
      }),
      { numRuns: 200 },
    );
  });
});
