/** Products seen in payments. */
import { index, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ProviderName } from "../domain/provider-name.ts";

/** The products and prices in the payments of a program, by the vendor's id. WITHOUT ROWID. */
export const products = sqliteTable(
  "products",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    id: text().notNull(),
    /** As the vendor last stated it; null if it never did. */
    name: text(),
    /** Exact to the day. */
    last_seen_at: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider, t.id] }),
    index("products_recent").on(t.program_id, t.last_seen_at),
  ],
);
