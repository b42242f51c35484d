import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/domain/fact.ts";
import { cents } from "../../src/domain/money.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { readerOf } from "../support/parsed.ts";
import {
  adjustmentCreated,
  adjustmentUpdated,
  customerEventB,
  eventB,
  subscriptionCanceled,
  subscriptionEventB,
  transactionCompleted,
  transactionEvent,
} from "../support/provider-b.ts";

const { factsOf, ignoredAs, parse, refusedPaths } = readerOf(providerB);

const occurred_at = "2024-05-12T10:18:53.001234Z";
const AT_ISO = "2024-05-12T10:18:53.001Z";

describe("provider B: a completed transaction", () => {
  it("is one payment, with everything a ledger needs", () => {
    const event = transactionCompleted({
      event_id: "evt_1",
      occurred_at,
      id: "txn_1",
      ref: "Jane",
      program: "prog_1",
      amount: 43_549,
      tax: 3_549,
      currency: "EUR",
      customer: "ctm_1",
      subscription: "sub_1",
    });
    expect(parse(event)).toEqual({
      ok: true,
      event: {
        event_id: "evt_1",
        event_type: "transaction.completed",
        occurred_at: AT_ISO,
        test: false,
        ignored: null,
        facts: [
          {
            kind: "payment",
            occurred_at: AT_ISO,
            key: "txn_1",
            source: "transaction",
            aliases: ["txn_1"],
            paid: true,
            currency: "EUR",
            base_cents: 40_000,
            gross_cents: 43_549,
            ref: "Jane",
            refs: [{ ref: "Jane", place: "metadata" }],
            customer_email: null,
            customer_id: "ctm_1",
            subscription_id: "sub_1",
            lines: expect.any(Array),
          },
          {
            ...{ kind: "attribution", occurred_at: AT_ISO, ref: "Jane", subscription_id: "sub_1" },
            ...{ customer_id: "ctm_1", payment: ["txn_1"], kept_by: "subscription" },
          },
        ],
      },
    });
  });

  describe("the money base is what was charged: grand_total - grand_total_tax (PAY-1)", () => {
    const withTotals = (totals: unknown) => transactionCompleted({ data: { details: { totals } } });
    it.each<[unknown, number, number]>([
      [{ total: "43549", tax: "3549" }, 40_000, 43_549],
      [{ total: "0", tax: "0" }, 0, 0],
      [{ total: "100", tax: "100" }, 0, 100],
      [{ total: 43_549, tax: 3_549 }, 40_000, 43_549],
      [{ total: "0100", tax: "00" }, 100, 100],
      [{ total: "9007199254740991", tax: "1" }, 9_007_199_254_740_990, 9_007_199_254_740_991],
      // The vendor's own example (changelog of January 2026): 120 with 20 tax, of which credit paid 90.
      [{ total: "12000", tax: "2000", credit: "9000", grand_total: "3000", grand_total_tax: "500" }, 2_500, 3_000],
      // Older shapes do not state the tax of the charged amount, or repeat the whole: it is computed in proportion
      // (PAY-1).
      [{ total: "12000", tax: "2000", credit: "9000", grand_total: "3000" }, 2_500, 3_000],
      [{ total: "12000", tax: "2000", credit: "9000", grand_total: "3000", grand_total_tax: null }, 2_500, 3_000],
      [{ total: "12000", tax: "2000", credit: "9000", grand_total: "3000", grand_total_tax: "2000" }, 2_500, 3_000],
      [{ total: "12000", tax: "2000", credit: "11000", grand_total: "1000", grand_total_tax: "2000" }, 833, 1_000],
      [{ total: "12000", tax: "2000", grand_total: "3000", grand_total_tax: "2000" }, 2_500, 3_000],
      [{ total: "12000", tax: "2000", credit: "9000" }, 2_500, 3_000],
      // Captured in 2023: 333 x 499 / 1999 = 83.1; and a half, which goes up: 3 x 1 / 6.
      [{ total: "1999", tax: "333", credit: "1500", grand_total: "499" }, 416, 499],
      [{ total: "6", tax: "3", credit: "5", grand_total: "1" }, 0, 1],
      [
        { total: "9007199254740991", tax: "9007199254740990", grand_total: "9007199254740990", credit: "1" },
        1,
        9_007_199_254_740_990,
      ],
      [{ total: "1000", tax: "0", credit: "400", grand_total: "600", discount: "5", subtotal: "1005" }, 600, 600],
      [{ total: "12000", tax: "2000", credit: "12000", grand_total: "0", grand_total_tax: "0" }, 0, 0],
      [{ total: "12000", tax: "2000", credit: "12000" }, 0, 0],
      // A negative or zero grand total is accepted and does not earn (PAY-4): a downgrade, as the vendor sends it.
      [
        {
          total: "-19195",
          tax: "-3064",
          credit: "0",
          grand_total: "0",
          credit_to_balance: "19195",
          grand_total_tax: "0",
        },
        0,
        0,
      ],
      [{ total: "-19195", tax: "-3064", grand_total: "-19195", grand_total_tax: "-3064" }, 0, 0],
      [{ total: -19_195, tax: -3_064 }, 0, 0],
      [{ total: "-19195", tax: "0", grand_total: "-0" }, 0, 0],
      // Prorated items of several tax rates.
      [{ total: "1000", tax: "-50", credit: "0", grand_total: "1000", grand_total_tax: "-50" }, 1000, 1000],
      [{ total: "1000", tax: "-50", credit: "500", grand_total: "500" }, 500, 500],
      [{ total: "10", tax: "11" }, 0, 10],
      [{ total: "10", tax: "11", credit: "5", grand_total: "5" }, 0, 5],
      [{ total: "10", tax: "1", grand_total: "5", grand_total_tax: "6" }, 0, 5],
    ])("%j is %i of %i", (totals, base_cents, gross_cents) => {
      expect(factsOf(withTotals(totals))[0]).toMatchObject({ base_cents, gross_cents, paid: true });
    });

    it.each<[unknown, string[]]>([
      [{ total: "10.5", tax: "0" }, ["total"]],
      [{ total: 10.5, tax: 0 }, ["total"]],
      [{ total: "", tax: "0" }, ["total"]],
      [{ total: "-", tax: "0" }, ["total"]],
      [{ total: "--5", tax: "0" }, ["total"]],
      [{ total: "+5", tax: "0" }, ["total"]],
      [{ total: " 5", tax: "0" }, ["total"]],
      [{ total: "1e3", tax: "0" }, ["total"]],
      [{ total: "0x10", tax: "0" }, ["total"]],
      [{ total: "12,00", tax: "0" }, ["total"]],
      [{ total: "9007199254740992", tax: "0" }, ["total"]],
      [{ total: "-9007199254740992", tax: "0" }, ["total"]],
      [{ total: "1".repeat(40), tax: "0" }, ["total"]],
      [{ total: null, tax: "0" }, ["total"]],
      [{ total: true, tax: "0" }, ["total"]],
      [{ total: "10" }, ["tax"]],
      [{ tax: "10" }, ["total"]],
      [{ total: "10", tax: "1", grand_total: "x" }, ["grand_total"]],
      [{ total: "10", tax: "1", credit: "-5" }, ["credit"]],
      [{}, ["total", "tax"]],
    ])("%j is refused", (totals, paths) => {
      expect(refusedPaths(withTotals(totals))).toEqual(paths.map((path) => `data.details.totals.${path}`));
    });
  });

  it("counts nothing twice and nothing in hundreds: a zero-decimal currency stays as it is", () => {
    expect(factsOf(transactionCompleted({ amount: 1100, tax: 100, currency: "JPY" }))[0]).toMatchObject({
      currency: "JPY",
      base_cents: 1000,
    });
  });

  it("of nothing, as when a payment method is changed, is kept and remembered", () => {
    const origin = "subscription_payment_method_change";
    const facts = factsOf(transactionCompleted({ amount: 0, origin, ref: "jane", subscription: "sub_1" }));
    expect(facts).toMatchObject([
      { kind: "payment", base_cents: 0, paid: true },
      { kind: "attribution", ref: "jane" },
    ]);
  });

  describe("the reference is custom_data.service_ref (REF-1)", () => {
    it.each<[unknown, string | null]>([
      [{ service_ref: "jane" }, "jane"],
      [{ service_ref: " Jane-_9 " }, " Jane-_9 "],
      [{ service_ref: 42 }, "42"],
      [{ service_ref: 0 }, "0"],
      [{ service_ref: "" }, null],
      [{ service_ref: null }, null],
      [{ service_ref: true }, null],
      [{ service_ref: ["jane"] }, null],
      [{ service_ref: { slug: "jane" } }, null],
      [{ other: "jane" }, null],
      [{}, null],
      [null, null],
      ["service_ref", null],
      [["jane"], null],
      [7, null],
    ])("%j: %j", (custom_data, ref) => {
      const facts = factsOf(transactionCompleted({ data: { custom_data } }));
      expect(facts[0]).toMatchObject({ kind: "payment", ref });
      expect(facts).toHaveLength(ref === null ? 1 : 2);
    });

    it("may be missing altogether", () => {
      expect(factsOf(transactionCompleted({ data: { custom_data: undefined } }))[0]).toMatchObject({ ref: null });
    });

    it("is remembered only when there is someone to remember it for", () => {
      expect(factsOf(transactionCompleted({ ref: "jane", customer: null }))).toHaveLength(1);
      expect(factsOf(transactionCompleted({ ref: "jane", customer: null, subscription: "sub_1" }))).toHaveLength(2);
    });
  });

  it.each<[Record<string, unknown>, string[]]>([
    [{ id: "" }, ["data.id"]],
    [{ id: undefined }, ["data.id"]],
    [{ currency_code: "EURO" }, ["data.currency_code"]],
    [{ currency_code: undefined }, ["data.currency_code"]],
    [{ customer_id: 7 }, ["data.customer_id"]],
    [{ subscription_id: {} }, ["data.subscription_id"]],
    [{ details: undefined }, ["data.details"]],
    [{ details: {} }, ["data.details.totals"]],
    [{ details: { totals: [] } }, ["data.details.totals"]],
  ])("of an undocumented shape is refused with its path: %j", (data, paths) => {
    expect(refusedPaths(transactionCompleted({ data }))).toEqual(paths);
  });

  it("may lack what is optional, and hold what is new", () => {
    const data = { id: "txn_1", currency_code: "usd", details: { totals: { total: "5", tax: "1", new: 1 } }, new: [] };
    const body = { event_id: "evt_1", event_type: "transaction.completed", occurred_at, data, new: {} };
    expect(providerB.parse(body)).toMatchObject({
      ok: true,
      event: { facts: [{ key: "txn_1", currency: "USD", base_cents: 4, customer_id: null, subscription_id: null }] },
    });
  });
});

