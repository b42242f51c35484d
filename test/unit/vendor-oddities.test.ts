/** Vendors report some changes in more than one way: each way gives the amount that really went back (PAY-7, PAY-8). */
import { describe, expect, it } from "vitest";
import { testFact, type Fact } from "../../src/domain/fact.ts";
import { adjustedTotal, isDisputed, paymentState } from "../../src/domain/payment-state.ts";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { providerB } from "../../src/providers/provider-b/index.ts";
import { readerOf } from "../support/parsed.ts";
import * as a from "../support/provider-a.ts";
import * as b from "../support/provider-b.ts";

const T = 1_780_000_000;
const readA = readerOf(providerA);
const readB = readerOf(providerB);

/** The net amount that went back of a payment, in this order of its events and in the reverse. */
function gone(events: readonly (a.EventA | b.EventB)[]): number {
  const facts = events.flatMap((event): Fact[] => ("type" in event ? readA : readB).factsOf(event));
  const state = paymentState(facts)!;
  const adjusted = adjustedTotal(facts, state);
  expect(adjustedTotal(facts.toReversed(), state)).toBe(adjusted);
  return adjusted;
}

describe("what charges took, in another currency than the payment's", () => {
  const invoice = a.invoicePaid({ id: "in_1", currency: "jpy", amount: 1_500_000 });
  const charges = [3_000, 4_000, 5_000].map((amount, i) => ({
    ...{ charge: `ch_${i}`, payment_intent: `pi_${i}`, invoice: "in_1", amount },
  }));
  const paid = 12_000;

  it("pays nothing that waits for its money, and changes nothing of what was paid", () => {
    const intent = a.paymentIntentSucceeded({ payment_intent: "pi_0", amount: 3_000, order_reference: "in_1" });
    const session = { payment_intent: "pi_0", invoice: "in_1", amount: 12_000 };
    const stateOf = (...events: a.EventA[]) => paymentState(events.flatMap(readA.factsOf));
    const unpaid = a.sessionCompleted({ ...session, payment_status: "unpaid" });
    const more = [intent, a.chargeSucceeded(charges[0]), a.chargeRefunded({ ...charges[1], refunded: 0 })];
    expect(stateOf(unpaid, ...more)).toEqual(stateOf(unpaid));
    expect(stateOf(invoice, ...more)).toEqual(stateOf(invoice));
  });

  it("counts once, of test events too, where the intent of a session says it as well", () => {
    const ids = { payment_intent: "pi_1", charge: "ch_1", amount: 3_000 };
    const facts = [
      a.sessionCompleted({ payment_intent: "pi_1", currency: "jpy", amount: 1_500_000 }),
      a.paymentIntentSucceeded(ids),
      a.chargeSucceeded(ids),
      a.chargeRefunded({ ...ids, refunded: 300 }),
    ].flatMap(readA.factsOf);
    for (const of of [facts, facts.map(testFact)]) expect(adjustedTotal(of, paymentState(of)!)).toBe(150_000);
  });

  it("takes no less than the part that went back, whichever charges are known, and that part where all are", () => {
    const said = (charge: (typeof charges)[number], refunded: number): a.EventA[][] => [
      refunded > 0 ? [a.refundEvent("refund.created", { ...charge, amount: refunded })] : [],
      [a.chargeSucceeded(charge), a.refundEvent("refund.created", { ...charge, amount: refunded })],
      [a.paymentIntentSucceeded(charge), a.refundEvent("refund.created", { ...charge, amount: refunded })],
      [a.chargeRefunded({ ...charge, refunded })],
      [a.chargeRefunded({ ...charge, refunded }), a.chargeSucceeded(charge), a.paymentIntentSucceeded(charge)],
    ];
    for (const refunds of [
      [0, 0, 500],
      [300, 0, 500],
      [3_000, 4_000, 1],
    ]) {
      const part = Math.round((1_500_000 * refunds.reduce((sum, one) => sum + one)) / paid);
      const [first, second, third] = charges.map((charge, i) => [...said(charge, refunds[i]!).entries()]);
      for (const [i, one] of first!)
        for (const [j, two] of second!)
          for (const [k, three] of third!) {
            const all = gone([invoice, ...links(charges), ...one, ...two, ...three]);
            expect(all, `${i} ${j} ${k}`).toBeGreaterThanOrEqual(part);
            if (i > 0 && j > 0 && k > 0) expect(all, `${i} ${j} ${k}`).toBe(part);
          }
    }
  });
});

function links(charges: readonly { charge: string; payment_intent: string; invoice: string }[]): a.EventA[] {
  return charges.map(({ charge, payment_intent, invoice }) =>
    a.invoicePaymentPaid({ charge, payment_intent, invoice }),
  );
}

