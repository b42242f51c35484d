import type { CommissionKind, CommissionStatus } from "./commission.ts";
import type { Cents } from "./money.ts";

/**
 * The accounts of a partner's money. `expense` is the program's side, the counterpart of amounts that the partner does
 * not have, or no longer has.
 */
export const JOURNAL_ACCOUNTS = ["expense", "pending", "payable", "in_payout", "paid", "forgiven"] as const;
export type JournalAccount = (typeof JOURNAL_ACCOUNTS)[number];

/**
 * The account that holds a commission's amount. A rejected commission is worth 0, so its amount is back in `expense`; a
 * rejected clawback is a debt that the owner forgave, kept in `forgiven` with its sign. The triggers of `commissions`
 * implement the same in SQL; a test compares the two.
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
