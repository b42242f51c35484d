/** The complete books of a program, to compare programs that reached them in different ways. */
import { sql } from "drizzle-orm";
import { ledgerOf } from "./ledger.ts";
import { programContext, testContext, type TestProgram } from "./program.ts";
import { differencesOf } from "./reconcile.ts";
import { all } from "./rows.ts";

/** An id of the service's own, wherever it is. */
const OWN_ID = /\b[a-z]+_[0-9a-hjkmnp-tv-z]{26}\b/g;
/** An id that the played vendors make up for the product or price of a line. */
const PLAYED_ID = /\b(?:pro|pri)_[0-9a-f]{18}\b/g;
/** Columns that hold the time and the number of writes, not the content. */
const WRITTEN = new Set([
  "updated_at",
  "facts_revision",
  "settled_revision",
  "decided_at",
  "seq",
  "rules_seen",
  "seen_at",
]);

/** The number of intermediate settlements shows in the entries, but not in their sums. */
const JOURNAL = `select partner_id, currency, account, sum(amount) as amount from (
    select partner_id, currency, to_account as account, amount_cents as amount from entries where program_id = ?1
    union all
    select partner_id, currency, from_account, -amount_cents from entries where program_id = ?1)
  group by 1, 2, 3 having sum(amount) <> 0`;

/** The kept aggregates: lengths of lists, balances, and statistics by day, by code and by link. */
const KEPT = {
  counts: "select list, state, count from list_counts where program_id = ?1 and count <> 0 and state <> 'merged'",
  days: "select list, day, state, count from list_days where program_id = ?1 and count <> 0 and state <> 'merged'",
  balances: `select partner_id, currency, account, amount_cents, commissions from balances
    where program_id = ?1 and (amount_cents <> 0 or commissions <> 0)`,
  earned: `select day, partner_id, currency, commissions, amount_cents as amount, revenue_cents as revenue
    from earning_days where program_id = ?1 and (commissions <> 0 or amount_cents <> 0 or revenue_cents <> 0)`,
  partner_sales: `select partner_id, currency, sales, revenue_cents as revenue from partner_sales
    where program_id = ?1 and (sales <> 0 or revenue_cents <> 0)`,
  codes: `select d.day, d.partner_id, k.code, d.currency, d.sales, d.revenue_cents as revenue, d.earned_cents as earned
    from code_days d join partner_codes k on k.id = d.code_id where d.program_id = ?1
      and (d.sales <> 0 or d.revenue_cents <> 0 or d.earned_cents <> 0)`,
  sold: `select day, partner_id, leads, sales, first_sales from sale_days
    where program_id = ?1 and (leads <> 0 or sales <> 0 or first_sales <> 0)`,
} as const;

/** Every event of a vendor is reported once, and counted once. */
const REPORTED = `select
    (select count(*) from provider_events where program_id = ?1) as stored,
    (select count(*) from provider_events where program_id = ?1 and audit_event_id is null) as unreported,
    (select count(*) from events where program_id = ?1 and type like 'webhook.provider%') as reported,
    (select coalesce(sum(count), 0) from event_counts where program_id = ?1 and type like 'webhook.provider%') as counted`;

interface Reported {
  stored: number;
  unreported: number;
  reported: number;
  counted: number;
}

export type Books = Record<"payments" | "commissions" | "journal" | "events" | keyof typeof KEPT, string[]>;

/**
 * The books of a program as lines, in no order, without the ids and the instants of their writing, and without `mark`,
 * which may be in each id of a vendor's. Without merged payments: a payment has such a row only if the event that joined
 * its ids came last (PAY-14).
 * @throws if they contradict themselves: the reconciler finds a difference, or a vendor's event is not reported once.
 */
export async function booksOf(program: TestProgram, mark = ""): Promise<Books> {
  const found = await differencesOf(programContext(program));
  if (found.length > 0) throw new Error(`the reconciler finds: ${JSON.stringify(found)}`);
  const [count] = await all<Reported>(REPORTED, program.id);
  const { stored, unreported, reported, counted } = count!;
  if (unreported > 0 || reported !== stored || counted !== stored) {
    throw new Error(`not every event is reported once: ${JSON.stringify(count)}`);
  }
  const lines = await linesOf(program, mark);
  const { payments, commissions } = await ledgerOf(program);
  const kept = await Promise.all(Object.entries(KEPT).map(async ([name, rows]) => [name, await lines(rows)] as const));
  return {
    payments: payments
      .filter(({ outcome }) => outcome !== "merged")
      .map(lines.of)
      .toSorted(),
    commissions: commissions.map(lines.of).toSorted(),
    journal: await lines(JOURNAL),
    // An event without facts is on no list. A part that another program of the account passed on repeats the whole.
    events: await lines(
      `select provider, event_id from provider_events e where program_id = ?1 and exists (
        select 1 from facts f where f.program_id = e.program_id and f.provider = e.provider
          and f.fact_id >= e.event_id || '#' and f.fact_id < e.event_id || '$')
        and not exists (select 1 from provider_events w where w.program_id = e.program_id and w.provider = e.provider
          and w.event_id = substr(e.event_id, 1, instr(e.event_id, ':') - 1))`,
    ),
    ...(Object.fromEntries(kept) as Record<keyof typeof KEPT, string[]>),
  };
}

/** Rows as lines, with the names of partners and payments in place of their ids. */
async function linesOf(program: TestProgram, mark: string) {
  const { payments } = await ledgerOf(program);
  const partners = await testContext().db.all<{ id: string; slug: string }>(
    sql`select id, slug from partners where program_id = ${program.id}`,
  );
  const named = new Map<string, string>([
    ...payments.map((row) => [row.id, row.provider_transaction_id] as const),
    ...partners.map(({ id, slug }) => [id, slug] as const),
    [program.id, "(program)"],
  ]);
  const of = (row: object): string =>
    JSON.stringify(Object.fromEntries(Object.entries(row).filter(([name]) => !WRITTEN.has(name))))
      .replaceAll(OWN_ID, (id) => named.get(id) ?? "(id)")
      .replaceAll(PLAYED_ID, "(id)")
      .replaceAll(mark === "" ? /(?!)/g : mark, "");
  const lines = async (rows: string) => (await all<object>(rows, program.id)).map(of).toSorted();
  return Object.assign(lines, { of });
}
