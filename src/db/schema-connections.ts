import { sql } from "drizzle-orm";
import { index, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ProviderName } from "../domain/provider-name.ts";
import type { Sealed } from "../lib/seal.ts";

/** What a program keeps of one provider. WITHOUT ROWID. */
export const providerConnections = sqliteTable(
  "provider_connections",
  {
    program_id: text().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    webhook_secret: text().$type<Sealed>(),
    /** The one before stays valid until its `_until`. */
    webhook_secret_previous: text().$type<Sealed>(),
    webhook_secret_previous_until: text(),
    api_key: text().$type<Sealed>(),
    last_event_at: text(),
    /** Deliveries that were refused, by reason: `{"time": {"at": "2026-…", "count": 3, "event_id": "evt_…"}}` (`core/refusals.ts`). */
    refusals: text(),
    /** When each type of its events last came, to the day: `{"invoice.paid": "2026-…"}` (`core/kernel/seen-types.ts`). */
    seen_types: text(),
    /** How far the provider's list of events is read with the API key (`core/inbound/reading.ts`); null before the first page. */
    reading: text(),
    /** When it is to be read again. */
    next_read_at: text().notNull().default(""),
    /** Where the provider sends its webhooks, as this service made it there (`core/inbound/destination-claim.ts`). */
    destination: text(),
    /** When the last event of the vendor's test mode came; the last of all is one where it is no older than `last_event_at`. */
    last_test_event_at: text(),
    /** When the last event of a connected account came, which is ignored, to the minute. */
    last_connected_event_at: text(),
  },
  (t) => [
    primaryKey({ columns: [t.program_id, t.provider] }),
    index("provider_connections_due")
      .on(t.next_read_at)
      .where(sql`api_key is not null`),
  ],
);
