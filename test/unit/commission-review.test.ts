import { describe, expect, it } from "vitest";
import { reviewColumnsOf, mergeReview } from "../../src/domain/commission.ts";
import { checkChange } from "../../src/domain/commission-change.ts";

const ROW = {
  status: "pending" as const,
  payout_id: null,
  rejected_reason: null,
  approved_at: null,
  dismissed_reasons: "",
  ...reviewColumnsOf([]),
};

/** The order of the reasons (PAY-11). */
describe("why a commission waits for a person", () => {
  it("the gravest reason is the one shown (PAY-11)", () => {
    expect(mergeReview(ROW, ["disputed", "subscription_canceled"])).toEqual({
      flagged: true,
      review_reason: "disputed",
      review_reasons: "disputed,subscription_canceled",
    });
  });

  it("the owner's own flag stays beneath the others and comes back when they go", () => {
    const flagged = { ...ROW, ...reviewColumnsOf(["manual"]) };
    const disputed = { ...flagged, ...mergeReview(flagged, ["disputed"]) };
    expect(disputed).toMatchObject({ review_reason: "disputed", review_reasons: "disputed,manual" });
    expect(mergeReview(disputed, [])).toEqual(reviewColumnsOf(["manual"]));
  });

  it("clearing the flag clears all that holds, and each of it for good", () => {
    const row = {
      ...ROW,
      ...reviewColumnsOf(["disputed", "self_referral", "manual"]),
      dismissed_reasons: "mostly_refunded",
    };
    const judged = checkChange(row, { flagged: false }, "2026-11-01T00:00:00.000Z");
    expect(judged).toEqual({
      ok: true,
      changes: { ...reviewColumnsOf([]), dismissed_reasons: "mostly_refunded,disputed,self_referral" },
    });
    const cleared = { ...row, ...(judged.ok ? judged.changes : {}) };
    expect(mergeReview(cleared, ["disputed", "self_referral", "mostly_refunded"]).flagged).toBe(false);
    expect(mergeReview(cleared, ["disputed", "subscription_canceled"])).toEqual(
      reviewColumnsOf(["subscription_canceled"]),
    );
  });
});
