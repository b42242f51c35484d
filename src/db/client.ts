import { fillPlaceholders, sql, type Placeholder, type Query, type SQL, type SQLWrapper } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { DrizzleD1Database, SQLiteD1Session } from "drizzle-orm/d1";
import { wrapDatabase } from "./wrap-database.ts";
import { boundedDatabase } from "./bounded-database.ts";
import { joinParts } from "./parts.ts";
import { DirectDialect } from "./query-text.ts";

export type Database = DrizzleD1Database & { $client: D1Database };

/** The drizzle client of one D1 binding; each of its calls has a time limit. */
export function openDatabase(binding: D1Database): Database {
  let database = opened.get(binding);
  if (!database) opened.set(binding, (database = clientOf(boundedDatabase(binding))));
  return database;
}

function clientOf(binding: D1Database): Database {
  const dialect = new DirectDialect();
  const session = new Session(binding, dialect, undefined);
  return Object.assign(new DrizzleD1Database("async", dialect, session, undefined), { $client: binding });
}

/** Counts the columns that a built select reads. */
class Session extends SQLiteD1Session<Record<string, never>, Record<string, never>> {
  override prepareQuery(
    ...given: Parameters<SQLiteD1Session<Record<string, never>, Record<string, never>>["prepareQuery"]>
  ) {
    const [, fields] = given;
    return Object.assign(super.prepareQuery(...given), { columns: fields?.length });
  }
}

/** A client holds only its binding, and creating one takes a good part of the time of a small read. */
const opened = new WeakMap<D1Database, Database>();

/** The same database, which reports the number of statements of every call. */
export function countStatements(db: Database, onSent: (statements: number) => void): Database {
  return clientOf(
    wrapDatabase(db.$client, (ask, statements) => {
      onSent(statements);
      return ask();
    }),
  );
}

/** A built query, or raw SQL, which is prepared as it is. */
export type Statement = BatchItem<"sqlite"> & (PreparedQuery | { prepare(): PreparedQuery });

export type Rows<T extends readonly Statement[]> = {
  [K in keyof T]: T[K] extends { _: { result: infer R } } ? R : never;
};

interface PreparedQuery {
  /** The number of columns of a built select; absent for raw SQL. */
  columns?: number | undefined;
  getQuery(): Query;
  mapResult(result: unknown, isFromBatch?: boolean): unknown;
}

function prepare(statement: Statement): PreparedQuery {
  return "prepare" in statement ? statement.prepare() : statement;
}

/** A statement for `runBatch` whose text is made once, with `sql.placeholder`s: making it is costly. */
export function reusableStatement<T extends Statement>(
  build: (db: Database) => T,
): (db: Database, values: Record<string, unknown>) => T {
  let made: { query: PreparedQuery; sql: string; params: unknown[] } | undefined;
  return (db, values) => {
    if (!made) {
      const query = prepare(build(db));
      made = { query, ...query.getQuery() };
    }
    const { query, sql, params } = made;
    const filled: PreparedQuery = {
      columns: query.columns,
      getQuery: () => ({ sql, params: fillPlaceholders(params, values) }),
      mapResult: (result, isFromBatch) => query.mapResult(result, isFromBatch),
    };
    return { prepare: () => filled } as unknown as T;
  };
}

/**
 * A whole number, or one of the service's own words such as a status, written into the text of a statement. SQLite
 * recompiles a statement at every run if its plan depends on a bound value: in LIMIT, for example, or in a column that
 * a partial index compares with a constant. @throws for any other value: callers' input is always bound.
 */
export function literal(value: number | string): SQL {
  if (typeof value === "number" ? !Number.isSafeInteger(value) : !/^[A-Za-z_.]+$/.test(value)) {
    throw new Error(`${JSON.stringify(value)} cannot be written into a statement`);
  }
  return sql.raw(typeof value === "number" ? String(value) : `'${value}'`);
}

/** A list of the service's own words, for `in`. */
export function literals(words: readonly string[]): SQL {
  return sql`(${joinParts(words.map(literal), sql`, `, "different")})`;
}

/** Whether a column has one of these values. They are one bound list, so the statement is the same for any number. */
export function isOneOf(column: SQLWrapper, values: readonly string[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;
}

/** The `literal` of a number, or SQL that gives one, for `limit` of a built query, whose type does not accept SQL. */
export function atMost(rows: number | SQL): Placeholder {
  return (typeof rows === "number" ? literal(rows) : rows) as unknown as Placeholder;
}

/** One statement's rows as lists of values, in the order of its columns: the cheapest form of a read. */
export async function runRaw<Row extends unknown[]>(db: Database, statement: SQL): Promise<Row[]> {
  const { sql, params } = db.run(statement).getQuery();
  return db.$client
    .prepare(sql)
    .bind(...params)
    .raw<Row>();
}

/**
 * Several statements in one round trip and one transaction. Drizzle's `batch` cannot bind the parameters of raw SQL
 * (`db.run(sql…)`, `db.all(sql…)`), so the statements are bound here and only their results are mapped by drizzle.
 */
export async function runBatch<const T extends readonly Statement[]>(db: Database, statements: T): Promise<Rows<T>> {
  if (statements.length === 0) return [] as never;
  const queries = statements.map(prepare);
  const bound = queries.map((query) => {
    const { sql, params } = query.getQuery();
    return db.$client.prepare(sql).bind(...params);
  });
  const results = await db.$client.batch<Record<string, unknown>>(bound);
  return results.map((result, i) => {
    const query = queries[i]!;
    const [row] = result.results ?? [];
    // Rows arrive as objects: if two columns have one name, the first is lost and the later ones shift.
    if (query.columns !== undefined && row && Object.keys(row).length < query.columns) {
      throw new Error(`two columns of a select have one name: ${query.getQuery().sql}`);
    }
    return query.mapResult(result, true);
  }) as never;
}

/** Like `runBatch`, returning only the rows of the `reads`, which see the effects of the statements before them. */
export async function runThenRead<const T extends readonly Statement[]>(
  db: Database,
  statements: readonly Statement[],
  reads: T,
): Promise<Rows<T>> {
  const results = await runBatch(db, [...statements, ...reads]);
  return results.slice(statements.length) as never;
}
