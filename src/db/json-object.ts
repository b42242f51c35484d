import { getTableName, sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { JsonText } from "./page.ts";

/**
 * SQL that makes a row of a table the text of a JSON object with these columns, as drizzle and `JSON.stringify` would:
 * a truth value from 0 and 1, a whole number without a fraction, and a stored JSON text as it is. (SQLite's own JSON
 * functions read nothing that is nested deeper than 1,000, and D1 promises no more than 32 arguments to any.)
 */
export function jsonObject<T>(columns: Readonly<Record<string, SQLiteColumn>>): SQL<JsonText<T>> {
  const fields = Object.entries(columns).map(
    ([name, column], i) => `'${i === 0 ? "{" : ","}"${name}":' || ${jsonValue(column)}`,
  );
  // In groups: one chain of all of them would be an expression nested as deeply as they are many.
  const groups = fields.flatMap((_, i) => (i % GROUP === 0 ? [`(${fields.slice(i, i + GROUP).join(" || ")})`] : []));
  return sql.raw(`${groups.join(" || ")} || '}'`) as SQL<JsonText<T>>;
}

const GROUP = 8;

function jsonValue(column: SQLiteColumn): string {
  const value = `"${getTableName(column.table)}"."${column.name}"`;
  switch (column.columnType) {
    case "SQLiteText":
    case "SQLiteInteger":
      return `json_quote(${value})`;
    case "SQLiteReal":
      return `json_quote(iif(${value} = cast(${value} as integer), cast(${value} as integer), ${value}))`;
    case "SQLiteBoolean":
      return `case when ${value} then 'true' when not ${value} then 'false' else 'null' end`;
    case "SQLiteTextJson":
      return `ifnull(${value}, 'null')`;
    default:
      throw new Error(`${value} has no JSON form: ${column.columnType}`);
  }
}
