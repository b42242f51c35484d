import type { CommissionKind, CommissionStatus } from "./commission.ts";
import type { Cents } from "./money.ts";

/** Where a partner's money is. `expense` is the program's side: what is not, or no longer, the partner's. */
export const JOURNAL_ACCOUNTS = ["expense", "pending", "payable", "in_payout", "paid", "forgiven"] as const;
export type JournalAccount = (typeof JOURNAL_ACCOUNTS)[number];

/**
 * The account that holds a commission's amount. A rejected commission is worth nothing, so its amount is back in
 * `expense`; a rejected clawback is a debt that the owner forgave, kept in `forgiven` with its sign. The triggers of
 * `commissions` say the same in SQL; a test holds the two together.
 */
export function accountOf(row: {
  kind: CommissionKind;
  status: CommissionStatus;
  payout_id: string | null;
  amount_cents: Cents;
}): JournalAccount {
  if (row.status === "approved") return row.payout_id === null ? "payable" : "in_payout";
  if (row.status !== "rejected") return row.status;
  return row.kind === "clawback" && row.amount_cents < 0 ? "forgiven" : "expense";
}
