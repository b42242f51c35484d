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
