import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { pageOf, cursorId, window, type Page, type PageRequest } from "../../db/page.ts";
import { amount, nullable, selectRows, text, textOf, whole, type Columns } from "../../db/rows.ts";
import type { JournalAccount } from "../../domain/journal.ts";
import { addUp, negate, NOTHING, type Cents } from "../../domain/money.ts";
import { notFound } from "../../lib/errors.ts";
import type { Reader } from "../kernel/context.ts";
import type { CurrencyStats } from "../kernel/views.ts";

/** A partner's earnings in one currency, by account; smallest units. */
export interface PartnerBalance {
  currency: string;
  pending_cents: Cents;
  /** Approved and in no payout. Negative if overpaid: the next payout is reduced by that amount. */
  payable_cents: Cents;
  in_payout_cents: Cents;
  paid_cents: Cents;
  /** Clawbacks that the owner forgave: paid, not earned, and not reclaimed. */
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
  /** The audit event of the change that posted it; null if unknown. */
  event_id: string | null;
}

const JOURNAL_ENTRY: Columns<JournalEntry> = {
  id: text,
  partner_id: text,
  commission_id: text,
  payout_id: nullable(text),
  currency: text,
  from_account: textOf<JournalAccount>(),
  to_account: textOf<JournalAccount>(),
  amount_cents: amount,
  posted_at: text,
  event_id: nullable(text),
};

/**
 * The account of a commission's amount, over its columns; equal to `accountOf` (`domain/journal.ts`) and the triggers.
 */
export const ACCOUNT = sql.raw(`case status when 'pending' then 'pending' when 'paid' then 'paid'
  when 'approved' then iif(payout_id is null, 'payable', 'in_payout')
  else iif(kind = 'clawback' and amount_cents < 0, 'forgiven', 'expense') end`);

/** The amount of one account in one currency. */
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

/** The rows of `statsOf`: one a currency and account; for an empty id the sums of all partners. */
export function accountSums(ctx: Pick<Reader, "db" | "programId">, partner_id: string) {
  return selectRows(
    ctx.db,
    ACCOUNT_SUM,
    sql`select currency, account, amount_cents, commissions from balances
      where program_id = ${ctx.programId} and partner_id = ${partner_id} and account <> 'expense'
        and (commissions > 0 or amount_cents <> 0)`,
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

/** A partner's balances in the journal, by currency. @throws `not_found` for a partner of another program. */
export async function readBalance(ctx: Reader, partner_id: string): Promise<PartnerBalance[]> {
  const [[partner], sums] = await ctx.read(knownPartner(ctx, partner_id), accountSums(ctx, partner_id));
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
      // Kept with the sign of the clawbacks, which are negative.
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
    selectRows(ctx.db, { total: whole }, sql`select coalesce(sum(entries), 0) as total from balances where ${own}`),
    selectRows(
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
  return selectRows(
    ctx.db,
    { id: text },
    sql`select id from partners where id = ${partner_id}
    and program_id = ${ctx.programId}`,
  );
}

/** The account in which an entry is counted. */
export const COUNTED_IN = sql.raw("iif(to_account = 'expense', from_account, to_account)");
