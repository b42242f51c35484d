import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { amount, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import type { JournalAccount } from "../../domain/journal.ts";
import { cents, negate, type Cents } from "../../domain/money.ts";
import type { ProgramCtx } from "../kernel/context.ts";

/** Entries of one step. */
const SLICE = 1_000;

/**
 * The progress of adding up the entries of a partner with too many for one statement: the sums of all entries up to
 * `entry_id`, by `currency account`, and how many are counted there, by `currency account entries`.
 *
 * Invariant: entries are never changed or deleted, so the sums of a prefix stay right. The last slice and the balances
 * are read in one transaction, so an entry that is added during the walk is either in both or in neither. Only an entry
 * that is posted into the past (`core/ledger/journal.ts`, commissions older than the journal) can get behind the place:
 * then the sums seem to differ, and a difference is reported only after one statement has added up all entries of the
 * partner.
 */
export interface Walk {
  partner_id: string;
  entry_id: string;
  sums: Record<string, number>;
}

interface Entry {
  id: string;
  currency: string;
  from_account: JournalAccount;
  to_account: JournalAccount;
  amount_cents: Cents;
}

const ENTRY: Columns<Entry> = {
  id: text,
  currency: text,
  from_account: textOf<JournalAccount>(),
  to_account: textOf<JournalAccount>(),
  amount_cents: amount,
};

export function startWalk(partner_id: string): Walk {
  return { partner_id, entry_id: "", sums: {} };
}

/** Reads the next slice of a walk and the balances at the same instant; both are empty without a walk. */
export function walkReads(ctx: ProgramCtx, walk: Walk | null) {
  const own = sql`program_id = ${ctx.program.id} and partner_id = ${walk?.partner_id ?? "nobody"}`;
  return [
    selectRows(
      ctx.db,
      ENTRY,
      sql`select id, currency, from_account, to_account, amount_cents from entries
      where ${own} and id > ${walk?.entry_id ?? ""} order by id limit ${literal(SLICE)}`,
    ),
    selectRows(
      ctx.db,
      { name: text, kept: amount, entries: whole },
      sql`select currency || ' ' || account as name, amount_cents as kept, entries from balances where ${own}`,
    ),
  ] as const;
}

/** Moves the walk past its slice; at its end, `agrees` is the result of the comparison. */
export function advanceWalk(
  walk: Walk,
  entries: readonly Entry[],
  balances: readonly { name: string; kept: Cents; entries: number }[],
): { walk: Walk; isOver: boolean; agrees: boolean } {
  const sums = new Map(Object.entries(walk.sums));
  const count = (name: string, by: number) => sums.set(name, cents((sums.get(name) ?? 0) + by));
  for (const { currency, from_account, to_account, amount_cents } of entries) {
    // The program's expense is unbounded, and it has no kept balance.
    if (from_account !== "expense") count(`${currency} ${from_account}`, negate(amount_cents));
    if (to_account !== "expense") count(`${currency} ${to_account}`, amount_cents);
    count(`${currency} ${to_account === "expense" ? from_account : to_account} entries`, 1);
  }
  const after: Walk = {
    partner_id: walk.partner_id,
    entry_id: entries.at(-1)?.id ?? walk.entry_id,
    sums: Object.fromEntries(sums),
  };
  const isOver = entries.length < SLICE;
  for (const { name, kept, entries: counted } of isOver ? balances : []) {
    count(name, negate(kept));
    count(`${name} entries`, -counted);
  }
  return { walk: after, isOver, agrees: [...sums.values()].every((sum) => sum === 0) };
}
