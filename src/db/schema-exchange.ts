/** The exchange rates with which payouts in other currencies are converted. */
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ObservedRate, OwnRates } from "../domain/exchange.ts";
import { programs } from "./schema-program.ts";

/** The rates of a program, of both sources (OUT-37, OUT-38). WITHOUT ROWID. */
export const exchangeRates = sqliteTable("exchange_rates", {
  program_id: text()
    .primaryKey()
    .references(() => programs.id),
  /** The owner's; null before the owner gave any. */
  base: text(),
  rates: text({ mode: "json" }).$type<OwnRates>(),
  rated_at: text(),
  /** The newest that the provider used, by the currency of the payment. */
  observed: text({ mode: "json" }).$type<Record<string, ObservedRate>>(),
  /** The time of the newest request to the provider. */
  asked_at: text(),
  updated_at: text().notNull(),
});
