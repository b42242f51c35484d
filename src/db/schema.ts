/**
 * The whole database, in the order of the domain. Timestamps are ISO 8601 UTC texts with milliseconds (they sort as
 * texts); money is an integer of smallest units with its currency beside it; percentages are numbers with at most four
 * decimals. Tables marked WITHOUT ROWID get that by hand in the migration; a test compares the migrated database.
 */
export * from "./schema-connections.ts";
export * from "./fact-scopes.ts";
export * from "./schema-program.ts";
export * from "./schema-ledger.ts";
export * from "./schema-applications.ts";
export * from "./schema-journal.ts";
export * from "./schema-lists.ts";
export * from "./schema-log.ts";
export * from "./schema-mail.ts";
export * from "./schema-claims.ts";
export * from "./schema-portal.ts";
export * from "./schema-rules.ts";
export * from "./schema-products.ts";
export * from "./schema-exports.ts";
export * from "./schema-exchange.ts";
export * from "./schema-statements.ts";
