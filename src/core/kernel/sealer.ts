import { sql, type SQL } from "drizzle-orm";

/** Whether a column's value begins with one of these marks: with those of `openable`, a key may open it. */
export function isSealedBy(column: SQL, marks: readonly string[]): SQL {
  return sql`exists (select 1 from json_each(${JSON.stringify(marks)}) m
    where substr(${column}, 1, length(m.value)) = m.value)`;
}
