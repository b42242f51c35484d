import { sql } from "drizzle-orm";
import { amount, nullable, selectRows, text } from "../../db/rows.ts";
import { compareCurrencies } from "../../domain/amount.ts";
import { addUp, NOTHING, subtract, type Cents } from "../../domain/money.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import type { AccountSum } from "../ledger/journal.ts";

/** A partner's money in one currency, by state. Each amount is in exactly one of the sums; smallest units. */
export interface Earnings {
  currency: string;
  /** Pending until a person approves. */
  review_cents: Cents;
  /** Pending until the hold ends and time approves it. */
  held_cents: Cents;
  /** When (ISO 8601) the hold of the first and of the last held commission ends; null if no commission is held. */
  held: { first: string; last: string } | null;
  /** Approved and not in a payout; negative if more was paid than is earned by now. */
  payable_cents: Cents;
  in_payout_cents: Cents;
  paid_cents: Cents;
}

interface Pending {
  currency: string;
  /** When the first and the last hold of a pending commission without a flag ends. */
  first: string | null;
  last: string | null;
  /** The sum of the flagged commissions. */
  flagged: Cents;
}

/** Selects the pending commissions for `earningsOf`: two rows a currency, and the few flagged ones. */
export function selectPending(ctx: ProgramCtx, partner_id: string) {
  const own = sql`partner_id = ${partner_id} and status = 'pending' and ${alsoOfProgram(ctx, sql`program_id`)}`;
  const plain = sql`from commissions indexed by commissions_waiting where ${own} and flagged = 0 and currency`;
  return selectRows(
    ctx.db,
    { currency: text, first: nullable(text), last: nullable(text), flagged: amount },
    sql`with recursive held (name) as (
        select min(currency) ${plain} > ''
        union all
        select (select min(currency) ${plain} > held.name) from held where held.name is not null)
      select name as currency, (select min(hold_until) ${plain} = held.name) as first,
        (select max(hold_until) ${plain} = held.name) as last, 0 as flagged
      from held where name is not null
      union all
      select currency, null, null, sum(amount_cents)
      from commissions indexed by commissions_waiting where ${own} and flagged = 1 group by currency`,
  );
}

/** Calculates a partner's earnings by currency, the program's first, from rows read at one moment. */
export function earningsOf(
  { program }: Pick<ProgramCtx, "program">,
  sums: readonly AccountSum[],
  pending: readonly Pending[],
): Earnings[] {
  const { auto_approve_days } = program;
  return [...Map.groupBy(sums, ({ currency }) => currency)]
    .map(([currency, own]): Earnings => {
      const at = (account: AccountSum["account"]) =>
        own.find((row) => row.account === account)?.amount_cents ?? NOTHING;
      const waiting = pending.filter((row) => row.currency === currency);
      const flagged = addUp(waiting.map((row) => row.flagged));
      const review_cents = auto_approve_days === null ? at("pending") : flagged;
      const span = waiting.find(({ first, last }) => first !== null && last !== null);
      return {
        currency,
        review_cents,
        held_cents: auto_approve_days === null ? NOTHING : subtract(at("pending"), flagged),
        held: auto_approve_days === null || !span ? null : { first: span.first!, last: span.last! },
        payable_cents: at("payable"),
        in_payout_cents: at("in_payout"),
        paid_cents: at("paid"),
      };
    })
    .toSorted((a, b) => compareCurrencies(a.currency, b.currency, program.currency));
}
