/** The lengths of lists. */
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Number of a program's rows in each of its lists by `state`, which is the status or, for payments, the outcome; empty
 * if there is none. Kept by triggers of the listed tables. WITHOUT ROWID.
 */
export const listCounts = sqliteTable(
  "list_counts",
  {
    program_id: text().notNull(),
    /** `flagged` are the flagged commissions, `leads` the payments that are leads. */
    list: text()
      .$type<"partners" | "payments" | "leads" | "commissions" | "flagged" | "payouts" | "claims" | "applications">()
      .notNull(),
    state: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.list, t.state] })],
);
