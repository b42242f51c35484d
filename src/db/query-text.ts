import { Column, Name, Param, Placeholder, SQL, StringChunk, Table, type Query } from "drizzle-orm";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import { assertFits } from "./parts.ts";

/**
 * Writes a query directly into one text, because drizzle's own way creates an object for every part, which takes a good part
 * of the time of a small request. Uncommon chunks are still written by drizzle.
 */
export class DirectDialect extends SQLiteAsyncDialect {
  override sqlToQuery(sql: SQL): Query {
    const query: Query = { sql: "", params: [] };
    write([sql], query);
    checked?.(sql, query);
    return query;
  }
}

const drizzle = new SQLiteAsyncDialect();

function write(chunks: readonly unknown[], query: Query): void {
  for (const chunk of chunks) {
    if (chunk instanceof StringChunk) query.sql += chunk.value.length === 1 ? chunk.value[0] : chunk.value.join("");
    else if (chunk instanceof SQL) write(chunk.queryChunks, query);
    else if (chunk instanceof Param) bind(query, chunk.value instanceof Placeholder ? chunk : encodeParam(chunk));
    else if (isPlain(chunk) || chunk instanceof Placeholder) bind(query, chunk);
    else if (chunk instanceof Name) query.sql += `"${chunk.value.replaceAll('"', '""')}"`;
    else if (chunk instanceof Column || chunk instanceof Table) query.sql += nameOf(chunk);
    else if (Array.isArray(chunk)) write(inBrackets(chunk), query);
    else if (chunk !== undefined) {
      const { sql, params } = drizzle.sqlToQuery(new SQL([chunk as SQL]));
      query.sql += sql;
      query.params.push(...params);
    }
  }
}

/** Cached names of tables and columns, which exist permanently. */
const names = new WeakMap<object, string>();

function nameOf(named: Column | Table): string {
  let text = names.get(named);
  if (text === undefined) names.set(named, (text = drizzle.sqlToQuery(new SQL([named])).sql));
  return text;
}

/** In brackets, with commas. */
function inBrackets(items: readonly unknown[]): unknown[] {
  return [OPEN, ...items.flatMap((item, i) => (i === 0 ? [item] : [COMMA, item])), CLOSE];
}

const [OPEN, COMMA, CLOSE] = ["(", ", ", ")"].map((text) => new StringChunk(text));

function isPlain(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number";
}

/** The schema's encoders never turn a value into SQL. */
function encodeParam({ value, encoder }: Param): unknown {
  return value === null ? null : encoder.mapToDriverValue(value);
}

function bind(query: Query, value: unknown): void {
  query.sql += "?";
  query.params.push(value);
}

/** Compares a query with drizzle's own; null outside tests. */
let checked: ((sql: SQL, query: Query) => void) | null = null;

/** Drizzle's insert of several rows. */
const OF_ROWS = /^insert into "\w+" \([^()]*\) values \([^()]*\), \(/;

/** From now on, in tests, a query that differs from drizzle's, or that may not fit, is an error. */
export function checkTexts(): void {
  checked = (sql, query) => {
    const own = drizzle.sqlToQuery(sql);
    const isSame = query.sql === own.sql && query.params.every((value, i) => value === own.params[i]);
    if (!isSame || query.params.length !== own.params.length) throw new Error(`${query.sql} is not ${own.sql}`);
    if (OF_ROWS.test(query.sql)) throw new Error(`parameters for each of some rows: ${query.sql}`);
    assertFits(sql, (part) => drizzle.sqlToQuery(part).params.length);
  };
}
