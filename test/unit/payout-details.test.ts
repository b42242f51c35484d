/** Fields that hold a payout's destination, wherever they are nested (TEAM-1, ACCESS-12). */
import { expect, it } from "vitest";
import { withDetailsInPart, withoutDetails } from "../../src/core/kernel/payout-details.ts";

const nested = {
  of: [{ account_id: "acct_1RTa2bXyZ", n: 1 }, [{ recipient: "a@b.example" }]],
  metadata: { recipient: "ours" },
};

it("are left out in lists too, and the owner's metadata stays", () => {
  expect(withoutDetails(nested)).toEqual({ of: [{ n: 1 }, [{}]], metadata: { recipient: "ours" } });
});

it("are shown in part in lists too", () => {
  expect(JSON.stringify(withDetailsInPart(nested))).not.toContain("acct_1RTa2bXyZ");
});
