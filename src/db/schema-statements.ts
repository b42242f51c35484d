/** The frozen parts of statements (OUT-32, OUT-34). */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { CommissionKind } from "../domain/commission.ts";
import type { Cents } from "../domain/money.ts";
import type { Payer } from "../domain/tax.ts";
import type { Sealed } from "../lib/seal.ts";
import { partners } from "./schema-program.ts";

/**
 * Partners' tax data, a row for each change and never updated, so that a statement keeps the version of its time:
 * `partners.tax_data_id` is the present one.
 */
export const taxData = sqliteTable(
  "tax_data",
  {
    id: text().primaryKey(),
    program_id: text().notNull(),
    partner_id: text()
      .notNull()
      .references(() => partners.id),
    /** A `TaxData` as JSON. */
    sealed: text().$type<Sealed>().notNull(),
    created_at: text().notNull(),
  },
  (t) => [index("tax_data_program").on(t.program_id, t.id)],
);

/**
 * The payer and payee of each payout that was paid, with its numbers. A trigger of `payouts` makes it when the status becomes
 * `paid`, and adds the number of the credit note when it becomes `returned`; triggers refuse any other change. WITHOUT
 * ROWID.
 */
export const payoutStatements = sqliteTable(
  "payout_statements",
  {
    payout_id: text().primaryKey(),
    program_id: text().notNull(),
    payer: text({ mode: "json" }).$type<Payer>().notNull(),
    /** The payee's tax data; null without any. */
    tax_data_id: text(),
    /** The prefix of both numbers; numbers are 1, 2, 3 … of the program and their series, null without an invoice. */
    prefix: text().notNull(),
    invoice_number: integer(),
    issued_at: text().notNull(),
    credit_note_number: integer(),
    credited_at: text(),
  },
  (t) => [
    uniqueIndex("payout_statements_invoices")
      .on(t.program_id, t.invoice_number)
      .where(sql`invoice_number is not null`),
    uniqueIndex("payout_statements_credit_notes")
      .on(t.program_id, t.credit_note_number)
      .where(sql`credit_note_number is not null`),
  ],
);

/**
 * The commissions that a returned payout had paid, which have left it since. A trigger of `payouts` copies them before
 * they move. WITHOUT ROWID.
 */
export const returnedLines = sqliteTable(
  "returned_lines",
  {
    payout_id: text().notNull(),
    commission_id: text().notNull(),
    kind: text().$type<CommissionKind>().notNull(),
    amount_cents: integer().$type<Cents>().notNull(),
    /** When the commission is dated. */
    created_at: text().notNull(),
    /** Null: the payout's, for one returned before lines had it. */
    currency: text(),
  },
  (t) => [primaryKey({ columns: [t.payout_id, t.commission_id] })],
);
