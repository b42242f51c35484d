import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/domain/fact.ts";
import { cents } from "../../src/domain/money.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { readerOf } from "../support/parsed.ts";
import {
  balanceTransaction,
  chargeCaptured,
  chargeRefunded,
  chargeSucceeded,
  disputeClosed,
  disputeEvent,
  invoicePaymentPaid,
  paymentIntentSucceeded,
  refundEvent,
  refundFailed,
  type EventA,
} from "../support/provider-a.ts";

const { factsOf, ignoredAs, refusedPaths } = readerOf(providerA);

const AT = 1_755_480_865;
const AT_ISO = "2025-08-18T01:34:25.000Z";
const expanded = (id: string) => ({ id, object: "expanded" });

describe("provider A: refunds", () => {
  it("charge.refunded states the charge's total refunded so far, tax included", () => {
    const event = chargeRefunded({
      created: AT,
      charge: "ch_1",
      payment_intent: "pi_1",
      invoice: "in_1",
      amount: 3000,
      refunded: 1000,
    });
    expect(factsOf(event)).toEqual([
      {
        kind: "adjustment",
        occurred_at: AT_ISO,
        adjustment_id: "charge:ch_1",
        aliases: ["ch_1", "pi_1", "in_1"],
        mode: "cumulative",
        amount_cents: 1000,
        currency: "USD",
        moved: { by: "pi_1", amount_cents: 3000, currency: "USD" },
        net_of_tax: false,
        direction: "deduct",
        stage: 0,
        effective: true,
      },
    ]);
  });

  it.each<[string, EventA, string[]]>([
    ["no invoice, as since 2025-03-31", chargeRefunded({ charge: "ch_1", payment_intent: "pi_1" }), ["ch_1", "pi_1"]],
    ["no payment intent, as long ago", chargeRefunded({ charge: "ch_1", invoice: "in_1" }), ["ch_1", "in_1"]],
    ["nothing but itself", chargeRefunded({ charge: "ch_1" }), ["ch_1"]],
    [
      "both, expanded",
      chargeRefunded({ charge: "ch_1", object: { payment_intent: expanded("pi_1"), invoice: expanded("in_1") } }),
      ["ch_1", "pi_1", "in_1"],
    ],
  ])("charge.refunded of a charge that names %s", (_, event, aliases) => {
    expect(factsOf(event)).toMatchObject([{ aliases }]);
  });

  it.each([
    [{ amount_refunded: undefined }, ["data.object.amount_refunded"]],
    [{ amount_refunded: "1000" }, ["data.object.amount_refunded"]],
    [{ amount_refunded: -1 }, ["data.object.amount_refunded"]],
    [{ id: undefined }, ["data.object.id"]],
    [{ payment_intent: [] }, ["data.object.payment_intent"]],
    [{ currency: "dollars" }, ["data.object.currency"]],
  ])("charge.refunded of an undocumented shape is refused: %j", (object, paths) => {
    expect(refusedPaths(chargeRefunded({ object }))).toEqual(paths);
  });

  it.each([
    ["refund.failed", "failed"],
    ["refund.failed", "pending"],
    ["refund.updated", "failed"],
    ["refund.updated", "canceled"],
    ["charge.refund.updated", "failed"],
    ["charge.refund.updated", "canceled"],
  ])("%s with status %s gives back what the total had taken", (type, status) => {
    const ids = { id: "re_1", charge: "ch_1", payment_intent: "pi_1", amount: 700, created: AT };
    expect(factsOf(refundEvent(type, { ...ids, status }))).toEqual([
      {
        kind: "adjustment",
        occurred_at: AT_ISO,
        adjustment_id: "re_1",
        aliases: ["ch_1", "pi_1"],
        mode: "refund_failed",
        amount_cents: 700,
        currency: "USD",
        net_of_tax: false,
        direction: "deduct",
        stage: 0,
        effective: true,
      },
    ]);
  });

  it("a failure reported three times is one adjustment", () => {
    const ids = { id: "re_1", charge: "ch_1", amount: 700, status: "failed", created: AT };
    const facts = ["refund.failed", "refund.updated", "charge.refund.updated"].map((type) =>
      factsOf(refundEvent(type, ids)),
    );
    expect(facts[1]).toEqual(facts[0]);
    expect(facts[2]).toEqual(facts[0]);
  });

  it.each(["pending", "requires_action", "succeeded", null])("one that is %s holds", (status) => {
    for (const type of ["refund.created", "refund.updated", "charge.refund.updated"]) {
      const event = refundEvent(type, { id: "re_1", charge: "ch_1", amount: 700, object: { status } });
      const facts = { adjustment_id: "re_1", mode: "refund_failed", amount_cents: 700, effective: false };
      expect(factsOf(event)).toMatchObject([facts]);
    }
  });

  it("one that names no payment cannot be counted", () => {
    expect(ignoredAs(refundFailed())).toBe("refund_without_payment");
  });

  it.each([
    [{ amount: null }, ["data.object.amount"]],
    [{ id: 7 }, ["data.object.id"]],
    [{ charge: 7 }, ["data.object.charge"]],
  ])("a failed one of an undocumented shape is refused: %j", (object, paths) => {
    expect(refusedPaths(refundFailed({ charge: "ch_1", object }))).toEqual(paths);
  });
});