describe("refunds of provider A", () => {
  const ids = { payment_intent: "pi_1", charge: "ch_1" };
  const bought = a.sessionCompleted({ ref: "jane", payment_intent: "pi_1", created: T });
  const total = (refunded: number, at: number) => a.chargeRefunded({ ...ids, refunded, created: T + at });
  const refund = (type: string, id: string, amount: number, status: string, at: number) =>
    a.refundEvent(`refund.${type}`, { ...ids, id, amount, status, created: T + at });

  it("count where only those of the refunds are sent", () => {
    expect(gone([bought, refund("created", "re_1", 3_000, "pending", 1)])).toBe(3_000);
    expect(
      gone([
        bought,
        refund("created", "re_1", 3_000, "pending", 1),
        refund("updated", "re_1", 3_000, "succeeded", 2),
        refund("created", "re_2", 500, "succeeded", 2),
      ]),
    ).toBe(3_500);
  });

  it("count once where those of the charge are sent as well", () => {
    const both = [refund("created", "re_1", 3_000, "succeeded", 1), total(3_000, 1)];
    expect(gone([bought, ...both])).toBe(3_000);
    expect(gone([bought, ...both, total(4_000, 2)])).toBe(4_000);
  });

  it("that failed are given back once, in either version's events", () => {
    const failed = [refund("failed", "re_1", 3_000, "failed", 5), refund("updated", "re_1", 3_000, "failed", 5)];
    expect(gone([bought, total(3_000, 1), ...failed])).toBe(0);
    expect(gone([bought, refund("created", "re_1", 3_000, "pending", 1), ...failed])).toBe(0);
  });

  it("that failed before the next one take nothing from it, though they are edited afterwards", () => {
    const events = [total(1_000, 1), refund("failed", "re_1", 1_000, "failed", 2), total(700, 3)];
    expect(gone([bought, ...events])).toBe(700);
    expect(gone([bought, ...events, refund("updated", "re_1", 1_000, "failed", 4)])).toBe(700);
  });

  it("that fail in the second of the next one take nothing from it where its own event is sent", () => {
    const events = [
      ...[total(1_000, 1), refund("created", "re_1", 1_000, "succeeded", 1)],
      ...[refund("failed", "re_1", 1_000, "failed", 3), total(700, 3)],
      refund("created", "re_2", 700, "succeeded", 3),
    ];
    expect(gone([bought, ...events])).toBe(700);
  });

  it("are of their own charge, where one intent has several", () => {
    const other = { payment_intent: "pi_1", charge: "ch_2" };
    const events = [
      ...[total(1_000, 1), a.chargeRefunded({ ...other, refunded: 2_000, created: T + 1 })],
      a.refundFailed({ ...other, id: "re_2", amount: 2_000, created: T + 2 }),
    ];
    expect(gone([bought, ...events])).toBe(1_000);
  });

  it("of nothing take nothing", () => {
    expect(gone([bought, total(0, 1), refund("created", "re_1", 0, "succeeded", 1)])).toBe(0);
  });
});

describe("an invoice of provider A", () => {
  it("paid in several parts loses what is refunded of each", () => {
    const paid = a.invoicePaid({ id: "in_1", ref: "jane", amount: 10_000, created: T });
    const parts = ["1", "2"].flatMap((n) => [
      a.invoicePaymentPaid({ invoice: "in_1", payment_intent: `pi_${n}`, charge: `ch_${n}`, created: T }),
      a.chargeRefunded({ payment_intent: `pi_${n}`, charge: `ch_${n}`, refunded: 1_500, created: T + 1 }),
    ]);
    expect(gone([paid, ...parts])).toBe(3_000);
  });

  it("names the same ids expanded as it does in short", () => {
    const expanded = (id: string) => ({ id, object: "expanded" });
    const fields = { id: "in_1", shape: "old" as const, event_id: "evt_1", created: T, subscription: "sub_1" };
    const short = a.invoicePaid({ ...fields, payment_intent: "pi_1", charge: "ch_1", customer: "cus_1" });
    const long = a.invoicePaid({
      ...fields,
      object: {
        ...{ payment_intent: expanded("pi_1"), charge: expanded("ch_1"), customer: expanded("cus_1") },
        subscription: expanded("sub_1"),
      },
    });
    expect(readA.factsOf(long)).toEqual(readA.factsOf(short));
  });
});

