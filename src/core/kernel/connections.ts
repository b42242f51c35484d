/** A program's connection to each vendor: a row of `provider_connections`, read with the program's own. */
import { getTableColumns, sql, type InferSelectModel, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { jsonObject } from "../../db/json-object.ts";
import { providerConnections } from "../../db/schema.ts";
import type { VendorName } from "../../domain/provider-name.ts";

export type Connection = Omit<InferSelectModel<typeof providerConnections>, "program_id" | "provider">;

/** The initial state of reading a provider's list. */
export const UNREAD = {
  complete_from: null,
  complete_until: null,
  recovered: 0,
  under_way: null,
  trouble: null,
};

/** SQL for the part of the row's reading that another key keeps: an event that is being ingested (IN-15). */
export const STILL_TAKING: SQL<string | null> = sql`iif(reading -> '$.taking' is null, null,
  json_set(${JSON.stringify(UNREAD)}, '$.taking', reading -> '$.taking'))`;

/** The connections by provider; absent if the program never stored a setting of it. */
export interface Connections {
  [provider: VendorName]: Connection;
}

const EMPTY: Connection = {
  webhook_secret: null,
  webhook_secret_previous: null,
  webhook_secret_previous_until: null,
  api_key: null,
  last_event_at: null,
  refusals: null,
  seen_types: null,
  reading: null,
  next_read_at: "",
  destination: null,
  last_test_event_at: null,
  last_connected_event_at: null,
};

export function connectionOf(program: { connections: Connections }, provider: VendorName): Connection {
  return program.connections[provider] ?? EMPTY;
}

/** SQL that is true while the program has the API key that it was read with. */
export function hasSameKey(program: { id: string; connections: Connections }, provider: VendorName): SQL {
  return sql`exists (select 1 from provider_connections where program_id = ${program.id}
    and provider = ${provider} and api_key is ${connectionOf(program, provider).api_key})`;
}

/** Whether the last event that arrived belongs to the vendor's test mode. */
export function isLastOfTest({ last_event_at, last_test_event_at }: Connection): boolean {
  return last_event_at !== null && last_test_event_at !== null && last_test_event_at >= last_event_at;
}

const { program_id: _program, provider: _provider, ...kept } = getTableColumns(providerConnections);

/** SQL that makes the text of a program's `Connections`, in a select from `programs`: all of them, or the one to `provider`. */
export function connectionsText(provider: VendorName | null): SQL<string> {
  const ofOne = provider === null ? sql`` : sql` and provider = ${literal(provider)}`;
  return sql`(select json_group_object(provider, json(${jsonObject<Connection>(kept)}))
    from provider_connections where program_id = programs.id${ofOne})`;
}
