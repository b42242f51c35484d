import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { commit } from "../kernel/commit.ts";
import type { ProgramCtx } from "../kernel/context.ts";
import { ACCOUNT, COUNTED_IN } from "../ledger/journal.ts";

/** Partners of one call. */
const REPAIRED_AT_ONCE = 20;

/**
 * Recomputes the balances that are known to differ, from the entries and the commissions, and the program's own from
 * its partners', in one transaction with an audit event. Only the operator's explicit decision repairs an amount of
 * money. The differences remain until the reconciler has checked again. Returns the partners whose balances were
 * recomputed.
 */
export async function repairBalances(ctx: ProgramCtx): Promise<string[]> {
  const program = ctx.program.id;
  const [known] = await ctx.read(
    selectRows(
      ctx.db,
      { subject: text },
      sql`select subject from differences
      where program_id = ${program} and kind = 'balance' order by subject limit ${literal(REPAIRED_AT_ONCE)}`,
    ),
  );
  if (known.length === 0) return [];
  const partners = known.map(({ subject }) => subject).filter((subject) => subject !== program);
  await commit(ctx, {
    writes: [
      ...partners.map((partner_id) => ({ statement: ctx.db.run(recomputed(program, partner_id)) })),
      { statement: ctx.db.run(recomputedProgram(program)) },
    ],
    occurrences: [{ type: "reconciliation.repaired", payload: { what: "balances", partner_ids: partners } }],
  });
  return partners;
}

const STORE = sql`on conflict (program_id, partner_id, currency, account)
  do update set amount_cents = excluded.amount_cents, commissions = excluded.commissions`;

const STORE_COUNTED = sql`${STORE}, entries = excluded.entries`;

/** Recomputes one partner's balances; they become 0 if the partner has no entries and no commissions any more. */
function recomputed(program_id: string, partner_id: string) {
  const own = sql`program_id = ${program_id} and partner_id = ${partner_id}`;
  return sql`insert into balances (program_id, partner_id, currency, account, amount_cents, commissions, entries)
    select ${program_id}, ${partner_id}, currency, account, sum(amount_cents), sum(commissions),
      sum(entries)
    from (select currency, to_account as account, amount_cents, 0 as commissions, to_account = ${COUNTED_IN} as entries
        from entries where ${own}
      union all select currency, from_account, -amount_cents, 0, from_account = ${COUNTED_IN} from entries where ${own}
      union all select currency, ${ACCOUNT}, 0, 1, 0 from commissions
        where partner_id = ${partner_id} and +program_id = ${program_id}
      union all select currency, account, 0, 0, 0 from balances where ${own})
    where account <> 'expense' group by currency, account ${STORE_COUNTED}`;
}

function recomputedProgram(program_id: string) {
  return sql`insert into balances (program_id, partner_id, currency, account, amount_cents, commissions)
    select ${program_id}, '', currency, account, sum(iif(partner_id = '', 0, amount_cents)),
      sum(iif(partner_id = '', 0, commissions))
    from balances where program_id = ${program_id} group by currency, account ${STORE}`;
}