describe("provider A: disputes", () => {
  const ids = { id: "du_1", charge: "ch_1", payment_intent: "pi_1", amount: 1500, created: AT };
  const fact = (effective: boolean, stage = 1): Fact => ({
    kind: "adjustment",
    occurred_at: AT_ISO,
    adjustment_id: "du_1",
    aliases: ["ch_1", "pi_1"],
    mode: "single",
    amount_cents: cents(1500),
    currency: "USD",
    net_of_tax: false,
    direction: "deduct",
    stage,
    effective,
  });

  it.each([
    ["lost", true],
    ["won", false],
    ["warning_closed", false],
    ["charge_refunded", false],
  ])("closed %s: takes the money %s", (status, effective) => {
    expect(factsOf(disputeClosed({ ...ids, status }))).toEqual([fact(effective)]);
  });

  it("funds reinstated withdraw the deduction", () => {
    expect(factsOf(disputeEvent("charge.dispute.funds_reinstated", { ...ids, status: "won" }))).toEqual([
      fact(false, 2),
    ]);
  });

  it.each([
    ["a part", [-1500, 500], 1000],
    ["a part, in the account's currency", [-1234, 617], 750],
    ["nothing, as far as it says", [], 1500],
    ["more than it took", [-1500, 1600], 0],
    ["what it never took", [500], 1500],
    ["a part, taken in two", [-1000, -500, 300], 1200],
  ])("funds reinstated of one that stays lost give back %s", (_, moves, kept) => {
    const object = { balance_transactions: moves.map((move) => balanceTransaction(move)) };
    const lost = { ...ids, status: "lost", object };
    const expected = { ...fact(true, 2), amount_cents: cents(kept) };
    expect(factsOf(disputeEvent("charge.dispute.funds_reinstated", lost))).toEqual([expected]);
    expect(factsOf(disputeClosed(lost))).toEqual([{ ...expected, stage: 1 }]);
  });

  it.each([
    ["all, whatever a conversion adjusts", [-1500, 37], [], 1500],
    ["all, whatever a fee takes", [-1500], [["fee", -1500]], 1500],
    ["the rest of what is given back", [-1500], [["dispute_reversal", 500]], 1000],
    ["nothing, where all that was booked is given back", [-1500, 37], [["dispute_reversal", 1463]], 0],
    [
      "nothing of a reversal that was taken back",
      [-1500],
      [
        ["dispute_reversal", 500],
        ["dispute_reversal", -500],
      ],
      1500,
    ],
  ] as const)("by what the vendor books, one that is lost takes %s (PAY-18)", (_, taken, others, kept) => {
    const moves = [...taken.map((amount) => ["dispute", amount] as const), ...others];
    const object = { balance_transactions: moves.map(([as, amount]) => balanceTransaction(amount, "usd", as)) };
    expect(factsOf(disputeClosed({ ...ids, status: "lost", object }))).toMatchObject([{ amount_cents: kept }]);
  });

  it.each([
    ["nothing, where it was blocked", [], 0],
    ["what was withdrawn", [-1500], 1500],
    ["in the account's currency, what was withdrawn", [-1234], 1500],
    ["the rest of what is given back", [-1500, 500], 1000],
    ["nothing, where all is given back", [-1500, 1500], 0],
  ])("one that was prevented takes %s", (_, moves, kept) => {
    const object = { balance_transactions: moves.map((move) => balanceTransaction(move)) };
    const prevented = { ...ids, status: "prevented", object };
    const expected = { ...fact(true), amount_cents: cents(kept) };
    for (const change of ["created", "funds_withdrawn", "closed"]) {
      expect(factsOf(disputeEvent(`charge.dispute.${change}`, prevented))).toEqual([expected]);
    }
  });

  describe.each(["charge.dispute.created", "charge.dispute.updated", "charge.dispute.funds_withdrawn"])(
    "%s",
    (type) => {
      it.each(["needs_response", "under_review", "warning_needs_response", "warning_under_review", "a_new_one"])(
        "leaves it open while its status is %s",
        (status) => {
          expect(factsOf(disputeEvent(type, { ...ids, status }))).toEqual([{ ...fact(false, 0), open: true }]);
        },
      );

      it.each([
        ["lost", true],
        ["won", false],
      ])("that comes when it is %s says how it ended", (status, effective) => {
        expect(factsOf(disputeEvent(type, { ...ids, status }))).toEqual([fact(effective)]);
      });
    },
  );

  it("without an id, as in the vendor's published example, goes by its charge", () => {
    const object = { id: undefined, payment_intent: undefined };
    expect(factsOf(disputeClosed({ ...ids, object }))).toMatchObject([
      { adjustment_id: "dispute:ch_1", aliases: ["ch_1"] },
    ]);
  });

  it("takes an expanded charge and payment intent", () => {
    const object = { charge: expanded("ch_1"), payment_intent: expanded("pi_1") };
    expect(factsOf(disputeClosed({ ...ids, object }))).toEqual([fact(true)]);
  });

  it.each([
    [{ amount: -1 }, ["data.object.amount"]],
    [{ amount: "1500" }, ["data.object.amount"]],
    [{ status: null }, ["data.object.status"]],
    [{ status: "needs_response" }, ["data.object.status"]],
    [{ status: "constructor" }, ["data.object.status"]],
    [{ charge: null, payment_intent: null }, ["data.object.charge"]],
  ])("of an undocumented shape is refused: %j", (object, paths) => {
    expect(refusedPaths(disputeClosed({ ...ids, object }))).toEqual(paths);
  });
});

