import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/domain/fact.ts";
import { paymentState } from "../../src/domain/payment-state.ts";
import { chooseReference, type Leads } from "../../src/domain/reference.ts";
import { afterPaid, attributionFact, PAID_AT, paymentFact } from "../support/facts.ts";

const byRef = (ref: string) => (ref.toLowerCase() === "jane" ? { id: "par_jane" } : null);
const LEADS: Leads<{ id: string }> = {
  ...{ byRef, byOwnRef: byRef, byId: () => null, codes: { named: [], held: [] } },
};

function chosen(...facts: Fact[]) {
  const rules = { attribution: "first", code_precedence: "link" } as const;
  return chooseReference(facts, paymentState(facts)!, rules, LEADS, [], false);
}

describe("the references of a payment", () => {
  it("has each slug once in its trace, however many facts and spellings carry it (REF-2)", () => {
    const session = paymentFact({
      ...{ key: "cs_1", source: "session", ref: "Jane", refs: [{ ref: "Jane", place: "client_reference_id" }] },
    });
    const invoice = paymentFact({
      ref: "jane",
      refs: [
        { ref: "jane", place: "subscription_metadata" },
        { ref: "other", place: "customer_metadata" },
      ],
    });
    expect(chosen(invoice, session).candidates).toEqual([
      { ref: "Jane", source: "client_reference_id", partner_id: "par_jane" },
      { ref: "other", source: "customer_metadata", partner_id: null },
    ]);
  });
});

describe("a reference stored after the payment", () => {
  const HOUR = 3_600_000;
  const partnerOf = (fields: Parameters<typeof attributionFact>[0]) =>
    chosen(paymentFact(), attributionFact(fields)).partner?.id;

  it("counts within the hour in which a vendor reports one purchase (REF-4)", () => {
    expect(partnerOf({ occurred_at: afterPaid(HOUR) })).toBe("par_jane");
    expect(partnerOf({ occurred_at: afterPaid(HOUR + 1) })).toBeUndefined();
  });

  it("does not count if it is imported: an import is no event of the purchase", () => {
    expect(partnerOf({ imported: true, occurred_at: PAID_AT })).toBe("par_jane");
    expect(partnerOf({ imported: true, occurred_at: afterPaid(1) })).toBeUndefined();
  });
});