describe("provider B: adjustments", () => {
  it("are read created and updated, net of tax (PAY-8)", () => {
    const same = { id: "adj_1", transaction: "txn_1", amount: 100, tax: 8, occurred_at };
    const fact: Fact = {
      kind: "adjustment",
      occurred_at: AT_ISO,
      adjustment_id: "adj_1",
      aliases: ["txn_1"],
      mode: "single",
      amount_cents: cents(92),
      net_of_tax: true,
      direction: "deduct",
      stage: 1,
      reversal: "never",
      effective: true,
      lines: [{ id: expect.any(String), amount_cents: cents(92) }],
    };
    expect(factsOf(adjustmentUpdated(same))).toEqual([fact]);
    expect(factsOf(adjustmentCreated({ ...same, status: "approved" }))).toEqual([fact]);
    expect(factsOf(adjustmentCreated(same))).toEqual([{ ...fact, stage: 0, effective: false }]);
  });

  it.each([
    ["approved", true],
    ["pending_approval", false],
    ["rejected", false],
    ["reversed", false],
  ] as const)("only approved ones count (PAY-8): %s %s", (status, effective) => {
    expect(factsOf(adjustmentUpdated({ transaction: "txn_1", status }))).toMatchObject([{ effective }]);
  });

  it.each([
    ["refund", "deduct"],
    ["chargeback", "deduct"],
    ["chargeback_warning", "deduct"],
    ["chargeback_reverse", "reverse"],
    ["chargeback_warning_reverse", "reverse"],
  ] as const)("reversals add back (PAY-7): %s is to %s", (action, direction) => {
    const event = adjustmentCreated({ transaction: "txn_1", action, status: "approved" });
    expect(factsOf(event)).toMatchObject([{ direction, effective: true, amount_cents: 10_000 }]);
  });

  it.each(["credit", "credit_reverse"] as const)(
    "of the action `credit` deduct nothing, because later totals are already less (PAY-8): %s",
    (action) => {
      expect(ignoredAs(adjustmentCreated({ transaction: "txn_1", action, status: "approved" }))).toBe(
        "counted_by_later_totals",
      );
      expect(refusedPaths(adjustmentCreated({ transaction: "txn_1", action, data: { status: "maybe" } }))).toEqual([
        "data.status",
      ]);
    },
  );

  it.each([
    ["chargeback", "pending_approval", true],
    ["chargeback_warning", "pending_approval", true],
    ["chargeback", "approved", undefined],
    ["chargeback", "rejected", undefined],
    ["chargeback_reverse", "pending_approval", undefined],
    ["refund", "pending_approval", undefined],
  ] as const)("a dispute is open while it is not decided: %s, %s", (action, status, open) => {
    expect(factsOf(adjustmentCreated({ transaction: "txn_1", action, status }))).toMatchObject([
      open ? { open, effective: false } : expect.not.objectContaining({ open: true }),
    ]);
  });

  it("are ordered by when they occurred, whatever the time zone", () => {
    const times = ["2024-04-15T08:48:20.5Z", "2024-04-15T10:48:20.500000+02:00", "2024-04-15T08:48:20.500999Z"];
    for (const time of times) {
      const event = adjustmentUpdated({ transaction: "txn_1", occurred_at: time });
      expect(factsOf(event)).toMatchObject([{ occurred_at: "2024-04-15T08:48:20.500Z" }]);
    }
  });

  it.each([
    ["alone", 300, 0],
    ["that is more than the total, as that of prorated items,", 400, 0],
    ["that is below 0, as that of prorated items,", -5, 300],
  ])("of a tax %s take no less than nothing and no more than the total", (_, tax, amount_cents) => {
    expect(factsOf(adjustmentUpdated({ transaction: "txn_1", amount: 300, tax }))).toMatchObject([
      { amount_cents, effective: true },
    ]);
  });

  it.each<[Record<string, unknown>, string[]]>([
    [{ id: null }, ["data.id"]],
    [{ transaction_id: undefined }, ["data.transaction_id"]],
    [{ action: "gift" }, ["data.action"]],
    [{ action: "toString" }, ["data.action"]],
    [{ status: "maybe" }, ["data.status"]],
    [{ status: undefined }, ["data.status"]],
    [{ totals: null }, ["data.totals"]],
    [{ totals: { total: "1", tax: "0.5" } }, ["data.totals.tax"]],
    [{ totals: { total: "-5", tax: "0" } }, ["data.totals.total"]],
    [{ totals: { total: "5" } }, ["data.totals.tax"]],
  ])("of an undocumented shape are refused with their path: %j", (data, paths) => {
    expect(refusedPaths(adjustmentCreated({ transaction: "txn_1", data }))).toEqual(paths);
  });
});

