import { addUp, type Cents } from "../../domain/money.ts";
import type { Difference, Figures } from "../../domain/reconciliation.ts";
import type { Unsettled } from "../ledger/settle.ts";

interface Row {
  partner_id: string;
  currency: string;
  kind: string;
  status: string;
  amount_cents: Cents;
}

/** Compares a payment's commissions with those of its facts and decisions, by partner, kind and status. */
export function entitlementFinding(payment_id: string, { rows, occurrences }: Unsettled): Difference {
  const planned = new Map<string, Row>(rows.map((row) => [row.id, row]));
  for (const { payload } of occurrences) {
    const { commission_id, withdrawn, ...row } = payload as unknown as Row & {
      commission_id: string;
      withdrawn?: boolean;
    };
    if (withdrawn) planned.delete(commission_id);
    else planned.set(commission_id, row);
  }
  return {
    check: "entitlement",
    subject: payment_id,
    expected: sumsOf([...planned.values()]),
    found: sumsOf(rows),
  };
}

/** New commissions have no ids yet: grouping keeps the figures the same in every check. */
function sumsOf(rows: readonly Row[]): Figures {
  const named = Map.groupBy(rows, (row) => `${row.partner_id} ${row.currency} ${row.kind} ${row.status}`);
  const sums = [...named].map(([name, own]) => [name, addUp(own.map((row) => row.amount_cents))] as const);
  return Object.fromEntries(sums.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
