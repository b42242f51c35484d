/** Files by which payouts are paid. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Cents } from "../domain/money.ts";
import type { ExportItemStatus, ExportStatus, FileFormat } from "../domain/payout-export.ts";
import type { Sealed } from "../lib/seal.ts";
import { payouts } from "./schema-ledger.ts";
import { programs } from "./schema-program.ts";

/** A file and the payouts in it. Its bytes are made from the rows, which do not change (OUT-22). */
export const payoutExports = sqliteTable(
  "payout_exports",
  {
    id: text().primaryKey(),
    program_id: text()
      .notNull()
      .references(() => programs.id),
    format: text().$type<FileFormat>().notNull(),
    currency: text().notNull(),
    count: integer().notNull(),
    amount_cents: integer().$type<Cents>().notNull(),
    status: text().$type<ExportStatus>().notNull(),
    /** The owner's reference of the payment, from the first payout that is marked as paid. */
    reference: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** The account that a file pays from, as it was when the file was made: a `Debtor` as JSON (OUT-27). */
    debtor_sealed: text().$type<Sealed>(),
  },
  (t) => [
    index("payout_exports_list").on(t.program_id, t.id),
    index("payout_exports_status").on(t.program_id, t.status, t.id),
  ],
);

/** The payouts of each file; these rows stay, so that the file stays the same. */
export const exportItems = sqliteTable(
  "export_items",
  {
    export_id: text()
      .notNull()
      .references(() => payoutExports.id),
    payout_id: text()
      .notNull()
      .references(() => payouts.id),
    status: text().$type<ExportItemStatus>().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.export_id, t.payout_id] }),
    // A payout is in one open file at most.
    uniqueIndex("export_items_open")
      .on(t.payout_id)
      .where(sql`status = 'open'`),
  ],
);