describe("provider A: links between a payment's ids (PAY-18)", () => {
  it.each<[string, EventA, string[]]>([
    ["invoice and payment intent", invoicePaymentPaid({ invoice: "in_1", payment_intent: "pi_1" }), ["in_1", "pi_1"]],
    ["invoice and charge", invoicePaymentPaid({ invoice: "in_1", charge: "ch_1" }), ["in_1", "ch_1"]],
    [
      "invoice and payment intent, expanded",
      invoicePaymentPaid({
        invoice: "in_1",
        object: { invoice: expanded("in_1"), payment: { type: "payment_intent", payment_intent: expanded("pi_1") } },
      }),
      ["in_1", "pi_1"],
    ],
    [
      "charge, payment intent and invoice",
      chargeSucceeded({ charge: "ch_1", payment_intent: "pi_1", invoice: "in_1" }),
      ["ch_1", "pi_1", "in_1"],
    ],
    ["charge and payment intent", chargeSucceeded({ charge: "ch_1", payment_intent: "pi_1" }), ["ch_1", "pi_1"]],
    [
      "payment intent, charge and invoice",
      paymentIntentSucceeded({ payment_intent: "pi_1", charge: "ch_1", invoice: "in_1" }),
      ["pi_1", "ch_1", "in_1"],
    ],
    [
      "payment intent and the invoice that billing wrote as the order",
      paymentIntentSucceeded({ payment_intent: "pi_1", order_reference: "in_1" }),
      ["pi_1", "in_1"],
    ],
  ])("%s", (_, event, aliases) => {
    expect(factsOf(event)).toMatchObject([{ kind: "link", aliases }]);
  });

  it("say what was taken, once, of what an invoice or a session is paid with", () => {
    const ids = { charge: "ch_1", payment_intent: "pi_1", amount: 900, currency: "eur" };
    const moved = { by: "pi_1", amount_cents: 900, currency: "EUR" };
    expect(factsOf(chargeSucceeded(ids))).toMatchObject([{ moved }]);
    expect(factsOf(paymentIntentSucceeded({ ...ids, order_reference: "in_1" }))).toMatchObject([{ moved }]);
    expect(factsOf(paymentIntentSucceeded(ids))).toMatchObject([
      { kind: "payment", gross_cents: 900, currency: "EUR" },
    ]);
    const old = { ...ids, payment_intent: null, invoice: "in_1" };
    expect(factsOf(chargeSucceeded(old))).toMatchObject([{ moved: { ...moved, by: "ch_1" } }]);
    // A held amount may be released.
    expect(factsOf(chargeSucceeded({ ...ids, captured: 0 }))[0]).not.toHaveProperty("moved");
    expect(factsOf(chargeSucceeded({ ...ids, object: { amount_captured: null } }))[0]).not.toHaveProperty("moved");
  });

  it("count what a charge took, although its flag contradicts that (PAY-24)", () => {
    const [ids, flag] = [{ charge: "ch_1", amount: 900 }, { captured: false }];
    const taken = [{ kind: "payment", key: "ch_1", gross_cents: 900 }];
    expect(factsOf(chargeSucceeded({ ...ids, object: flag }))).toMatchObject(taken);
    expect(factsOf(chargeCaptured({ ...ids, object: flag }))).toMatchObject(taken);
    const old = { ...flag, amount_captured: undefined };
    expect(factsOf(chargeCaptured({ ...ids, object: old }))).toMatchObject(taken);
    expect(ignoredAs(chargeSucceeded({ ...ids, object: old }))).toBe("nothing_paid_yet");
    expect(ignoredAs(chargeSucceeded({ ...ids, captured: 0, object: flag }))).toBe("nothing_paid_yet");
  });

  it("need two ids", () => {
    const record = { payment: { type: "payment_record", payment_record: "pr_1" } };
    expect(ignoredAs(invoicePaymentPaid({ invoice: "in_1", object: record }))).toBe("nothing_to_link");
  });

  it("are refused with a path when an id is none", () => {
    expect(refusedPaths(chargeSucceeded({ object: { payment_intent: 7 } }))).toEqual(["data.object.payment_intent"]);
    expect(refusedPaths(invoicePaymentPaid({ invoice: "in_1", object: { payment: null } }))).toEqual([
      "data.object.payment",
    ]);
  });
});
