import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { pageOf, cursorId, window, type Page, type PageRequest } from "../../db/page.ts";
import { amount, orNull, shaped, text, textOf, whole, type Columns } from "../../db/rows.ts";
import type { JournalAccount } from "../../domain/journal.ts";
import { addUp, negate, NOTHING, type Cents } from "../../domain/money.ts";
import { isUnavailable, notFound } from "../../lib/errors.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import type { Ctx, Reader } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/job.ts";
import type { CurrencyStats } from "../kernel/views.ts";

/** One currency of what a partner has earned, by where the money is; smallest units. */
export interface PartnerBalance {
  currency: string;
  pending_cents: Cents;
  /** Approved and in no payout. Below 0 where more was paid than is earned by now: the next payout is less by that. */
  payable_cents: Cents;
  in_payout_cents: Cents;
  paid_cents: Cents;
  /** Clawbacks that the owner forgave: paid, not earned, and not asked back. */
  forgiven_cents: Cents;
}

/** A movement of money between two accounts of a partner. */
export interface JournalEntry {
  id: string;
  partner_id: string;
  commission_id: string;
  payout_id: string | null;
  currency: string;
  from_account: JournalAccount;
  to_account: JournalAccount;
  /** Smallest units, above 0. */
  amount_cents: Cents;
  posted_at: string;
  /** The audit event of the change that posted it; null where none is known. */
  event_id: string | null;
}

const JOURNAL_ENTRY: Columns<JournalEntry> = {
  id: text,
  partner_id: text,
  commission_id: text,
  payout_id: orNull(text),
  currency: text,
  from_account: textOf<JournalAccount>(),
  to_account: textOf<JournalAccount>(),
  amount_cents: amount,
  posted_at: text,
  event_id: orNull(text),
};

/** Where a commission's amount is, as `accountOf` in `domain/journal.ts` and the triggers say it; over its columns. */
export const ACCOUNT = sql.raw(`case status when 'pending' then 'pending' when 'paid' then 'paid'
  when 'approved' then iif(payout_id is null, 'payable', 'in_payout')
  else iif(kind = 'clawback' and amount_cents < 0, 'forgiven', 'expense') end`);

/**
 * Amounts and counts by currency and account: the kept balances and, exactly once, the commissions older than the journal
 * that are not in it yet. As many rows are read as there are currencies and accounts.
 */
function accountSums(ctx: Pick<Reader, "programId">, partner_id: string, unjournaled: SQL): SQL {
  return sql`select currency, account, sum(amount_cents) as amount_cents, sum(commissions) as commissions from (
      select currency, account, amount_cents, commissions from balances
      where program_id = ${ctx.programId} and partner_id = ${partner_id}
      union all
      select currency, ${ACCOUNT}, amount_cents, 1 from commissions indexed by commissions_unjournaled
      where ${unjournaled} and program_id = ${ctx.programId} and journaled = 0)
    where account <> 'expense' group by currency, account having sum(commissions) > 0 or sum(amount_cents) <> 0`;
}

/** What one account holds in one currency. */
export interface AccountSum {
  currency: string;
  account: Exclude<JournalAccount, "expense">;
  amount_cents: Cents;
  commissions: number;
}

const ACCOUNT_SUM: Columns<AccountSum> = {
  currency: text,
  account: textOf<Exclude<JournalAccount, "expense">>(),
  amount_cents: amount,
  commissions: whole,
};

/** The statement whose rows `statsOf` reads. */
export function partnerSums(ctx: Reader, partner_id: string) {
  return shaped(ctx.db, ACCOUNT_SUM, accountSums(ctx, partner_id, sql`partner_id = ${partner_id}`));
}

/** The same of all partners of a program. While the journal lacks commissions of anybody, partners are looked through. */
export function programSums(ctx: Pick<Reader, "db" | "programId">) {
  return shaped(
    ctx.db,
    ACCOUNT_SUM,
    accountSums(
      ctx,
      "",
      sql`partner_id in (select id from partners where program_id = ${ctx.programId}
        and exists (select 1 from commissions indexed by commissions_unjournaled
          where journaled = 0 and partner_id > ''))`,
    ),
  );
}

export function statsOf(sums: readonly AccountSum[]): CurrencyStats[] {
  const earned = sums.filter(({ account }) => account !== "forgiven");
  return [...Map.groupBy(earned, ({ currency }) => currency)].map(([currency, own]) => {
    const at = (...accounts: JournalAccount[]) =>
      addUp(own.filter((row) => accounts.includes(row.account)).map((row) => row.amount_cents));
    return {
      currency,
      total_commissions: own.reduce((sum, row) => sum + row.commissions, 0),
      total_earned_cents: at("pending", "payable", "in_payout", "paid"),
      pending_cents: at("pending"),
      approved_cents: at("payable", "in_payout"),
      paid_cents: at("paid"),
    };
  });
}

