import { drizzle } from "drizzle-orm/d1";
import * as schema from "./schema.ts";

/** The bindings that hold databases: one today; a program's `shard` chooses among them. */
export interface DatabaseBindings {
  DB: D1Database;
}

export type Database = ReturnType<typeof openDatabase>;

/** The drizzle client over one D1 binding. */
export function openDatabase(binding: D1Database) {
  return drizzle(binding, { schema });
}

/** The database that holds a program's rows: the one seam through which a second database comes in. */
export function databaseFor(bindings: DatabaseBindings): Database {
  return openDatabase(bindings.DB);
}