describe("provider B: subscriptions", () => {
  it("a canceled one is a cancellation, remembered when it names a partner", () => {
    const cancellation = { kind: "cancellation", occurred_at: AT_ISO, subscription_id: "sub_1" };
    expect(factsOf(subscriptionCanceled({ id: "sub_1", occurred_at }))).toEqual([cancellation]);
    expect(factsOf(subscriptionCanceled({ id: "sub_1", ref: "jane", customer: "ctm_1", occurred_at }))).toEqual([
      cancellation,
      {
        kind: "attribution",
        occurred_at: AT_ISO,
        ref: "jane",
        subscription_id: "sub_1",
        customer_id: "ctm_1",
        kept_by: "subscription",
      },
    ]);
  });

  it.each(["created", "imported", "trialing", "activated", "updated", "past_due", "paused", "resumed"])(
    "%s is remembered when it names a partner",
    (verb) => {
      const type = `subscription.${verb}`;
      const same = { id: "sub_1", customer: "ctm_1", occurred_at };
      expect(factsOf(subscriptionEventB(type, { ...same, ref: 42 }))).toEqual([
        {
          kind: "attribution",
          occurred_at: AT_ISO,
          ref: "42",
          subscription_id: "sub_1",
          customer_id: "ctm_1",
          kept_by: "subscription",
        },
      ]);
      expect(ignoredAs(subscriptionEventB(type, same))).toBe("no_ref");
    },
  );

  it("without an id is refused", () => {
    expect(refusedPaths(subscriptionCanceled({ data: { id: "" } }))).toEqual(["data.id"]);
  });
});

