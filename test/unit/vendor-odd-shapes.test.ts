/**
 * Events in which one value has an undocumented shape: each is refused with its place, so that the vendor sends it
 * again, or has the same facts as before. The facts are never fewer, and never pay more.
 */
import { describe, expect, it } from "vitest";
import type { Fact, PaymentFact } from "../../src/domain/fact.ts";
import type { ListedVendor } from "../../src/providers/registry.ts";
import { VENDORS } from "../../src/providers/registry.ts";
import { oddEventsOf, type OddEvent } from "../support/odd-shapes.ts";
import { TEST_VENDORS, thinSamples } from "../support/vendors/index.ts";

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

interface Case extends OddEvent {
  type: string;
  /** The facts of the unchanged event. */
  whole: Fact[];
}

function casesOf(vendor: (typeof VENDORS)[number]): Case[] {
  return TEST_VENDORS[vendor.name as ListedVendor].samples.flatMap((event) => {
    const sent = plain(event);
    const read = vendor.parse(sent);
    if (!read.ok) throw new Error("an event that is refused as it is");
    return oddEventsOf(sent).map((odd) => ({ ...odd, type: read.event.event_type, whole: read.event.facts }));
  });
}

/** Fields that accept any shape: the owners' own texts, and the type, which selects the reader. */
const OF_OWNER = /service_ref$|metadata$/;
const TYPES = ["type", "event_type"];
/** The vendor's only report of the tax: without it there is no tax (PAY-1). */
const TAX = /^data\.object\.(?:total_details|amount_details)/;
/** Old shapes of lists whose items are objects; an id alone contains less. */
const NAMED_BY_ID = [
  "promotion_code.updated data.object.coupon expanded",
  "invoice.paid data.object.discount expanded",
];

/** A line of another shape has an unknown product (LINE-1); all else is the same. */
const LINES = /\blines\.data\b|\bline_items\b|^data\.items\b/;
const withoutLines = (facts: readonly Fact[]) =>
  facts.map((fact) => ("lines" in fact ? { ...fact, lines: undefined } : fact));

const paymentIn = (facts: readonly Fact[]) => facts.find((fact): fact is PaymentFact => fact.kind === "payment");
/**
 * Changes that make another valid event: a refund without a charge and an intent was never of a payment, a credit note
 * may return an amount within the vendor only, a written-off invoice may be unpaid, and an unknown type has no facts.
 */
const isAnother = ({ at, type }: Case) =>
  TYPES.includes(at) ||
  (type === "invoice.marked_uncollectible" && at === "data.object.amount_paid") ||
  (/refund\./.test(type) && at.endsWith(".payment_intent")) ||
  (type.startsWith("credit_note.") && /\.(?:out_of_band_amount|refunds\b.*)$/.test(at));
const nameOf = ({ type, at, oddity }: Case) => `${type} ${at} ${oddity}`;

describe.each(VENDORS)("an event of $name with one value of another shape", (vendor) => {
  const cases = casesOf(vendor);
  const readings = cases.map((one) => ({ one, read: vendor.parse(one.event) }));

  it("is refused with a place, or gives facts that can be stored", () => {
    expect(cases.length).toBeGreaterThan(20 * TEST_VENDORS[vendor.name as ListedVendor].samples.length);
    for (const { one, read } of readings) {
      vendor.claimedOwner(one.event);
      vendor.thinOf?.(one.event);
      if (!read.ok) {
        expect([nameOf(one), read.details.length > 0 && read.details.every(({ message }) => message !== "")]).toEqual([
          nameOf(one),
          true,
        ]);
        continue;
      }
      const { facts, ignored } = read.event;
      expect([nameOf(one), facts.length === 0]).toEqual([nameOf(one), ignored !== null]);
      for (const fact of facts) {
        const amounts = Object.entries(fact).filter(([name]) => name.endsWith("_cents"));
        for (const [name, amount] of amounts) {
          expect([nameOf(one), name, Number.isSafeInteger(amount) && Number(amount) >= 0]).toEqual([
            nameOf(one),
            name,
            true,
          ]);
        }
        const ids = "aliases" in fact ? fact.aliases : [];
        expect(ids.filter((id) => typeof id !== "string" || id === "" || id.length > 255)).toEqual([]);
      }
      const payment = paymentIn(facts);
      if (payment) expect([nameOf(one), payment.base_cents <= payment.gross_cents]).toEqual([nameOf(one), true]);
    }
  });

  it("says the same with ids expanded or in short, and with numbers as texts, where it is not refused", () => {
    const differing = readings.flatMap(({ one, read }) => {
      if (!["expanded", "retyped"].includes(one.oddity) || !read.ok || OF_OWNER.test(one.at)) return [];
      const compared = LINES.test(one.at) ? withoutLines : (facts: readonly Fact[]) => facts;
      const [now, before] = [read.event.facts, one.whole].map((facts) => JSON.stringify(compared(facts)));
      return now === before ? [] : [nameOf(one)];
    });
    expect([...new Set(differing)].filter((name) => !NAMED_BY_ID.includes(name))).toEqual([]);
  });

  it.each([
    ["a payment", "payment"],
    ["an adjustment", "adjustment"],
  ] as const)("stays %s where it is one, or is refused: it is never acknowledged as something else", (_, kind) => {
    const has = (facts: readonly Fact[]) => facts.some((fact) => fact.kind === kind);
    const lost = readings.flatMap(({ one, read }) =>
      has(one.whole) && read.ok && !has(read.event.facts) && !isAnother(one) ? [nameOf(one)] : [],
    );
    expect([...new Set(lost)]).toEqual([]);
  });

  it("pays no more than the whole one where a value is absent or null", () => {
    const more = readings.flatMap(({ one, read }) => {
      if (!["absent", "nulled"].includes(one.oddity) || !read.ok || TAX.test(one.at)) return [];
      const [before, after] = [paymentIn(one.whole), paymentIn(read.event.facts)];
      return before && after && after.base_cents > before.base_cents ? [nameOf(one)] : [];
    });
    expect([...new Set(more)]).toEqual([]);
  });
});

describe("an event that only names what it is about, with one value of another shape", () => {
  const thin = VENDORS.flatMap((vendor) =>
    thinSamples(TEST_VENDORS[vendor.name as ListedVendor]).flatMap((event) => {
      const sent = plain(event);
      if (!vendor.thinOf?.(sent)) return [];
      return oddEventsOf(sent).map((odd) => ({ ...odd, vendor }));
    }),
  );

  it("is still read, or is refused: it is never acknowledged unread", () => {
    expect(thin.length).toBeGreaterThan(1_000);
    const acknowledged = thin.filter(({ vendor, event, at }) => !TYPES.includes(at) && vendor.parse(event).ok);
    expect(acknowledged.map(({ at, oddity }) => `${at} ${oddity}`)).toEqual([]);
  });

  it("names what can be put into an address of the vendor's API, where it is read", () => {
    const named = thin.flatMap(({ vendor, event }) => vendor.thinOf?.(event) ?? []);
    expect(named.length).toBeGreaterThan(100);
    for (const { snapshot_id, object } of named) {
      const { origin } = new URL(
        snapshot_id === null ? (object?.path ?? "") : `/v1/${snapshot_id}`,
        "https://vendor.example",
      );
      expect(origin).toBe("https://vendor.example");
    }
  });
});