/** What a partner's journal comes to, by currency. @throws `not_found` for a partner of another program. */
export async function readBalance(ctx: Reader, partner_id: string): Promise<PartnerBalance[]> {
  const [[partner], sums] = await ctx.read(knownPartner(ctx, partner_id), partnerSums(ctx, partner_id));
  if (!partner) throw notFound("partner");
  const byCurrency = [...Map.groupBy(sums, ({ currency }) => currency)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return byCurrency.map(([currency, own]) => {
    const at = (account: JournalAccount) => own.find((row) => row.account === account)?.amount_cents ?? NOTHING;
    const forgiven = at("forgiven");
    return {
      currency,
      pending_cents: at("pending"),
      payable_cents: at("payable"),
      in_payout_cents: at("in_payout"),
      paid_cents: at("paid"),
      // Kept with the sign of the clawbacks, which are below 0.
      forgiven_cents: forgiven < 0 ? negate(forgiven) : forgiven,
    };
  });
}

/** A partner's journal, newest first. @throws `not_found` for a partner of another program. */
export async function listEntries(ctx: Reader, partner_id: string, request: PageRequest): Promise<Page<JournalEntry>> {
  const after = cursorId(request, "entry");
  const { limit, offset } = window(request);
  const own = sql`program_id = ${ctx.programId} and partner_id = ${partner_id}`;
  const [[partner], [counted], rows] = await ctx.read(
    knownPartner(ctx, partner_id),
    // Counted only while a kept count is not known: as many rows are read as there are currencies and accounts.
    shaped(
      ctx.db,
      { total: whole },
      sql`select coalesce((select iif(count(*) = count(entries), coalesce(sum(entries), 0), null) from balances
        where ${own}), (select count(*) from entries where ${own})) as total`,
    ),
    shaped(
      ctx.db,
      JOURNAL_ENTRY,
      sql`select id, partner_id, commission_id, payout_id, currency, from_account, to_account,
        amount_cents, posted_at, event_id
      from entries where ${own} ${after === null ? sql`` : sql`and id < ${after}`}
      order by id desc limit ${literal(limit)} offset ${offset}`,
    ),
  );
  if (!partner) throw notFound("partner");
  return pageOf(request, rows, counted?.total ?? 0, (row) => row);
}

function knownPartner(ctx: Reader, partner_id: string) {
  return shaped(
    ctx.db,
    { id: text },
    sql`select id from partners where id = ${partner_id}
    and program_id = ${ctx.programId}`,
  );
}

/** The account of an entry in which it is counted. */
export const COUNTED_IN = sql.raw("iif(to_account = 'expense', from_account, to_account)");

/** What one statement takes; each posts up to four entries. */
const COMMISSIONS_AT_ONCE = 500;
/** Commissions that are looked through at once for whose they are. */
const LOOKED_AT = 10_000;

/** Partners of whose commissions one statement takes as many as it may. */
interface Unjournaled extends Owner {
  partner_ids: string[];
  /** One statement for each of them, because one for all of them failed. */
  isApart: boolean;
  failure: { error: unknown } | null;
}

/**
 * Posts what commissions older than the journal are worth, from what their rows say: earned, approved, taken into a
 * payout, paid, each at its time. A trigger posts in the statement that marks the row, and a row is marked once. Rows
 * that cannot be posted keep no other partner's waiting; until they are, answers count them from the rows.
 */
export function journalOldCommissions(ctx: Pick<Ctx, "db">): Work<Unjournaled> {
  return {
    cost: 1,
    async due(after) {
      const rows = await shaped(
        ctx.db,
        { key: text, partner_ids: text },
        sql`
        with waiting as (
          select partner_id from commissions indexed by commissions_unjournaled
          where journaled = 0 and partner_id > ${after} order by partner_id limit ${literal(LOOKED_AT)}),
        counted as (select partner_id, count(*) as n from waiting group by partner_id),
        placed as (
          select partner_id, (sum(n) over (order by partner_id) - n) / ${literal(COMMISSIONS_AT_ONCE)} as place
          from counted)
        select max(partner_id) as key, json_group_array(partner_id) as partner_ids
        from placed group by place order by place`,
      );
      return rows.map(({ key, partner_ids }) => ({
        key,
        partner_ids: JSON.parse(partner_ids) as string[],
        isApart: false,
        failure: null,
      }));
    },
    async serve(left) {
      const partner_ids = left.isApart ? left.partner_ids.slice(0, 1) : left.partner_ids;
      try {
        if ((await postSome(ctx, partner_ids)) === COMMISSIONS_AT_ONCE) return true;
      } catch (error) {
        if (isUnavailable(error)) throw error;
        if (partner_ids.length > 1) {
          left.isApart = true;
          return true;
        }
        left.failure = { error };
        logLine("error", { what: "commissions not posted", partner_id: partner_ids[0], reason: reasonOf(error) });
      }
      left.partner_ids.splice(0, partner_ids.length);
      if (left.partner_ids.length > 0) return true;
      if (left.failure) throw left.failure.error;
      return false;
    },
  };
}

async function postSome({ db }: Pick<Ctx, "db">, partner_ids: readonly string[]): Promise<number> {
  const marked = await db.all(sql`update commissions set journaled = 1 where rowid in (
      select rowid from commissions indexed by commissions_unjournaled where journaled = 0
        and partner_id in (select value from json_each(${JSON.stringify(partner_ids)}))
      limit ${literal(COMMISSIONS_AT_ONCE)})
    returning 1 as one`);
  return marked.length;
}
