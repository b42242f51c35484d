import { expect, it } from "vitest";
import { isPossibleDuplicate } from "../../src/domain/twin.ts";
import { afterPaid, paymentFact } from "../support/facts.ts";

const HOUR = 3_600_000;
const WEEK = 168 * HOUR;
const outside = paymentFact({ key: "in_out", aliases: ["in_out"], tie: "outside" });
const invoice = paymentFact({ key: "in_out", aliases: ["in_out"] });
const intent = paymentFact({ key: "pi_1", source: "intent", aliases: ["pi_1"], tie: "open" });

it.each([
  ["a week from an invoice paid outside the vendor", outside, WEEK],
  ["an hour from an invoice", invoice, HOUR],
])("a payment may be a duplicate up to %s (PAY-25)", (_, first, within) => {
  const twins = [{ payment: "other", fact: first }];
  for (const [apart, expected] of [
    [within, true],
    [within + 1, false],
  ] as const) {
    const second = { ...intent, occurred_at: afterPaid(apart) };
    expect([apart, isPossibleDuplicate([second], twins)]).toEqual([apart, expected]);
  }
});
