/**
 * The reconciler's comparisons (ledger design, "Reconciler"). `journal`: a commission and its entries. `entitlement`: a
 * payment's commissions and the amounts that its facts and decisions yield. `balance`: a partner's balances and the
 * entries. `payout`: a payout with its commissions and entries. `transfer`: a payout and the transfer at the vendor.
 */
export const CHECKS = ["journal", "entitlement", "balance", "payout", "transfer"] as const;
export type Check = (typeof CHECKS)[number];

/** Compared values by name, amounts in smallest units. */
export type Figures = Record<string, unknown>;

/** A difference between actual and expected money. */
export interface Difference {
  check: Check;
  /** The id of the commission, payment, partner or payout; the program's for its own balances. */
  subject: string;
  expected: Figures;
  found: Figures;
}

/** The number of subjects compared. */
export interface Checked {
  commissions: number;
  payments: number;
  partners: number;
  payouts: number;
  transfers: number;
}