describe("provider B: customers", () => {
  it.each(["customer.created", "customer.updated", "customer.imported"])("%s has their address", (type) => {
    const event = customerEventB({ id: "ctm_1", email: "Buyer@Example.com", occurred_at }, type);
    const fact = { kind: "customer", occurred_at: AT_ISO, customer_id: "ctm_1", email: "Buyer@Example.com" };
    expect(factsOf(event)).toEqual([fact]);
    expect(factsOf({ ...event, data: { ...event.data, custom_data: { service_ref: "jane" } } })).toEqual([
      fact,
      {
        kind: "attribution",
        occurred_at: AT_ISO,
        ref: "jane",
        subscription_id: null,
        customer_id: "ctm_1",
        kept_by: "customer",
      },
    ]);
  });

  it("without an address or a reference say nothing", () => {
    expect(ignoredAs(customerEventB({ email: null }))).toBe("no_address");
    expect(ignoredAs(customerEventB({ email: "" }))).toBe("no_address");
    expect(refusedPaths(customerEventB({ data: { id: "" } }))).toEqual(["data.id"]);
    expect(refusedPaths(customerEventB({ data: { email: 7 } }))).toEqual(["data.email"]);
  });
});

describe("provider B: events that are deliberately not used", () => {
  it.each([
    ["transaction.paid", "counted_when_completed"],
    ["transaction.payment_failed", "payment_failed"],
    ["transaction.revised", "counted_by_adjustment"],
    ["transaction.created", "nothing_paid_yet"],
    ["transaction.billed", "nothing_paid_yet"],
    ["price.created", "unhandled_type"],
    ["checkout.session.completed", "unhandled_type"],
    ["constructor", "unhandled_type"],
  ])("%s: %s, whatever its data", (type, reason) => {
    expect(ignoredAs(transactionEvent(type, { ref: "jane" }))).toBe(reason);
    expect(ignoredAs(eventB(type, {}))).toBe(reason);
    const bare = providerB.parse({ event_id: "evt_1", event_type: type, occurred_at });
    expect(bare).toMatchObject({ ok: true, event: { facts: [], ignored: reason } });
  });
});

