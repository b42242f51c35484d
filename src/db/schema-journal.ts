/** People's decisions, and the journal: the account that holds the money of each commission. */
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Actor } from "../domain/actor.ts";
import type { CommissionKind } from "../domain/commission.ts";
import type { DecisionKind } from "../domain/decision.ts";
import type { JournalAccount } from "../domain/journal.ts";
import type { Cents } from "../domain/money.ts";

/**
 * The journal: every movement of money between two accounts of a partner in one currency. Written by triggers of
 * `commissions` in the transaction of the change; never updated, never deleted. WITHOUT ROWID.
 */
export const entries = sqliteTable(
  "entries",
  {
    program_id: text().notNull(),
    partner_id: text().notNull(),
    id: text().notNull(),
    currency: text().notNull(),
    commission_id: text().notNull(),
    /** The payout that receives the money, releases it or pays it. */
    payout_id: text(),
    from_account: text().$type<JournalAccount>().notNull(),
    to_account: text().$type<JournalAccount>().notNull(),
    /** Smallest units, above 0. */
    amount_cents: integer().$type<Cents>().notNull(),
    posted_at: text().notNull(),
    /** The audit event of the change that posted it; null for a row that the service did not write. */
    event_id: text(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.id] }), index("entries_commission").on(t.commission_id)],
);

/**
 * Sums of a partner's entries by currency and account, and the number of commissions in each account; the account
 * `expense`, which is the remainder, is left out. Rows with an empty `partner_id` are the program's. WITHOUT ROWID.
 */
export const balances = sqliteTable(
  "balances",
  {
    program_id: text().notNull(),
    partner_id: text().notNull(),
    currency: text().notNull(),
    account: text().$type<JournalAccount>().notNull(),
    amount_cents: integer().$type<Cents>().notNull(),
    commissions: integer().notNull(),
    /** A partner's entries to the account, or from it to `expense`: each counts once. Null in program rows. */
    entries: integer(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.currency, t.account] })],
);

/**
 * Partners' earnings by UTC day of the commission's `created_at`, without rejected, and the revenue of their sales by
 * the payment's. Kept by triggers of `commissions` and `payments`. WITHOUT ROWID.
 */
export const earningDays = sqliteTable(
  "earning_days",
  {
    program_id: text().notNull(),
    day: text().notNull(),
    partner_id: text().notNull(),
    currency: text().notNull(),
    commissions: integer().notNull(),
    amount_cents: integer().$type<Cents>().notNull(),
    /** Net of tax and refunds; also of sales whose commission is rejected. */
    revenue_cents: integer().default(0).$type<Cents>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.day, t.partner_id, t.currency] })],
);

/**
 * All sales of each partner and their revenue, net of tax and refunds. Kept by triggers of `payments`. WITHOUT ROWID.
 */
export const partnerSales = sqliteTable(
  "partner_sales",
  {
    program_id: text().notNull(),
    partner_id: text().notNull(),
    currency: text().notNull(),
    sales: integer().notNull(),
    revenue_cents: integer().$type<Cents>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.currency] })],
);

/**
 * Results of promotion codes by UTC day: sales and their revenue less refunds, by the payment's day; the earnings of
 * the code's partner, by the day of `earning_days`. A code with a new holder is a new one. Kept by triggers of
 * `payments` and `commissions`, only for payments with a code. WITHOUT ROWID.
 */
export const codeDays = sqliteTable(
  "code_days",
  {
    program_id: text().notNull(),
    day: text().notNull(),
    partner_id: text().notNull(),
    code_id: text().notNull(),
    currency: text().notNull(),
    sales: integer().notNull(),
    revenue_cents: integer().$type<Cents>().notNull(),
    earned_cents: integer().$type<Cents>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.day, t.partner_id, t.code_id, t.currency] })],
);

/** Results of links by UTC day of the payment. Kept by triggers of `payments`. WITHOUT ROWID. */
export const saleDays = sqliteTable(
  "sale_days",
  {
    program_id: text().notNull(),
    day: text().notNull(),
    partner_id: text().notNull(),
    leads: integer().notNull(),
    /** Payments with a commission in any state. */
    sales: integer().notNull(),
    /** Sales that are the earliest of their provider's customer id, or have no customer id. */
    first_sales: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.day, t.partner_id] })],
);

/** A list's rows by UTC day of `created_at` and state, settled only. Kept by triggers of its tables. WITHOUT ROWID. */
export const listDays = sqliteTable(
  "list_days",
  {
    program_id: text().notNull(),
    list: text().$type<"payments">().notNull(),
    day: text().notNull(),
    state: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.list, t.day, t.state] })],
);

/**
 * Decisions of people and the daily approval, each about one partner's commission of one payment, or about one manual
 * commission; never updated, never deleted. A decision stays with its partner, wherever the payment goes. WITHOUT
 * ROWID.
 */
export const decisions = sqliteTable(
  "decisions",
  {
    program_id: text().notNull(),
    /** The payment, or the manual commission. */
    subject: text().notNull(),
    id: text().notNull(),
    partner_id: text().notNull(),
    commission_id: text().notNull(),
    commission_kind: text().$type<CommissionKind>().notNull(),
    kind: text().$type<DecisionKind>().notNull(),
    /** The reason of a rejection; the dismissed reasons of a dismissal, comma-separated. */
    detail: text(),
    actor: text({ mode: "json" }).$type<Actor>(),
    created_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.subject, t.id] })],
);

/** Every three characters of a partner's `search_text`. Kept by triggers of `partners`. WITHOUT ROWID. */
export const partnerGrams = sqliteTable(
  "partner_grams",
  {
    program_id: text().notNull(),
    gram: text().notNull(),
    partner_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.gram, t.partner_id] })],
);

/** Months generated by the cron: canceled payouts are not generated again. WITHOUT ROWID. */
export const payoutRuns = sqliteTable(
  "payout_runs",
  {
    program_id: text().notNull(),
    period_end: text().notNull(),
    finished_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.period_end] })],
);
