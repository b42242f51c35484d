import { sql } from "drizzle-orm";
import { index, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ProviderName } from "../domain/provider-name.ts";
import type { Sealed } from "../lib/seal.ts";

/** A program's connection to one provider. WITHOUT ROWID. */
export const providerConnections = sqliteTable(
  "provider_connections",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    webhook_secret: text().$type<Sealed>(),
    /** The previous secret stays valid until its `_until`. */
    webhook_secret_previous: text().$type<Sealed>(),
    webhook_secret_previous_until: text(),
    api_key: text().$type<Sealed>(),
    last_event_at: text(),
    /** Refused deliveries by reason: `{"time": {"at": "…", "count": 3, "event_id": "evt_…"}}` (`core/refusals.ts`). */
    refusals: text(),
    /** The day on which each type of event last arrived: `{"invoice.paid": "2026-…"}` (`core/kernel/seen-types.ts`). */
    seen_types: text(),
    /** The position in the provider's event list (`core/inbound/reading.ts`); null before the first page. */
    reading: text(),
    /** The time of the next read. */
    next_read_at: text().notNull().default(""),
    /** The webhook destination that this service created at the provider (`core/inbound/destination-claim.ts`). */
    destination: text(),
    /** The last event of the vendor's test mode; the last of all unless older than `last_event_at`. */
    last_test_event_at: text(),
    /** When the last event of a connected account arrived, which is ignored; to the minute. */
    last_connected_event_at: text(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider] }),
    index("provider_connections_due")
      .on(t.next_read_at)
      .where(sql`api_key is not null`),
  ],
);
