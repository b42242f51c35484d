/** The lengths of lists. */
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Rows of each list by `state`: status, outcome, or empty. Kept by triggers of the listed tables. WITHOUT ROWID. */
export const listCounts = sqliteTable(
  "list_counts",
  {
    program_id: text().notNull(),
    /**
     * `flagged` are the flagged commissions, `leads` the payments that are leads, `partner_groups` the partners by
     * group.
     */
    list: text()
      .$type<
        | "partners"
        | "partner_groups"
        | "payments"
        | "leads"
        | "commissions"
        | "flagged"
        | "payouts"
        | "payout_exports"
        | "claims"
        | "applications"
      >()
      .notNull(),
    state: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.program_id, t.list, t.state] })],
);
