import type { Program } from "../../../core/kernel/rows.ts";
import { plural } from "./figures.tsx";

/** The day of the monthly run and the payout term in one sentence (OUT-3). */
export function payoutTermsText({
  payout_term,
  payout_currency,
}: Pick<Program, "payout_term" | "payout_currency">): string {
  const days = Number(payout_term.slice("NET-".length));
  const due = days === 0 ? "due at once" : `due ${plural(days, "day")} later`;
  return `Payouts are prepared on the first of each month${payout_currency === null ? "" : `, in ${payout_currency},`} and ${due}.`;
}

/** The effect of payout details on payouts without them (OUT-18), and of the hold that follows. */
export function addedDetailsText({ payout_change_hold_days: days }: Pick<Program, "payout_change_hold_days">): string {
  const taken = "A payout takes the details as soon as they are added";
  return days === 0 ? `${taken}.` : `${taken}, and can be paid ${plural(days, "day")} later, or once you release it.`;
}
