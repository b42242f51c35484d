import { wrapDatabase } from "./wrap-database.ts";
import { StorageUnavailable } from "../lib/errors.ts";
import { SECOND } from "../lib/time.ts";

/** "30 s" is the platform's longest run time of a query: a slower one never answers. */
export const ANSWER_WITHIN = 30 * SECOND;

/**
 * A database whose every call ends within `limit` ms. A call that fails for another reason than its own SQL (the
 * database is away, overloaded, full, locked, too slow) rejects with `StorageUnavailable`; whether a write took effect
 * is then unknown.
 */
export function boundedDatabase(binding: D1Database, limit: number = ANSWER_WITHIN): D1Database {
  return wrapDatabase(binding, (ask) => answerWithin(limit, ask));
}

async function answerWithin<T>(limit: number, ask: () => Promise<T>): Promise<T> {
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

/** D1 distinguishes errors only by their texts: SQLite's code is at the end if the statement was wrong. */
const OF_THE_QUERY =
  /SQLITE_(?:ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE|MISUSE|AUTH)|constraint failed|D1_(?:TYPE|COLUMN_NOTFOUND|EXEC)/;

function isOfTheQuery(error: unknown): boolean {
  return hasText(OF_THE_QUERY, error);
}

/** Whether a statement failed because a value or a row of it exceeds the database's limit. */
export function isTooLarge(error: unknown): boolean {
  return hasText(/SQLITE_TOOBIG/, error);
}

function hasText(what: RegExp, error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (what.test(at.message)) return true;
  return false;
}