describe("a credit note of provider A", () => {
  const bought = a.invoicePaid({ id: "in_1", amount: 12_000, tax: 2_000, created: T });
  const note = (change: string, given: Parameters<typeof a.creditNoteEvent>[1], at = 1) =>
    a.creditNoteEvent(`credit_note.${change}`, { id: "cn_1", ...given, created: T + at });

  it("takes what it gives back outside of the vendor, net of tax, and nothing that is reported elsewhere", () => {
    expect(gone([bought, note("created", { outside: 6_000 })])).toBe(5_000);
    expect(gone([bought, note("created", { outside: 1_200, recorded: 2_400, refunded: 3_600 })])).toBe(3_000);
    expect(readA.ignoredAs(note("created", { refunded: 3_600 }))).toBe("counted_elsewhere");
    expect(readA.ignoredAs(note("created", { outside: 0 }))).toBe("counted_elsewhere");
  });

  it("counts once, beside refunds, and not where it is voided", () => {
    const refunded = a.chargeRefunded({ charge: "ch_1", invoice: "in_1", refunded: 6_000, created: T + 1 });
    const twice = [note("created", { outside: 3_000 }), note("updated", { outside: 3_000 }, 2)];
    expect(gone([bought, ...twice, refunded])).toBe(7_500);
    expect(gone([bought, ...twice, note("voided", { outside: 3_000, status: "void" }, 2)])).toBe(0);
    expect(gone([bought, note("voided", { outside: 3_000 }), note("created", { outside: 3_000 })])).toBe(0);
  });
});

describe("disputes of a part", () => {
  const ids = { payment_intent: "pi_1", charge: "ch_1" };
  const dispute = (change: string, status: string, at: number) =>
    a.disputeEvent(`charge.dispute.${change}`, {
      ...{ id: "du_1", ...ids, amount: 4_000, currency: "jpy", status, created: T + at },
    });
  const bought = a.sessionCompleted({
    amount: 12_000,
    tax: 2_000,
    currency: "jpy",
    payment_intent: "pi_1",
    created: T,
  });

  it("take their share net of tax when lost, beside a refund", () => {
    const events = [dispute("created", "needs_response", 1), dispute("closed", "lost", 2)];
    const refunded = a.chargeRefunded({ ...ids, refunded: 2_000, currency: "jpy", created: T + 1 });
    expect(gone([bought, ...events, refunded])).toBe(5_000);
  });

  it("are open again when they are appealed", () => {
    const events = [dispute("closed", "lost", 2), dispute("updated", "appeal_under_review", 3)];
    const facts = events.flatMap(readA.factsOf);
    expect([isDisputed(facts), gone([bought, ...events])]).toEqual([true, 0]);
  });
});

describe("adjustments of provider B", () => {
  const bought = b.transactionCompleted({ id: "txn_1", ref: "jane", occurred_at: "2026-06-01T10:00:00Z" });
  const at = (minute: number) => ({ occurred_at: `2026-06-01T10:0${minute}:00Z` });
  const adjusted = (
    id: string,
    action: NonNullable<b.AdjustmentOverrides["action"]>,
    status: NonNullable<b.AdjustmentOverrides["status"]>,
    amount: number,
    minute: number,
  ) => b.adjustmentCreated({ id, transaction: "txn_1", action, status, amount, ...at(minute) });
  const refund = adjusted("adj_1", "refund", "approved", 3_000, 1);

  describe.each(["chargeback", "chargeback_warning"] as const)("of a %s beside a refund", (action) => {
    const taken = adjusted("adj_2", action, "approved", 5_000, 2);
    const reversed = adjusted("adj_2", action, "reversed", 5_000, 3);
    const reversal = adjusted("adj_3", `${action}_reverse`, "approved", 5_000, 3);

    it("take both", () => expect(gone([bought, refund, taken])).toBe(8_000));

    it.each([
      ["an adjustment of its own", [reversal]],
      ["its state", [reversed]],
      ["both", [reversal, reversed]],
    ])("and a reversal reported by %s leave the refund", (_, fields) => {
      expect(gone([bought, refund, taken, ...fields])).toBe(3_000);
    });

    it("and a reversal of a part leave the rest of it", () => {
      expect(gone([bought, refund, taken, adjusted("adj_3", `${action}_reverse`, "approved", 2_000, 3)])).toBe(6_000);
    });

    it("and a reversal that only waits take both", () => {
      expect(gone([bought, refund, taken, adjusted("adj_3", `${action}_reverse`, "pending_approval", 5_000, 3)])).toBe(
        8_000,
      );
    });

    it("and a second one that is lost leave the second", () => {
      const second = adjusted("adj_4", action, "approved", 1_000, 4);
      expect(gone([bought, refund, taken, reversal, reversed, second])).toBe(4_000);
    });

    it("leave the refund where the reversal alone is known", () => {
      expect(gone([bought, refund, reversal])).toBe(3_000);
    });
  });

  it.each([
    ["approved", 3_000],
    ["rejected", 0],
    ["reversed", 0],
  ] as const)("that are refunds, %s after they waited", (status, expected) => {
    const waits = adjusted("adj_1", "refund", "pending_approval", 3_000, 1);
    expect(gone([bought, waits])).toBe(0);
    expect(gone([bought, waits, adjusted("adj_1", "refund", status, 3_000, 1)])).toBe(expected);
  });
});
