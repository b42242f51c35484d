import type { SaleClaim } from "../../../core/kernel/rows.ts";
import type { ClaimAnswer, ClaimStatus } from "../../../domain/claim.ts";
import { dayText } from "../locale.ts";

/** The partner's texts for a claim (CLAIM-3): a sentence for each answer, without names or amounts. */
export const ANSWER_TEXTS: Record<ClaimAnswer, string> = {
  waiting: "The program looks at it. You see the answer here.",
  granted: "The sale is yours.",
  declined: "The program declined this claim.",
  not_found: "No sale with this order id has been reported. Please check the id.",
  of_another: "This sale came through another partner.",
  commission: "The sale is yours, and it earned a commission.",
  no_ref: "The sale carried no partner's reference: it did not come through a link or a code that we know.",
  unknown_ref: "The sale carried a reference that is no partner's. Please check the spelling of your link.",
  unknown_code: "The sale was made with a promotion code that is no partner's.",
  partner_not_active: "The sale is yours. Its commission is made as soon as you are active.",
  partner_deactivated: "You were deactivated when the sale was made, so it did not earn.",
  zero_amount: "The customer paid nothing for this order, so there is nothing to share.",
  unpaid: "The customer has not paid yet. The commission is made when the money arrives.",
  test_mode: "It was a test order. Test orders earn nothing.",
  no_flow: "It was a sign-up, and this program pays for sales only.",
  too_large: "The sale is larger than this service can credit. The program decides on it.",
  claimed_elsewhere: "The sale was made for another program, which decides on it.",
  merged: "The sale was reported twice. It counts once, under its other id.",
};

/** A claim's status, for partners and owners. */
export const CLAIM_TEXTS: Record<ClaimStatus, string> = { open: "open", granted: "granted", declined: "declined" };

/** A sale in the partner's words. */
export function SaleOf({ claim }: { claim: Pick<SaleClaim, "order_id" | "day" | "email_domain"> }) {
  if (claim.order_id !== null) return <code>{claim.order_id}</code>;
  if (claim.day === null) return <span class="muted">Forgotten with its customer</span>;
  return (
    <span>
      {dayText(claim.day)} <span class="second">{claim.email_domain}</span>
    </span>
  );
}
