import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { readerOf } from "../support/parsed.ts";
import { invoicePaid, invoicePaymentSucceeded, invoiceWrittenOff } from "../support/provider-a.ts";

const { attributionsOf, factsOf, ignoredAs, paymentOf, refusedPaths } = readerOf(providerA);

const AT = 1_755_480_865;
const AT_ISO = "2025-08-18T01:34:25.000Z";

describe("provider A: a paid invoice", () => {
  it.each(["new", "old"] as const)("of the %s shape is one payment", (shape) => {
    const event = invoicePaid({
      shape,
      created: AT,
      id: "in_1",
      ref: "jane",
      amount: 11_900,
      tax: 1_900,
      subscription: "sub_1",
      customer: "cus_1",
      payment_intent: "pi_1",
      charge: "ch_1",
      email: "buyer@example.com",
    });
    expect(factsOf(event)).toEqual([
      {
        kind: "payment",
        occurred_at: AT_ISO,
        key: "in_1",
        source: "invoice",
        aliases: ["in_1", "pi_1", "ch_1"],
        paid: true,
        currency: "USD",
        base_cents: 10_000,
        gross_cents: 11_900,
        ref: "jane",
        refs: [{ ref: "jane", place: "subscription_metadata" }],
        customer_email: "buyer@example.com",
        customer_id: "cus_1",
        lines: expect.any(Array),
        subscription_id: "sub_1",
      },
      {
        ...{ kind: "attribution", occurred_at: AT_ISO, ref: "jane", subscription_id: "sub_1", customer_id: "cus_1" },
        ...{ payment: ["in_1", "pi_1", "ch_1"], kept_by: "subscription" },
      },
    ]);
  });

  it("says the same under both names of the event (PAY-17)", () => {
    const same = { id: "in_1", subscription: "sub_1", customer: "cus_1", ref: "jane", created: AT };
    expect(factsOf(invoicePaymentSucceeded(same))).toEqual(factsOf(invoicePaid(same)));
  });

  it("names no payment intent in the new shape, unless expanded", () => {
    expect(paymentOf(invoicePaid({ id: "in_1" })).aliases).toEqual(["in_1"]);
    const payments = {
      data: [
        { payment: { type: "payment_intent", payment_intent: { id: "pi_1" } } },
        { payment: { type: "charge", charge: "ch_2" } },
        { payment: { type: "payment_record", payment_record: "pr_3" } },
        { payment: { type: "payment_intent", payment_intent: "pi_1" } },
        {},
      ],
    };
    expect(paymentOf(invoicePaid({ id: "in_1", object: { payments } })).aliases).toEqual(["in_1", "pi_1", "ch_2"]);
  });

  describe("fully paid counts without tax, in every shape (PAY-1)", () => {
    const money = (object: Record<string, unknown>) => {
      const { base_cents, gross_cents } = paymentOf(invoicePaid({ object: { ...object } }));
      return [base_cents, gross_cents];
    };
    const full = { total: 11_900, amount_paid: 11_900, amount_due: 11_900, total_excluding_tax: null };
    it.each([
      ["total_excluding_tax", { ...full, total_excluding_tax: 10_000, tax: 5 }, [10_000, 11_900]],
      ["total - tax", { ...full, tax: 1_900, total_taxes: [{ amount: 5 }] }, [10_000, 11_900]],
      ["total - the taxes", { ...full, total_taxes: [{ amount: 1_000 }, { amount: 900 }] }, [10_000, 11_900]],
      [
        "total - the taxes under their old name",
        { ...full, total_taxes: null, total_tax_amounts: [{ amount: 1_900 }] },
        [10_000, 11_900],
      ],
      ["no tax: total", { ...full, tax: null, total_taxes: null, total_tax_amounts: null }, [11_900, 11_900]],
      [
        "no tax: total, without any of the fields",
        { ...full, total_excluding_tax: undefined, total_taxes: undefined },
        [11_900, 11_900],
      ],
    ])("%s", (_, object, expected) => {
      expect(money(object)).toEqual(expected);
    });
  });

  describe("partly covered by credit counts pro rata to amount_paid (PAY-1)", () => {
    it.each([
      // amount, tax, paid → base: net × paid ÷ total, half up
      [11_900, 1_900, 11_900, 10_000],
      [11_900, 1_900, 5_950, 5_000],
      [11_900, 1_900, 1, 1],
      [11_900, 1_900, 0, 0],
      [10_000, 0, 3_333, 3_333],
      [300, 100, 150, 100],
      [3, 1, 1, 1],
      [3, 2, 1, 0],
      [4, 2, 1, 1],
      [9_007_199_254_740_991, 1, 9_007_199_254_740_990, 9_007_199_254_740_989],
    ])("%i with tax %i, of which %i was paid: base %i", (amount, tax, amount_paid, base_cents) => {
      expect(paymentOf(invoicePaid({ amount, tax, amount_paid }))).toMatchObject({
        base_cents,
        gross_cents: amount_paid,
      });
    });
  });

  it("paid beyond its total, for an earlier debt, counts its own total only", () => {
    expect(paymentOf(invoicePaid({ amount: 11_900, tax: 1_900, amount_paid: 15_000 }))).toMatchObject({
      base_cents: 10_000,
      gross_cents: 11_900,
    });
  });

  it.each([0, -5_000])("of a total of %i is worth nothing", (total) => {
    const object = { total, total_excluding_tax: total, amount_paid: 0, amount_due: 0, subtotal: total };
    expect(paymentOf(invoicePaid({ object }))).toMatchObject({ paid: true, base_cents: 0, gross_cents: 0 });
  });

  it("keeps the base within what was paid though taxes may be negative", () => {
    const object = { total: 100, amount_paid: 100, amount_due: 100 };
    expect(paymentOf(invoicePaid({ object: { ...object, total_excluding_tax: 150 } })).base_cents).toBe(100);
    expect(paymentOf(invoicePaid({ object: { ...object, total_excluding_tax: -20 } })).base_cents).toBe(0);
  });

  it.each([
    ["old shape: marked so", { amount_paid: 0, amount_remaining: 11_900, paid_out_of_band: true }, 10_000],
    ["new shape: with the amount", { amount_paid: 0, amount_paid_off_stripe: 11_900 }, 10_000],
    ["new shape: reported twice", { amount_paid: 11_900, amount_paid_off_stripe: 11_900 }, 10_000],
    ["in part", { amount_paid: 5_950, amount_paid_off_stripe: 5_950 }, 10_000],
    [
      "new shape: reported twice, beside credit",
      { amount_due: 5_950, amount_paid: 5_950, amount_paid_off_stripe: 5_950 },
      5_000,
    ],
    ["old shape: marked so, beside credit", { amount_due: 5_950, amount_paid: 0, paid_out_of_band: true }, 5_000],
    [
      "old shape: marked so, after a credit note that lowered it",
      { amount_due: 5_950, amount_paid: 0, paid_out_of_band: true, pre_payment_credit_notes_amount: 5_950 },
      5_000,
    ],
    [
      "old shape: marked so, with an earlier debt, after a credit note",
      { amount_due: 11_950, amount_paid: 0, paid_out_of_band: true, pre_payment_credit_notes_amount: 5_950 },
      5_000,
    ],
    ["not at all", { amount_paid: 5_950, amount_paid_off_stripe: 0, paid_out_of_band: false }, 5_000],
    ["not known to be due", { amount_paid: 5_950, amount_due: undefined, paid_out_of_band: true }, 5_000],
  ])("paid outside the vendor is paid too: %s", (_, object, base_cents) => {
    expect(paymentOf(invoicePaid({ amount: 11_900, tax: 1_900, object })).base_cents).toBe(base_cents);
  });

  describe("takes the reference in the order of its places (REF-1)", () => {
    const bag = (service_ref: string) => ({ metadata: { service_ref } });
    const line = (service_ref: string | null) => ({
      id: "il_1",
      metadata: service_ref === null ? {} : { service_ref },
    });
    const parent = (metadata: unknown) => ({ parent: { subscription_details: { subscription: "sub_1", metadata } } });
    const none = parent({});
    const all = {
      ...parent({ service_ref: "parent" }),
      subscription_details: bag("details"),
      lines: { data: [line(null), line("line1"), line("line2")] },
      ...bag("own"),
    };
    it.each<[string, Record<string, unknown>, string | null]>([
      ["the parent's subscription metadata", all, "parent"],
      ["the subscription's metadata", { ...all, ...none }, "details"],
      ["the first line that has one", { ...all, ...none, subscription_details: null }, "line1"],
      [
        "an empty one counts as absent",
        { ...all, ...parent({ service_ref: "" }), subscription_details: bag("") },
        "line1",
      ],
      ["the invoice's own", { ...all, ...none, subscription_details: null, lines: { data: [line(null)] } }, "own"],
      ["the invoice's own, without lines", { ...none, lines: null, ...bag("own") }, "own"],
      ["none", { ...none, lines: { data: [line(null)] }, metadata: {} }, null],
      ["none of anything", { parent: null, lines: null, metadata: null, subscription_details: null }, null],
    ])("%s", (_, object, ref) => {
      expect(paymentOf(invoicePaid({ object })).ref).toBe(ref);
    });

    it("and carries them all, each slug once, also of what is expanded (REF-1)", () => {
      const lines = { data: [line("line1"), line("PARENT"), line("line2")] };
      const object = { ...all, lines, customer: { id: "cus_1", ...bag("customer") } };
      expect(paymentOf(invoicePaid({ object })).refs).toEqual([
        { ref: "parent", place: "subscription_metadata" },
        { ref: "details", place: "subscription_metadata" },
        { ref: "line1", place: "line_metadata" },
        { ref: "line2", place: "line_metadata" },
        { ref: "own", place: "invoice_metadata" },
        { ref: "customer", place: "customer_metadata" },
      ]);
      const subscription = { id: "sub_1", ...bag("expanded") };
      expect(
        paymentOf(invoicePaid({ object: { ...none, parent: { subscription_details: { subscription } } } })),
      ).toMatchObject({
        subscription_id: "sub_1",
        refs: [{ ref: "expanded", place: "subscription_metadata" }],
      });
    });

    it("says which of them the subscription and the customer keep (REF-4)", () => {
      const object = { ...all, customer: { id: "cus_1", ...bag("customer") } };
      const kept = (event: object) => attributionsOf(event).map(({ ref, kept_by = null }) => [ref, kept_by]);
      expect(kept(invoicePaid({ object }))).toEqual([
        ["parent", "subscription"],
        ["details", "subscription"],
        ["line1", "subscription"],
        ["line2", "subscription"],
        ["own", null],
        ["customer", "customer"],
      ]);
      const ofNone = { ...object, parent: null, subscription: null };
      expect(kept(invoicePaid({ subscription: null, object: ofNone }))).toEqual([
        ["details", null],
        ["line1", null],
        ["line2", null],
        ["own", null],
        ["customer", "customer"],
      ]);
    });

    it("carries no more than a trace can show", () => {
      const data = Array.from({ length: 500 }, (_, i) => line(`line${i}`));
      const facts = factsOf(invoicePaid({ object: { ...none, lines: { data } } }));
      expect(facts).toHaveLength(21);
    });

    it.each(["subscription", "line", "invoice"] as const)("also in the old shape: %s", (ref_in) => {
      expect(paymentOf(invoicePaid({ shape: "old", ref: "jane", ref_in })).ref).toBe("jane");
    });
  });

  describe("finds its subscription", () => {
    const item = (details: object) => ({ data: [{ parent: null }, { parent: details }] });
    it.each<[string, Record<string, unknown>, string | null]>([
      [
        "in the parent",
        { parent: { subscription_details: { subscription: "sub_p" } }, subscription: "sub_o" },
        "sub_p",
      ],
      ["in the parent, expanded", { parent: { subscription_details: { subscription: { id: "sub_p" } } } }, "sub_p"],
      [
        "in its own field",
        { parent: null, subscription: "sub_o", lines: { data: [{ subscription: "sub_l" }] } },
        "sub_o",
      ],
      ["in its own field, expanded", { parent: null, subscription: { id: "sub_o" } }, "sub_o"],
      [
        "in a line of the new shape",
        { parent: null, lines: item({ subscription_item_details: { subscription: "sub_l" } }) },
        "sub_l",
      ],
      [
        "in an item's line of the new shape",
        {
          parent: null,
          lines: item({ invoice_item_details: { subscription: "sub_l" }, subscription_item_details: null }),
        },
        "sub_l",
      ],
      ["in a line of the old shape", { parent: null, lines: { data: [{}, { subscription: "sub_l" }] } }, "sub_l"],
      ["nowhere", { parent: { subscription_details: null, quote_details: {} }, lines: { data: [] } }, null],
    ])("%s", (_, object, subscription_id) => {
      expect(paymentOf(invoicePaid({ subscription: null, object })).subscription_id).toBe(subscription_id);
    });
  });

  describe("that is written off", () => {
    const part = { id: "in_1", ref: "jane", amount: 11_900, tax: 1_900, amount_paid: 5_950, created: AT };
    const paid = paymentOf(invoicePaid({ ...part, subscription: "sub_1", customer: "cus_1" }));

    it("counts pro rata with what had been paid of it (PAY-1)", () => {
      expect(factsOf(invoiceWrittenOff({ ...part, subscription: "sub_1", customer: "cus_1" }))).toEqual([
        { ...paid, written_off: true },
        {
          kind: "attribution",
          occurred_at: AT_ISO,
          ref: "jane",
          subscription_id: "sub_1",
          customer_id: "cus_1",
          payment: ["in_1"],
          kept_by: "subscription",
        },
      ]);
      expect(paid).toMatchObject({ paid: true, base_cents: 5_000, gross_cents: 5_950 });
      // A later part of it.
      const later = invoicePaymentSucceeded({ ...part, status: "uncollectible", amount_paid: 8_925 });
      expect(paymentOf(later)).toMatchObject({ base_cents: 7_500, gross_cents: 8_925, written_off: true });
    });

    it("counts what was paid elsewhere once, and nothing that was not paid (PAY-1)", () => {
      for (const object of [{ amount_paid_off_stripe: 5_950 }, { paid_out_of_band: true }]) {
        expect(paymentOf(invoiceWrittenOff({ ...part, object })).base_cents).toBe(5_000);
      }
    });

    it("says nothing where nobody paid", () => {
      expect(ignoredAs(invoiceWrittenOff({ ...part, amount_paid: 0 }))).toBe("invoice_never_paid");
    });

    it("is a paid one where it was paid by the time that it is read", () => {
      const whole = { ...part, amount_paid: 11_900, subscription: "sub_1", customer: "cus_1" };
      expect(factsOf(invoiceWrittenOff({ ...whole, status: "paid" }))).toEqual(factsOf(invoicePaid(whole)));
    });

    it("is refused where it is of an undocumented shape", () => {
      expect(refusedPaths(invoiceWrittenOff({ object: { amount_paid: -1 } }))).toEqual(["data.object.amount_paid"]);
    });
  });

  it("that is not paid yet is no payment, but is remembered", () => {
    const open = { status: "open", ref: "jane", customer: "cus_1", subscription: "sub_1" };
    expect(factsOf(invoicePaymentSucceeded(open))).toMatchObject([
      { kind: "attribution", ref: "jane", subscription_id: "sub_1" },
    ]);
    expect(ignoredAs(invoicePaid({ status: "open" }))).toBe("invoice_not_paid");
  });

  it.each([
    ["status", { status: "half" }, ["data.object.status"]],
    ["status", { status: null }, ["data.object.status"]],
    ["total", { total: "100" }, ["data.object.total"]],
    ["total", { total: null }, ["data.object.total"]],
    ["amount_paid", { amount_paid: -1 }, ["data.object.amount_paid"]],
    ["amount_paid", { amount_paid: undefined }, ["data.object.amount_paid"]],
    ["total_excluding_tax", { total_excluding_tax: 0.5 }, ["data.object.total_excluding_tax"]],
    ["taxes", { total_taxes: [{ amount: 1 }, { amount: "2" }] }, ["data.object.total_taxes.1.amount"]],
    ["currency", { currency: "" }, ["data.object.currency"]],
    ["lines", { lines: { data: [{ parent: 1 }] } }, ["data.object.lines.data.0.parent"]],
    ["subscription", { subscription: 1 }, ["data.object.subscription"]],
  ])("of an undocumented shape is refused with its path: %s %j", (_, object, paths) => {
    expect(refusedPaths(invoicePaid({ object }))).toEqual(paths);
  });

  it("complains of at most twenty things at once", () => {
    const total_taxes = Array.from({ length: 500 }, () => ({ amount: "x" }));
    expect(refusedPaths(invoicePaid({ object: { total_taxes } }))).toHaveLength(20);
  });
});
