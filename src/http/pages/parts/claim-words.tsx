import type { SaleClaim } from "../../../core/kernel/rows.ts";
import type { ClaimAnswer, ClaimStatus } from "../../../domain/claim.ts";
import { dayText } from "../locale.ts";

/** The partner's texts for a claim (CLAIM-3): a sentence for each answer, without names or amounts. */
export const ANSWER_TEXTS: Record<ClaimAnswer, string> = {
  waiting: "The program is reviewing it. The answer appears here.",
  granted: "The sale is yours.",
  declined: "The program declined this claim.",
  not_found: "No sale with this order id has been reported. Please check the id.",
  of_another: "This sale came through another partner.",
  commission: "The sale is yours, and it earned a commission.",
  no_ref: "The sale did not come through a partner's link or code.",
  unknown_ref: "The sale had an unknown reference. Please check the spelling of your link.",
  unknown_code: "The sale used a promotion code that belongs to no partner.",
  partner_not_active: "The sale is yours. You get the commission as soon as you are active.",
  partner_deactivated: "You were deactivated when the sale was made, so it did not earn.",
  zero_amount: "The customer paid nothing for this order, so there is nothing to share.",
  unpaid: "The customer has not paid yet. The commission follows when the money arrives.",
  test_mode: "It was a test order. Test orders earn nothing.",
  no_flow: "It was a sign-up, and this program only pays for sales.",
  too_large: "The sale is too large for this service. The program will decide.",
  claimed_elsewhere: "The sale belongs to another program.",
  merged: "The sale was reported twice. It counts once, under its other id.",
};

/** A claim's status, for partners and owners. */
export const CLAIM_TEXTS: Record<ClaimStatus, string> = { open: "open", granted: "approved", declined: "declined" };

/** A sale in the partner's words. */
export function SaleOf({ claim }: { claim: Pick<SaleClaim, "order_id" | "day" | "email_domain"> }) {
  if (claim.order_id !== null) return <code>{claim.order_id}</code>;
  if (claim.day === null) return <span class="muted">Erased with its customer</span>;
  return (
    <span>
      {dayText(claim.day)} <span class="second">{claim.email_domain}</span>
    </span>
  );
}
