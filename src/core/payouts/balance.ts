import { add, NOTHING, subtract, type Cents } from "../../domain/money.ts";
import type { Balances, Transfers } from "../../providers/connect.ts";

type Amount = { amount_cents: Cents; currency: string };

/** The vendor's balance, read for the first of several payouts, less their transfers since. */
export interface Balance {
  /** False only if the known balance is too small: otherwise the vendor decides. Never throws. */
  covers(api_key: string, payout: Amount): Promise<boolean>;
  /** Counts a payout whose transfer was made, or may have been made. */
  spend(payout: Amount): void;
}

/** Asks the vendor at most once for each API key. */
export function openBalance(transfers: Pick<Transfers, "balances" | "transferableAmount">): Balance {
  const asked = new Map<string, Promise<Balances | null>>();
  const spent = new Map<string, Cents>();
  return {
    async covers(api_key, payout) {
      let answer = asked.get(api_key);
      if (!answer) asked.set(api_key, (answer = transfers.balances(api_key)));
      const available = (await answer)?.get(payout.currency);
      if (available === undefined) return true;
      const left = subtract(available, spent.get(payout.currency) ?? NOTHING);
      return left >= transfers.transferableAmount(payout);
    },
    spend(payout) {
      const used = spent.get(payout.currency) ?? NOTHING;
      spent.set(payout.currency, add(used, transfers.transferableAmount(payout)));
    },
  };
}
