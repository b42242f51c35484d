/** Lines of payments: as each provider states them, and as parts of the base. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AdjustmentFact, Fact, PaymentFact, PaymentLine } from "../../src/domain/fact.ts";
import { countMatching, linesOf, type Line } from "../../src/domain/lines.ts";
import { addUp, cents, rescale } from "../../src/domain/money.ts";
import { paymentState } from "../../src/domain/payment-state.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { sessionLines } from "../../src/providers/provider-a/lines.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { eventOfApi, sale } from "../support/api.ts";
import { fixtureEvents, itOfCaptured } from "../support/fixtures.ts";
import { readerOf } from "../support/parsed.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { adjustmentUpdated, transactionCompleted } from "../support/provider-b.ts";

const linesIn = (facts: readonly Fact[]) => facts.flatMap((fact) => (fact.kind === "payment" ? fact.lines : []));

describe("lines of an invoice of provider A (LINE-1)", () => {
  const { factsOf } = readerOf(providerA);
  const linesOf = (line: object, more: object = {}) =>
    linesIn(
      factsOf(invoicePaid({ object: { lines: { data: [{ amount: 10_000, ...line }], has_more: false, ...more } } })),
    );
  const pricing = { price_details: { price: "price_1", product: "prod_1" }, type: "price_details" };

  it.each<[string, object, number]>([
    ["its amount", {}, 10_000],
    ["less its discounts", { discount_amounts: [{ amount: 1_000 }, { amount: 500 }] }, 8_500],
    [
      "less credit grants, not its discounts again",
      {
        discount_amounts: [{ amount: 1_000 }],
        pretax_credit_amounts: [
          { amount: 1_000, type: "discount" },
          { amount: 300, type: "credit_balance_transaction" },
        ],
      },
      8_700,
    ],
    ["less included tax", { taxes: [{ amount: 1_597, tax_behavior: "inclusive" }] }, 8_403],
    ["with tax on top", { taxes: [{ amount: 1_900, tax_behavior: "exclusive" }] }, 10_000],
    ["less included tax of the old shape", { tax_amounts: [{ amount: 1_597, inclusive: true }] }, 8_403],
    ["with tax on top of the old shape", { tax_amounts: [{ amount: 1_900, inclusive: false }] }, 10_000],
    ["a credit for an unused period", { amount: -2_000 }, -2_000],
  ])("count %s", (_, line, amount_cents) => {
    expect(linesOf({ ...line, pricing })).toEqual([{ products: ["prod_1", "price_1"], amount_cents }]);
  });

  it.each<[string, object, object]>([
    ["a price", { price: { id: "price_1", product: "prod_1", nickname: null } }, { products: ["prod_1", "price_1"] }],
    [
      "a price with a name",
      { price: { id: "price_1", product: "prod_1", nickname: "Yearly" }, description: "2 × Pro (at $50.00 / year)" },
      { products: ["prod_1", "price_1"], names: ["Pro", "Pro, Yearly"] },
    ],
    [
      "a plan alone",
      { price: null, plan: { id: "gold", product: "prod_1", nickname: null } },
      { products: ["prod_1", "gold"] },
    ],
    ["neither", {}, { products: [] }],
    ["a free text", { pricing, description: "Work for Jo" }, { products: ["prod_1", "price_1"] }],
    [
      "a text with an address",
      { pricing, description: "1 × Pro for jo@example.com (at $9.00 / month)" },
      { products: ["prod_1", "price_1"] },
    ],
  ])("name the product by %s", (_, line, wanted) => {
    expect(linesOf(line)).toEqual([{ ...wanted, amount_cents: 10_000 }]);
  });

  it("are unknown if the event has not all of them, none, or one without an amount", () => {
    expect(linesOf({ pricing }, { has_more: true })).toEqual([undefined]);
    expect(linesIn(factsOf(invoicePaid({ object: { lines: { data: [] } } })))).toEqual([undefined]);
    expect(linesOf({ amount: null })).toEqual([undefined]);
    expect(linesIn(factsOf(sessionCompleted()))).toEqual([undefined]);
  });
});

describe("lines of the other providers (LINE-1)", () => {
  it("are a session's total less tax", () => {
    const line = {
      id: "li_1",
      amount_total: 11_900,
      amount_tax: 1_900,
      description: "Book",
      price: { id: "price_1", product: "prod_1" },
    };
    expect(sessionLines([line])).toEqual({
      lines: [{ products: ["prod_1", "price_1"], names: ["Book", "Book"], amount_cents: 10_000 }],
    });
    expect(sessionLines([])).toEqual({});
  });

  it("are those of a transaction of provider B, with an id that adjustments name", () => {
    const { factsOf } = readerOf(providerB);
    const event = transactionCompleted({ amount: 11_900, tax: 1_900 });
    const [item] = (
      event.data["details"] as { line_items: { id: string; price_id: string; product: { id: string } }[] }
    ).line_items;
    expect(linesIn(factsOf(event))).toEqual([
      {
        id: item!.id,
        products: [item!.product.id, item!.price_id],
        names: ["Plan", "Plan"],
        amount_cents: 10_000,
      },
    ]);
    const items = [{ item_id: item!.id, totals: { total: "1190", tax: "190" } }];
    const [fact] = factsOf(adjustmentUpdated({ transaction: "t", amount: 1_190, tax: 190, data: { items } }));
    expect(fact).toMatchObject({ lines: [{ id: item!.id, amount_cents: 1_000 }] });
  });

  it("are the items of a reported sale", () => {
    const items = [{ product_id: "plan-pro", amount_cents: 900 }];
    const { facts } = eventOfApi("sale", sale({ amount_cents: 1_000, items }));
    expect(linesIn(facts)).toEqual([{ products: ["plan-pro"], amount_cents: 900 }]);
  });

  itOfCaptured("add up to the base in captured events", () => {
    const read = (["a", "b"] as const).flatMap((vendor) => {
      const { factsOf } = readerOf(vendor === "a" ? providerA : providerB);
      return fixtureEvents(vendor).flatMap(([, event]) => factsOf(event as never));
    });
    const stating = read.filter((fact): fact is PaymentFact => fact.kind === "payment" && fact.lines !== undefined);
    expect(stating.length).toBeGreaterThan(2);
    for (const { lines, base_cents } of stating) {
      expect(addUp(lines!.map(({ amount_cents }) => amount_cents))).toBe(base_cents);
    }
  });
});

describe("lines as parts of the base (LINE-2)", () => {
  const amount = fc.integer({ min: -100_000, max: 100_000 }).map(cents);

  it("add up to exactly the base if they add up to the vendor's total, whatever their signs", () => {
    fc.assert(
      fc.property(fc.array(amount, { minLength: 1 }), fc.integer({ min: 0, max: 1_000_000 }), (amounts, to) => {
        const from = addUp(amounts);
        fc.pre(from > 0);
        const parts = rescale(amounts, from, cents(to));
        expect(addUp(parts)).toBe(to);
        parts.forEach((part, i) => expect(Math.abs(part - (amounts[i]! * to) / from)).toBeLessThanOrEqual(1));
      }),
    );
  });

  const line = (amount_cents: number): PaymentLine => ({ products: ["prod_1"], amount_cents: cents(amount_cents) });
  const paid = (fields: Partial<PaymentFact>): PaymentFact => ({
    ...{ kind: "payment", occurred_at: "2026-01-01T00:00:00.000Z", key: "in_1", source: "invoice", aliases: ["in_1"] },
    ...{ paid: true, currency: "USD", base_cents: cents(1_000), gross_cents: cents(1_000), ref: null, refs: [] },
    ...{ customer_email: null, customer_id: null, subscription_id: null },
    ...fields,
  });
  const amountsIn = (...facts: PaymentFact[]) => {
    const orders = [facts, facts.toReversed()].map((all) => paymentState(all)!.lines);
    expect(orders[0]).toEqual(orders[1]);
    return orders[0]?.map(({ amount_cents }) => amount_cents) ?? null;
  };

  it.each<[string, PaymentFact[], number[] | null]>([
    ["unknown", [paid({})], null],
    ["as stated", [paid({ lines: [line(700), line(200)] })], [700, 200]],
    ["parts of the paid amount", [paid({ lines: [line(1_500), line(500)], lines_cents: cents(2_000) })], [750, 250]],
    [
      "from the event that states them, in the amounts of the most reliable one",
      [paid({}), paid({ source: "session", currency: "EUR", base_cents: cents(500), lines: [line(500)] })],
      [1_000],
    ],
    [
      "from the invoice before the session",
      [paid({ lines: [line(1_000)] }), paid({ source: "session", lines: [line(400), line(600)] })],
      [1_000],
    ],
    [
      "the captured part of a session",
      [
        paid({ key: "cs_1", source: "session", paid: false, lines: [line(600), line(400)] }),
        paid({ key: "pi_1", source: "intent", base_cents: cents(500), gross_cents: cents(500) }),
      ],
      [300, 200],
    ],
  ])("are %s", (_, facts, wanted) => {
    expect(amountsIn(...facts)).toEqual(wanted);
  });
});

describe("the part of a payment that some lines make up (LINE-5, LINE-6)", () => {
  const amount = fc.integer({ min: -1_000, max: 10_000 }).map(cents);
  const whole = fc
    .tuple(fc.array(fc.tuple(amount, fc.boolean(), fc.nat(5_000)), { minLength: 1, maxLength: 5 }), fc.nat(2_000))
    .map(([rows, shipping]) => {
      const lines = rows.map(([amount_cents, isPro, returned]) => {
        const returned_cents = cents(Math.min(returned, Math.max(amount_cents, 0)));
        return { products: [isPro ? "pro" : "basic"], amount_cents, ...(returned_cents > 0 ? { returned_cents } : {}) };
      });
      return { lines, base_cents: cents(Math.max(addUp(rows.map(([one]) => one)) + shipping, 0)) };
    })
    .chain((state) => fc.nat(state.base_cents).map((adjusted) => ({ ...state, adjusted_cents: cents(adjusted) })));
  const isPro = ({ products }: Line) => products.includes("pro");

  it("counts named refunds at most as much as was returned", () => {
    const [pro, basic] = [600, 400].map((amount_cents, i) => ({
      products: [["pro", "basic"][i]!],
      amount_cents: cents(amount_cents),
    }));
    const lines = [{ ...pro!, returned_cents: cents(300) }, basic!];
    const left = (adjusted_cents: number) => {
      const counted = countMatching(lines, isPro, { base_cents: cents(1_000), adjusted_cents: cents(adjusted_cents) });
      return counted.base_cents - counted.adjusted_cents;
    };
    expect([0, 100, 300, 650, 1_000].map(left)).toEqual([600, 500, 300, 150, 0]);
  });

  it("ignores the lines that a dispute names, and refunds that do not count", () => {
    const named = {
      kind: "adjustment",
      lines: [{ id: "line_1", amount_cents: cents(100) }],
      direction: "deduct",
    } as AdjustmentFact;
    const returnedBy = (...adjustments: Partial<AdjustmentFact>[]) =>
      linesOf(
        [
          {
            lines: [{ id: "line_1", products: ["pro"], amount_cents: cents(600) }],
            base_cents: cents(600),
          } as PaymentFact,
        ],
        adjustments.map((fields) => ({ ...named, ...fields })),
        cents(600),
      )![0]!.returned_cents;
    expect(returnedBy({ effective: true, reversal: "never" }, { effective: true, reversal: "never" })).toBe(200);
    expect(
      returnedBy({ effective: true, reversal: "possible" }, { effective: false, reversal: "never" }),
    ).toBeUndefined();
  });

  it("is never more than the payment, nor is the rest of it more than the rest of the payment", () => {
    fc.assert(
      fc.property(whole, ({ lines, ...all }) => {
        const { base_cents, adjusted_cents } = countMatching(lines, isPro, all);
        expect(base_cents).toBeGreaterThanOrEqual(0);
        expect(base_cents).toBeLessThanOrEqual(all.base_cents);
        expect(adjusted_cents).toBeGreaterThanOrEqual(0);
        expect(adjusted_cents).toBeLessThanOrEqual(base_cents);
        expect(base_cents - adjusted_cents).toBeLessThanOrEqual(all.base_cents - all.adjusted_cents);
      }),
    );
  });

  it("is the payment if every line matches and they add up to it, and nothing of it is left of a full refund", () => {
    fc.assert(
      fc.property(whole, ({ lines, ...all }) => {
        const { base_cents, adjusted_cents } = countMatching(lines, () => true, all);
        const sum = addUp(lines.map(({ amount_cents }) => amount_cents));
        if (sum === all.base_cents) expect({ base_cents, adjusted_cents }).toEqual(all);
        const gone = countMatching(lines, isPro, { ...all, adjusted_cents: all.base_cents });
        expect(gone.adjusted_cents).toBe(gone.base_cents);
      }),
    );
  });

  it("and the part of the other lines are the payment, with every refund, to a unit of rounding", () => {
    fc.assert(
      fc.property(whole, ({ lines: some, ...all }) => {
        const lines = some.map((line) => ({ ...line, amount_cents: cents(Math.max(line.amount_cents, 0)) }));
        const base_cents = addUp(lines.map(({ amount_cents }) => amount_cents));
        const named = addUp(lines.map(({ returned_cents = cents(0) }) => returned_cents));
        const adjusted_cents = cents(Math.min(base_cents, named + all.adjusted_cents));
        const payment = { base_cents, adjusted_cents };
        const parts = [countMatching(lines, isPro, payment), countMatching(lines, (line) => !isPro(line), payment)];
        const left = addUp(parts.map((part) => cents(part.base_cents - part.adjusted_cents)));
        expect(Math.abs(left - (base_cents - adjusted_cents))).toBeLessThanOrEqual(1);
      }),
    );
  });
});
