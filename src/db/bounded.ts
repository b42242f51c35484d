import { databaseWith } from "./around.ts";
import { StorageUnavailable } from "../lib/errors.ts";
import { SECOND } from "../lib/time.ts";

/** "30 s" is the longest that the platform lets a query run: what takes longer never answers. */
export const ANSWER_WITHIN = 30 * SECOND;

/**
 * The database as the service may rely on it: every call ends within `limit` ms. One that fails for another reason than
 * its own SQL (the database is away, overloaded, full, locked, too slow) rejects with `StorageUnavailable`; whether a
 * write was carried out is then not known.
 */
export function boundedDatabase(binding: D1Database, limit: number = ANSWER_WITHIN): D1Database {
  return databaseWith(binding, (ask) => answered(limit, ask));
}

async function answered<T>(limit: number, ask: () => Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(() => over.reject(new Error("the database took too long")), limit);
  try {
    return await Promise.race([ask(), over.promise]);
  } catch (error) {
    throw isOfTheQuery(error) ? error : new StorageUnavailable(error);
  } finally {
    clearTimeout(timer);
  }
}

/** D1 distinguishes its errors only in their texts: SQLite's code is at the end of what a statement did wrong. */
const OF_THE_QUERY =
  /SQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE|MISUSE|AUTH)|constraint failed|D1_(?:TYPE|COLUMN_NOTFOUND|EXEC)/;

function isOfTheQuery(error: unknown): boolean {
  return says(OF_THE_QUERY, error);
}

/** Whether a statement failed because a value or a row of it is larger than the database holds. */
export function isTooLarge(error: unknown): boolean {
  return says(/SQLITE_TOOBIG/, error);
}

function says(what: RegExp, error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (what.test(at.message)) return true;
  return false;
}
