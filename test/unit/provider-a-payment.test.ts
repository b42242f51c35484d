import { describe, expect, it } from "vitest";
import type { Fact, PaymentFact } from "../../src/domain/fact.ts";
import { providerA } from "../../src/providers/provider-a.ts";
import {
  bodyOfA,
  invoicePaid,
  invoicePaymentSucceeded,
  sessionAsyncFailed,
  sessionAsyncSucceeded,
  sessionCompleted,
  sessionSetup,
  type EventA,
} from "../support/provider-a.ts";

/** Parses an event as it comes off the wire. */
function parse(event: EventA) {
  return providerA.parse(JSON.parse(bodyOfA(event)));
}

function eventOf(event: EventA) {
  const result = parse(event);
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.details)}`);
  return result.event;
}

function factsOf(event: EventA): Fact[] {
  return eventOf(event).facts;
}

function paymentOf(event: EventA): PaymentFact {
  const payments = factsOf(event).filter((fact) => fact.kind === "payment");
  expect(payments).toHaveLength(1);
  return payments[0]!;
}

function attributionsOf(event: EventA) {
  return factsOf(event).filter((fact) => fact.kind === "attribution");
}

function refusedPaths(event: EventA): string[] {
  const result = parse(event);
  return result.ok ? [] : result.details.map((detail) => detail.path);
}

const AT = 1_755_480_865;
const AT_ISO = "2025-08-18T01:34:25.000Z";

describe("provider A: a completed checkout session", () => {
  it("is one payment, with everything a ledger needs", () => {
    const event = sessionCompleted({
      event_id: "evt_1",
      created: AT,
      id: "cs_1",
      ref: "Jane",
      amount: 12_000,
      tax: 2_000,
      currency: "eur",
      customer: "cus_1",
      payment_intent: "pi_1",
      email: "buyer@example.com",
    });
    expect(eventOf(event)).toEqual({
      event_id: "evt_1",
      event_type: "checkout.session.completed",
      occurred_at: AT_ISO,
      ignored: null,
      facts: [
        {
          kind: "payment",
          occurred_at: AT_ISO,
          key: "cs_1",
          source: "session",
          aliases: ["cs_1", "pi_1"],
          paid: true,
          currency: "EUR",
          base_cents: 10_000,
          gross_cents: 12_000,
          ref: "Jane",
          customer_email: "buyer@example.com",
          customer_id: "cus_1",
          subscription_id: null,
        },
        { kind: "attribution", occurred_at: AT_ISO, ref: "Jane", subscription_id: null, customer_id: "cus_1" },
      ],
    });
  });

  it("shares its key with the invoice of a first subscription payment (contract §5)", () => {
    const ids = { invoice: "in_1", subscription: "sub_1", customer: "cus_1" };
    const session = paymentOf(sessionCompleted({ ...ids, id: "cs_1", ref: "jane" }));
    expect(session).toMatchObject({ key: "in_1", aliases: ["cs_1", "in_1"], subscription_id: "sub_1" });
    const invoice = paymentOf(invoicePaid({ id: "in_1", subscription: "sub_1", customer: "cus_1" }));
    expect(invoice.key).toBe(session.key);
  });

  it.each([
    ["payment intent, customer, subscription and invoice expanded", (id: string) => ({ id, object: "whatever", x: 1 })],
    ["ids as texts", (id: string) => id],
  ])("takes %s", (_, of) => {
    const object = {
      payment_intent: of("pi_1"),
      customer: of("cus_1"),
      subscription: of("sub_1"),
      invoice: of("in_1"),
    };
    expect(paymentOf(sessionCompleted({ id: "cs_1", mode: "subscription", object }))).toMatchObject({
      key: "in_1",
      aliases: ["cs_1", "in_1", "pi_1"],
      customer_id: "cus_1",
      subscription_id: "sub_1",
    });
  });

  describe("the money base is amount_total - total_details.amount_tax (contract §5)", () => {
    it.each([
      [12_000, 2_000, 10_000],
      [12_000, 0, 12_000],
      [0, 0, 0],
      [1, 1, 0],
      [9_007_199_254_740_991, 1, 9_007_199_254_740_990],
    ])("%i with tax %i is %i", (amount, tax, base_cents) => {
      expect(paymentOf(sessionCompleted({ amount, tax }))).toMatchObject({ base_cents, gross_cents: amount });
    });

    it.each([
      ["no total_details", { total_details: null }],
      ["no tax in them", { total_details: { amount_discount: 0 } }],
      ["a tax of null", { total_details: { amount_tax: null } }],
    ])("has no tax with %s", (_, object) => {
      expect(paymentOf(sessionCompleted({ amount: 500, object })).base_cents).toBe(500);
    });

    it("leaves zero-decimal amounts as they are", () => {
      expect(paymentOf(sessionCompleted({ amount: 1100, tax: 100, currency: "jpy" }))).toMatchObject({
        base_cents: 1000,
        currency: "JPY",
      });
    });
  });

  describe("the reference is client_reference_id, else metadata.service_ref (contract §5)", () => {
    it.each<[string, Parameters<typeof sessionCompleted>[0], string | null]>([
      ["client_reference_id", { ref: "jane" }, "jane"],
      ["client_reference_id before metadata", { ref: "jane", metadata: { service_ref: "joe" } }, "jane"],
      ["metadata.service_ref", { metadata: { service_ref: "joe" } }, "joe"],
      ["metadata when client_reference_id is empty", { ref: "", metadata: { service_ref: "joe" } }, "joe"],
      ["taken literally, case and spaces", { ref: " Jane-_9 " }, " Jane-_9 "],
      ["none", {}, null],
      ["none in null metadata", { metadata: null }, null],
      ["none in an empty text", { metadata: { service_ref: "" } }, null],
      ["none in another key", { metadata: { Service_Ref: "joe", ref: "joe" } }, null],
      ["none in a list", { object: { metadata: [] } }, null],
    ])("%s", (_, overrides, ref) => {
      expect(paymentOf(sessionCompleted(overrides)).ref).toBe(ref);
    });
  });

  it.each([
    ["customer_details", { email: "a@example.com" }, "a@example.com"],
    [
      "customer_email where the details have none",
      { email: null, object: { customer_email: "b@example.com" } },
      "b@example.com",
    ],
    [
      "customer_email where there are no details",
      { object: { customer_details: null, customer_email: "b@example.com" } },
      "b@example.com",
    ],
    [
      "customer_details first",
      { email: "a@example.com", object: { customer_email: "b@example.com" } },
      "a@example.com",
    ],
    ["nowhere", { email: null }, null],
    ["nowhere: an empty one is none", { email: "" }, null],
  ])("takes the customer's e-mail from %s", (_, overrides, email) => {
    expect(paymentOf(sessionCompleted(overrides)).customer_email).toBe(email);
  });

  it("is not paid while it is unpaid, and is when the delayed payment succeeds (contract §5)", () => {
    const unpaid = sessionCompleted({ id: "cs_1", ref: "jane", customer: "cus_1", payment_status: "unpaid" });
    expect(paymentOf(unpaid)).toMatchObject({ key: "cs_1", paid: false });
    expect(attributionsOf(unpaid)).toHaveLength(1);
    const paid = sessionAsyncSucceeded({ id: "cs_1", ref: "jane", customer: "cus_1" });
    expect(paymentOf(paid)).toMatchObject({ key: "cs_1", paid: true });
    expect(eventOf(sessionAsyncFailed({ id: "cs_1", ref: "jane" }))).toMatchObject({
      facts: [],
      ignored: "payment_failed",
    });
  });

  it("is paid when nothing was to be paid: a zero amount is judged later", () => {
    const event = sessionCompleted({
      amount: 0,
      payment_status: "no_payment_required",
      ref: "jane",
      customer: "cus_1",
    });
    expect(paymentOf(event)).toMatchObject({ paid: true, base_cents: 0, gross_cents: 0 });
    expect(attributionsOf(event)).toHaveLength(1);
  });

  describe("of mode setup makes no payment but is remembered (contract §5)", () => {
    it("for its subscription and customer", () => {
      const event = sessionSetup({ created: AT, ref: "jane", customer: "cus_1", subscription: "sub_1" });
      expect(factsOf(event)).toEqual([
        { kind: "attribution", occurred_at: AT_ISO, ref: "jane", subscription_id: "sub_1", customer_id: "cus_1" },
      ]);
    });

    it("unless there is nothing to remember, or no one to remember it for", () => {
      expect(eventOf(sessionSetup({ customer: "cus_1" }))).toMatchObject({ facts: [], ignored: "setup_without_ref" });
      expect(eventOf(sessionSetup({ ref: "jane" }))).toMatchObject({ facts: [], ignored: "setup_without_customer" });
    });
  });

  it("is remembered only with a reference of its own and someone to remember it for", () => {
    expect(attributionsOf(sessionCompleted({ ref: "jane" }))).toEqual([]);
    expect(attributionsOf(sessionCompleted({ customer: "cus_1" }))).toEqual([]);
    expect(attributionsOf(sessionCompleted({ ref: "jane", subscription: "sub_1" }))).toMatchObject([
      { subscription_id: "sub_1", customer_id: null },
    ]);
  });

  it.each([
    ["amount_total", { amount_total: null }, ["data.object.amount_total"]],
    ["amount_total", { amount_total: "12000" }, ["data.object.amount_total"]],
    ["amount_total", { amount_total: -1 }, ["data.object.amount_total"]],
    ["amount_total", { amount_total: 10.5 }, ["data.object.amount_total"]],
    ["amount_total", { amount_total: 2 ** 53 }, ["data.object.amount_total"]],
    ["currency", { currency: null }, ["data.object.currency"]],
    ["currency", { currency: "euro" }, ["data.object.currency"]],
    ["currency", { currency: "e1r" }, ["data.object.currency"]],
    ["id", { id: "" }, ["data.object.id"]],
    ["id", { id: null }, ["data.object.id"]],
    ["mode", { mode: "gift" }, ["data.object.mode"]],
    ["payment_status", { payment_status: "maybe" }, ["data.object.payment_status"]],
    ["tax", { total_details: { amount_tax: 10_001 } }, ["data.object.total_details.amount_tax"]],
    ["tax", { total_details: { amount_tax: "1" } }, ["data.object.total_details.amount_tax"]],
    ["invoice", { invoice: 5 }, ["data.object.invoice"]],
    ["customer", { customer: { name: "x" } }, ["data.object.customer"]],
    ["client_reference_id", { client_reference_id: 5 }, ["data.object.client_reference_id"]],
    ["two", { id: 1, currency: 2 }, ["data.object.id", "data.object.currency"]],
  ])("of an undocumented shape is refused with its path: %s %j", (_, object, paths) => {
    expect(refusedPaths(sessionCompleted({ amount: 10_000, object }))).toEqual(paths);
  });

  it("may lack what is optional, and hold what is new", () => {
    const whole = sessionCompleted({ id: "cs_1", ref: "jane", created: AT });
    const { id, mode, payment_status, amount_total, currency, client_reference_id } = whole.data.object;
    const bare = {
      id: "evt_1",
      type: whole.type,
      created: AT,
      brand_new: { deep: [1] },
      data: { object: { id, mode, payment_status, amount_total, currency, client_reference_id, brand_new: [{}] } },
    };
    const result = providerA.parse(bare);
    expect(result).toMatchObject({ ok: true, event: { facts: [{ key: "cs_1", ref: "jane", aliases: ["cs_1"] }] } });
  });
});

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
        customer_email: "buyer@example.com",
        customer_id: "cus_1",
        subscription_id: "sub_1",
      },
      { kind: "attribution", occurred_at: AT_ISO, ref: "jane", subscription_id: "sub_1", customer_id: "cus_1" },
    ]);
  });

  it("says the same under both names of the event", () => {
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

  describe("fully paid counts without tax, in every shape (contract §5)", () => {
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

  describe("partly covered by credit counts pro rata to amount_paid (contract §5)", () => {
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
    ["new shape: told how much", { amount_paid: 0, amount_paid_off_stripe: 11_900 }, 10_000],
    ["new shape: told twice", { amount_paid: 11_900, amount_paid_off_stripe: 11_900 }, 10_000],
    ["in part", { amount_paid: 5_950, amount_paid_off_stripe: 5_950 }, 10_000],
    [
      "new shape: told twice, beside credit",
      { amount_due: 5_950, amount_paid: 5_950, amount_paid_off_stripe: 5_950 },
      5_000,
    ],
    ["old shape: marked so, beside credit", { amount_due: 5_950, amount_paid: 0, paid_out_of_band: true }, 5_000],
    ["not at all", { amount_paid: 5_950, amount_paid_off_stripe: 0, paid_out_of_band: false }, 5_000],
    ["not known to be due", { amount_paid: 5_950, amount_due: undefined, paid_out_of_band: true }, 5_000],
  ])("paid outside the vendor is paid too: %s", (_, object, base_cents) => {
    expect(paymentOf(invoicePaid({ amount: 11_900, tax: 1_900, object })).base_cents).toBe(base_cents);
  });

  describe("takes the reference in the contract's order (§5)", () => {
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

  it("that is not paid yet is no payment, but is remembered", () => {
    const open = { status: "open", ref: "jane", customer: "cus_1", subscription: "sub_1" };
    expect(factsOf(invoicePaymentSucceeded(open))).toMatchObject([
      { kind: "attribution", ref: "jane", subscription_id: "sub_1" },
    ]);
    expect(eventOf(invoicePaid({ status: "open" }))).toMatchObject({ facts: [], ignored: "invoice_not_paid" });
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
