import { getTableName, sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { JsonText } from "./page.ts";

/**
 * SQL that makes a row of a table the text of a JSON object with these columns, as drizzle and `JSON.stringify` would:
 * a truth value from 0 and 1, a stored JSON text as what it says, a whole number without a fraction.
 */
export function jsonObject<T>(columns: Readonly<Record<string, SQLiteColumn>>): SQL<JsonText<T>> {
  const fields = Object.entries(columns).map(([name, column]) => `'${name}', ${jsonValue(column)}`);
  return sql.raw(`json_object(${fields.join(", ")})`) as SQL<JsonText<T>>;
}

function jsonValue(column: SQLiteColumn): string {
  const value = `"${getTableName(column.table)}"."${column.name}"`;
  switch (column.columnType) {
    case "SQLiteText":
    case "SQLiteInteger":
      return value;
    case "SQLiteReal":
      return `iif(${value} = cast(${value} as integer), cast(${value} as integer), ${value})`;
    case "SQLiteBoolean":
      return `json(case when ${value} then 'true' when not ${value} then 'false' end)`;
    case "SQLiteTextJson":
      return `json(${value})`;
    default:
      throw new Error(`${value} has no JSON form: ${column.columnType}`);
  }
}
