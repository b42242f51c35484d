import { getTableColumns, type SQL } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { jsonObject } from "../../db/json-object.ts";
import type { JsonText } from "../../db/page.ts";
import { programs } from "../../db/schema.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { connectionsText, type Connections } from "./connections.ts";
import type { Program } from "./rows.ts";

const COLUMNS = getTableColumns(programs);

/** The fields of a `Program`, from a table named `programs`; with `provider`, only that connection. */
export function programFields(provider: VendorName | null = null) {
  const connections = connectionsText(provider).mapWith((text: string) => JSON.parse(text) as Connections);
  return { ...COLUMNS, connections: connections.as("connections") };
}

/** Selects programs with their connections; the caller adds the conditions. */
export function selectPrograms(db: Database, provider: VendorName | null = null) {
  return db.select(programFields(provider)).from(programs);
}

/** SQL that makes the JSON text of a `Program`. No column of a program needs a conversion from its JSON. */
export const PROGRAM_OBJECT: SQL<JsonText<Program>> = jsonObject<Program>(COLUMNS, {
  connections: connectionsText(null),
});
