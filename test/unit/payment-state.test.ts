import { describe, expect, it } from "vitest";
import { cents, MOST } from "../../src/domain/money.ts";
import type { Fact } from "../../src/domain/fact.ts";
import { adjustedTotal, paymentState } from "../../src/domain/payment-state.ts";
import { adjustmentFact, afterPaid, paymentFact } from "../support/facts.ts";

function adjusted(...facts: Fact[]): number {
  const all = [paymentFact(), ...facts];
  return adjustedTotal(all, paymentState(all)!);
}

describe("the state of a payment", () => {
  it("is a test only if every report is one (PAY-13)", () => {
    const test = paymentFact({ test: true });
    expect(paymentState([test])!.test).toBe(true);
    expect(paymentState([test, paymentFact({ key: "cs_1", source: "session" })])!.test).toBe(false);
  });
});

describe("the total of adjustments", () => {
  const charge = adjustmentFact({
    ...{ adjustment_id: "ch_1", aliases: ["ch_1", "in_1"], mode: "cumulative", amount_cents: cents(10_000) },
  });
  const refund = (id: string, amount: number, ms: number) =>
    adjustmentFact({
      ...{ adjustment_id: id, aliases: [id, "ch_1"], mode: "refund_failed", amount_cents: cents(amount) },
      ...{ occurred_at: afterPaid(ms), effective: false },
    });

  it("is at least the sum of a charge's refunds if its own newest report is missing (PAY-7)", () => {
    const refunds = [refund("re_1", 10_000, -1), refund("re_2", 5_000, 1)];
    expect(adjusted(charge)).toBe(10_000);
    expect(adjusted(charge, refunds[0]!)).toBe(10_000);
    expect(adjusted(charge, ...refunds)).toBe(15_000);
  });

  it("gives a reversal back once, whether its own report, the reversed adjustment or both state it (PAY-8)", () => {
    const chargeback = adjustmentFact({ reversal: "possible" });
    const reversed = adjustmentFact({ reversal: "done", effective: false, occurred_at: afterPaid(1) });
    const reversal = adjustmentFact({ adjustment_id: "adj_2", direction: "reverse", amount_cents: cents(4_000) });
    expect(adjusted(chargeback)).toBe(10_000);
    expect(adjusted(chargeback, reversal)).toBe(6_000);
    expect(adjusted(chargeback, reversed)).toBe(0);
    expect(adjusted(chargeback, reversed, reversal)).toBe(0);
  });

  it("is the whole payment if a refund in another currency is at least what that currency states, or no fact states it", () => {
    const inEuros = paymentFact({
      ...{ key: "cs_1", source: "session", aliases: ["cs_1", "in_1"], currency: "EUR" },
      ...{ base_cents: cents(80_000), gross_cents: cents(80_000) },
    });
    const refundOf = (amount: number) => adjustmentFact({ currency: "EUR", amount_cents: cents(amount) });
    expect(adjusted(inEuros, refundOf(40_000))).toBe(50_000);
    expect(adjusted(inEuros, refundOf(80_000))).toBe(100_000);
    expect(adjusted(inEuros, refundOf(MOST))).toBe(100_000);
    expect(adjusted(refundOf(1))).toBe(100_000);
  });
});
