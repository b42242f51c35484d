import { sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { JsonText } from "./page.ts";
import { joinParts } from "./parts.ts";

/**
 * SQL for a JSON object of these columns of a row of the selected table, identical to the result of drizzle and
 * `JSON.stringify`: booleans from 0 and 1, whole numbers without a fraction, and stored JSON text unchanged, because
 * SQLite's own functions refuse nesting deeper than 1,000. `nested` are further fields, each a JSON text.
 */
export function jsonObject<T>(
  columns: Readonly<Record<string, SQLiteColumn>>,
  nested: Readonly<Record<string, SQL<string>>> = {},
): SQL<JsonText<T>> {
  const parts: string[] = [];
  let plain: string[] = [];
  const endPlain = () => {
    // Without its braces. No value begins or ends with one: a text is in quotes.
    if (plain.length > 0) parts.push(`trim(json_object(${plain.join(", ")}), '{}')`);
    plain = [];
  };
  for (const [name, column] of Object.entries(columns)) {
    if (column.columnType === "SQLiteTextJson") {
      endPlain();
      parts.push(`'"${name}":' || ifnull(${column.name}, 'null')`);
    } else {
      if (plain.length === FIELDS) endPlain();
      plain.push(`'${name}', ${jsonValue(column)}`);
    }
  }
  endPlain();
  const own = sql.raw(parts.join(" || ',' || "));
  const others = Object.entries(nested).map(([name, text]) => sql`${sql.raw(` || ',"${name}":' || `)}${text}`);
  return sql`'{' || ${joinParts([own, ...others], sql``, "different")} || '}'` as SQL<JsonText<T>>;
}

/** SQL for JSON of a table's rows as `view` shows them, which only picks fields; `nested` adds fields. */
export function jsonOf<Table extends SQLiteTable, Row extends object, View extends Row = Row>(
  table: Table,
  view: (row: Table["$inferSelect"]) => Row,
  nested?: Readonly<Record<Exclude<keyof View, keyof Row>, SQL<string>>>,
): SQL<JsonText<View>> {
  return jsonObject(view(table) as Record<string, SQLiteColumn>, nested);
}

/** SQL for a JSON object of exactly the fields of `T`, each from its expression; at most 16. */
export function jsonFields<T>(fields: { [K in keyof T]: SQL }): SQL<JsonText<T>> {
  const parts = Object.entries<SQL>(fields).map(([name, value]) => sql`${sql.raw(`'${name}'`)}, ${value}`);
  return sql`json_object(${joinParts(parts, sql`, `, "different")})` as SQL<JsonText<T>>;
}

/** D1 guarantees only 32 arguments to a function: names and values. */
const FIELDS = 16;

/** Names are not quoted: the text is sent with every read. */
function jsonValue({ name, columnType }: SQLiteColumn): string {
  switch (columnType) {
    case "SQLiteText":
    case "SQLiteInteger":
      return name;
    case "SQLiteReal":
      return `iif(${name} = cast(${name} as integer), cast(${name} as integer), ${name})`;
    case "SQLiteBoolean":
      return `json(case when ${name} then 'true' when not ${name} then 'false' end)`;
    default:
      throw new Error(`${name} has no JSON form: ${columnType}`);
  }
}