describe("provider B: the envelope", () => {
  const event_type = "price.created";
  it.each<[string, unknown, string[]]>([
    ["no id", { event_type, occurred_at }, ["event_id"]],
    ["an empty id", { event_id: "", event_type, occurred_at }, ["event_id"]],
    ["no type", { event_id: "evt_1", occurred_at }, ["event_type"]],
    ["no time", { event_id: "evt_1", event_type }, ["occurred_at"]],
    ["a time without a zone", { event_id: "evt_1", event_type, occurred_at: "2024-05-12T10:18:53" }, ["occurred_at"]],
    ["a day", { event_id: "evt_1", event_type, occurred_at: "2024-05-12" }, ["occurred_at"]],
    ["a time there is not", { event_id: "evt_1", event_type, occurred_at: "2024-13-12T10:18:53Z" }, ["occurred_at"]],
    ["seconds", { event_id: "evt_1", event_type, occurred_at: 1_715_509_133 }, ["occurred_at"]],
    ["null", null, [""]],
    ["a text", "evt_1", [""]],
    ["a list", [], [""]],
  ])("with %s is refused", (_, body, paths) => {
    const result = providerB.parse(body);
    expect(result.ok ? [] : result.details.map((detail) => detail.path)).toEqual(paths);
  });

  it.each([undefined, null, "txn_1", 7, []])("of a used type with data of %j is refused at data", (data) => {
    const body = { event_id: "evt_1", event_type: "transaction.completed", occurred_at, data };
    expect(providerB.parse(body)).toMatchObject({ ok: false, details: [{ path: "data" }] });
  });
});
