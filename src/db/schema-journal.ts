/** What people decided, and the journal: where the money of each commission is. */
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Actor } from "../domain/actor.ts";
import type { CommissionKind } from "../domain/commission.ts";
import type { DecisionKind } from "../domain/decision.ts";
import type { JournalAccount } from "../domain/journal.ts";
import type { Cents } from "../domain/money.ts";

/**
 * The journal: every movement of money between two accounts of a partner in one currency. Written by triggers of
 * `commissions` in the transaction of the change, whoever makes it; never updated, never deleted. WITHOUT ROWID.
 */
export const entries = sqliteTable(
  "entries",
  {
    program_id: text().notNull(),
    partner_id: text().notNull(),
    id: text().notNull(),
    currency: text().notNull(),
    commission_id: text().notNull(),
    /** The payout that takes the money in, gives it back or pays it. */
    payout_id: text(),
    from_account: text().$type<JournalAccount>().notNull(),
    to_account: text().$type<JournalAccount>().notNull(),
    /** Smallest units, above 0. */
    amount_cents: integer().$type<Cents>().notNull(),
    posted_at: text().notNull(),
    /** The audit event of the change that posted it; null where a row was written past the service. */
    event_id: text(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.id] }), index("entries_commission").on(t.commission_id)],
);

/**
 * What the entries of a partner come to by currency and account, and how many commissions each account holds; the
 * account `expense`, which is the rest, is left out. Rows with an empty `partner_id` are the program's. WITHOUT ROWID.
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
    /**
     * How many entries of a partner go to the account, or leave it for `expense`: each entry is counted once.
     * Null in rows of the program.
     */
    entries: integer(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.partner_id, t.currency, t.account] })],
);

/**
 * What partners earned by UTC day of `created_at`: their commissions that are not rejected. Kept by triggers of
 * `commissions`. WITHOUT ROWID.
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
  },
  (t) => [primaryKey({ columns: [t.program_id, t.day, t.partner_id, t.currency] })],
);

/**
 * What promotion codes brought by UTC day: sales and their revenue, which is less what was refunded, by the payment's day;
 * what the code's partner earned of them by the day of `earning_days`. A code that changes hands is another one. Kept by
 * triggers of `payments` and `commissions`, for payments with a code only. WITHOUT ROWID.
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

/**
 * What came of partners' links by UTC day of the payment: leads, sales, and sales that are a customer's first with the
 * partner. Kept by triggers of `payments`. WITHOUT ROWID.
 */
export const saleDays = sqliteTable(
  "sale_days",
  {
    program_id: text().notNull(),
    day: text().notNull(),
    partner_id: text().notNull(),
    leads: integer().notNull(),
    /** Payments that earned, whatever the state of their commissions. */
    sales: integer().notNull(),
    /** Of the sales the earliest of each customer id of a provider; one without a customer id is a first sale. */
    first_sales: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.day, t.partner_id] })],
);

/**
 * How many rows a list has by UTC day of `created_at` and by state; payments that are not settled yet have none and are left
 * out. Kept by triggers of the listed tables. WITHOUT ROWID.
 */
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
 * What people and the daily approval decided: each about one partner's commission of one payment, or of one manual
 * commission; never updated, never deleted. A decision stays with the partner that it judged, wherever the payment goes.
 * WITHOUT ROWID.
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
    /** Of a rejection its reason; of a dismissal the reasons that flag no more, comma-separated. */
    detail: text(),
    actor: text({ mode: "json" }).$type<Actor>(),
    created_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.subject, t.id] })],
);

/** Every three characters of a partner's `search_text`, fewer at its end. Kept by triggers of `partners`. WITHOUT ROWID. */
export const partnerGrams = sqliteTable(
  "partner_grams",
  {
    program_id: text().notNull(),
    gram: text().notNull(),
    partner_id: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.gram, t.partner_id] })],
);

/** The months for which the cron has generated a program's payouts: canceled ones are not made again. WITHOUT ROWID. */
export const payoutRuns = sqliteTable(
  "payout_runs",
  {
    program_id: text().notNull(),
    period_end: text().notNull(),
    finished_at: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.period_end] })],
);
