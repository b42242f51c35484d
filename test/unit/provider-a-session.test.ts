import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { readerOf } from "../support/parsed.ts";
import {
  invoicePaid,
  sessionAsyncFailed,
  sessionAsyncSucceeded,
  sessionCompleted,
  sessionSetup,
} from "../support/provider-a.ts";

const { attributionsOf, eventOf, factsOf, paymentOf, refusedPaths } = readerOf(providerA);

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
      test: false,
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
          refs: [{ ref: "Jane", place: "client_reference_id" }],
          customer_email: "buyer@example.com",
          customer_id: "cus_1",
          subscription_id: null,
        },
        {
          ...{ kind: "attribution", occurred_at: AT_ISO, ref: "Jane", subscription_id: null, customer_id: "cus_1" },
          payment: ["cs_1", "pi_1"],
        },
      ],
    });
  });

  it("shares its key with the invoice of a first subscription payment (PAY-5)", () => {
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

  describe("the money base is amount_total - total_details.amount_tax (PAY-1)", () => {
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

  it("carries every reference: its own, then those of what it names, where that is expanded (REF-1)", () => {
    const bag = (id: string, service_ref: string) => ({ id, metadata: { service_ref } });
    const event = sessionCompleted({
      ref: "cart-77",
      metadata: { service_ref: "jane" },
      object: {
        customer: bag("cus_1", "joe"),
        subscription: bag("sub_1", "JANE"),
        invoice: bag("in_1", "Cart-77"),
      },
    });
    expect(paymentOf(event)).toMatchObject({
      ref: "cart-77",
      refs: [
        { ref: "cart-77", place: "client_reference_id" },
        { ref: "jane", place: "metadata" },
        { ref: "joe", place: "customer_metadata" },
      ],
    });
    expect(attributionsOf(event).map(({ ref }) => ref)).toEqual(["cart-77", "jane", "joe"]);
  });

  describe("the reference is client_reference_id, else metadata.service_ref (REF-1)", () => {
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

  it("is not paid while it is unpaid, and is when the delayed payment succeeds (PAY-6)", () => {
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

  it("charges nothing while no payment is required, whatever its total", () => {
    const event = sessionCompleted({ amount: 5_000, tax: 800, payment_status: "no_payment_required", ref: "jane" });
    expect(paymentOf(event)).toMatchObject({ paid: true, base_cents: 0, gross_cents: 0 });
  });

  describe("of mode setup makes no payment but is remembered (PAY-6)", () => {
    it("for its subscription and customer", () => {
      const event = sessionSetup({ id: "cs_1", created: AT, ref: "jane", customer: "cus_1", subscription: "sub_1" });
      expect(factsOf(event)).toEqual([
        {
          ...{ kind: "attribution", occurred_at: AT_ISO, ref: "jane", subscription_id: "sub_1", customer_id: "cus_1" },
          payment: ["cs_1"],
        },
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
