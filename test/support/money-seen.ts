/** A program of a money world, and its whole ledger by the vendors' ids and the partners' slugs. */
import { sql } from "drizzle-orm";
import { makeWorldProgram, type WorldFlow } from "./ledger-world.ts";
import { ledgerOf } from "./ledger.ts";
import type { ModelFlow } from "./money-model.ts";
import type { MoneyWorld } from "./money-world.ts";
import { testContext, type TestProgram } from "./program.ts";

export function programOf({ flows, attribution }: MoneyWorld): Promise<TestProgram> {
  return makeWorldProgram(flows.map(flowOf), { attribution, auto_approve_days: 1 });
}

function flowOf({ above, provider, ...rest }: ModelFlow): WorldFlow {
  return {
    ...rest,
    active: true,
    conditions: [
      { field: "txn_amount_cents", op: "gt", value: above },
      ...(provider === null ? [] : [{ field: "provider" as const, op: "eq" as const, value: provider }]),
    ],
  };
}

/** The ledger without the parts that differ between two programs. */
export async function seen(program: TestProgram) {
  const { payments, commissions } = await ledgerOf(program);
  const { db } = testContext();
  const slugs = await slugsOf(program);
  const keys = new Map(payments.map((row) => [row.id, row.provider_transaction_id]));
  return {
    // An intent and its session are one payment: the merged one is skipped. Flows do not match leads: a lead's earnings
    // would be among the rows.
    outcomes: Object.fromEntries(
      payments
        .filter(({ event, outcome }) => event === "transaction_completed" && outcome !== "merged")
        .map((row) => [row.provider_transaction_id, row.outcome]),
    ),
    rows: commissions
      .map((row) => ({
        key: keys.get(row.payment_id!)!,
        partner: slugs.get(row.partner_id)!,
        ...{ kind: row.kind, status: row.status, amount: row.amount_cents, currency: row.currency },
        ...{ base: row.txn_amount_cents, reason: row.review_reason, payout_id: row.payout_id, rate: row.rate },
        created_at: row.created_at,
      }))
      .toSorted((a, b) => (`${a.key} ${a.partner} ${a.amount}` < `${b.key} ${b.partner} ${b.amount}` ? -1 : 1)),
    balances: await db.all<{ partner: string; currency: string; account: string; amount: number; count: number }>(
      sql`select p.slug as partner, b.currency, b.account, b.amount_cents as amount, b.commissions as count
        from balances b join partners p on p.id = b.partner_id
        where b.program_id = ${program.id} and (b.amount_cents <> 0 or b.commissions <> 0) order by 1, 2, 3`,
    ),
    entries: await db.all<{ partner: string; currency: string; amount: number }>(
      sql`select p.slug as partner, e.currency, sum(iif(e.from_account = 'expense', e.amount_cents, 0))
          - sum(iif(e.to_account = 'expense', e.amount_cents, 0)) as amount
        from entries e join partners p on p.id = e.partner_id where e.program_id = ${program.id} group by 1, 2
        having amount <> 0`,
    ),
  };
}
export type Seen = Awaited<ReturnType<typeof seen>>;

/** The slug of each partner, by id. */
export async function slugsOf({ id }: TestProgram): Promise<Map<string, string>> {
  const rows = await testContext().db.all<{ id: string; slug: string }>(
    sql`select id, slug from partners where program_id = ${id}`,
  );
  return new Map(rows.map((row) => [row.id, row.slug]));
}
