/**
 * What the reconciler compares (ledger design, "Reconciler"): `journal` a commission with its entries, `entitlement` a
 * payment's commissions with what its facts and decisions come to, `balance` a partner's balances with the entries,
 * `payout` a payout with its commissions and entries, `transfer` a payout with the transfer at the vendor.
 */
export const CHECKS = ["journal", "entitlement", "balance", "payout", "transfer"] as const;
export type Check = (typeof CHECKS)[number];

/** Amounts (smallest units) and what else is compared, by name. */
export type Figures = Record<string, unknown>;

/** Money that is not what it must be. */
export interface Difference {
  check: Check;
  /** The id of the commission, payment, partner or payout; the program's for its own balances. */
  subject: string;
  expected: Figures;
  found: Figures;
}

/** How many subjects were looked at. */
export interface Checked {
  commissions: number;
  payments: number;
  partners: number;
  payouts: number;
  transfers: number;
}
