/** Typed rows of raw SQL: the only module that gives a statement's result a type. */
import { getTableColumns, type SQL } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Cents, Percent } from "../domain/money.ts";
import type { Sealed } from "../lib/seal.ts";
import type { Database } from "./client.ts";

/** A column of a statement. `holds` is checked in tests only, except that amounts are always checked. */
export interface Column<Value> {
  readonly holds: (value: unknown) => value is Value;
  readonly isAmount: boolean;
}

/** The columns of a statement by name, exactly those that it selects. */
export type Shape = Readonly<Record<string, Column<unknown>>>;

export type Columns<T> = { readonly [K in keyof T]-?: Column<T[K]> };

/** A row of such a statement. */
export type Row<S extends Shape> = { -readonly [K in keyof S]: S[K] extends Column<infer Value> ? Value : never };

function column<Value>(holds: (value: unknown) => boolean, isAmount = false): Column<Value> {
  return { holds: (value): value is Value => holds(value), isAmount };
}

export const text = column<string>((value) => typeof value === "string");

/** A text from a closed set: `textOf<PayoutStatus>()`. */
export function textOf<Value extends string>(): Column<Value> {
  return column<Value>(text.holds);
}

/** Encrypted by `lib/seal.ts`. */
export const sealed = textOf<Sealed>();

/** A count, or another whole number that is not an amount. */
export const whole = column<number>(Number.isSafeInteger);

/**
 * An amount in smallest units, or a sum of amounts: SQLite adds up to 2^63, but a number is exact only to 2^53, and
 * only balances are bounded. So any other sum beyond it is an error when it is read (PAY-22).
 */
export const amount = column<Cents>(Number.isSafeInteger, true);

export const percent = column<Percent>(Number.isFinite);

/** A condition, as SQLite returns it. */
export const flag = column<0 | 1>((value) => value === 0 || value === 1);

export function nullable<Value>(of: Column<Value>): Column<Value | null> {
  return column((value) => value === null || of.holds(value), of.isAmount);
}

/**
 * Columns of a table, all or the named ones, for a statement that selects them by name. JSON and booleans arrive in their
 * stored form: give such a column its own shape.
 */
export function columnsOf<Table extends SQLiteTable, Name extends keyof Table["$inferSelect"]>(
  table: Table,
  ...names: Name[]
): Columns<Pick<Table["$inferSelect"], Name>> {
  const all = Object.entries(getTableColumns(table)).map(([name, { columnType, notNull }]) => {
    const of = column<unknown>((value) => STORED[columnType]?.(value) ?? false);
    return [name as Name, notNull ? of : nullable(of)] as const;
  });
  const columns = names.length === 0 ? all : all.filter(([name]) => names.includes(name));
  return Object.fromEntries(columns) as Columns<Pick<Table["$inferSelect"], Name>>;
}

const STORED: Partial<Record<string, (value: unknown) => boolean>> = {
  SQLiteText: text.holds,
  SQLiteInteger: whole.holds,
  SQLiteReal: Number.isFinite,
};

/** Compares each row with its shape; null outside tests. */
let checked: ((rows: readonly object[], shape: Shape) => void) | null = null;

/** From now on, in tests, a row that does not match its shape is an error. */
export function checkRows(): void {
  checked = (rows, shape) => {
    for (const row of rows) {
      const values = new Map<string, unknown>(Object.entries(row));
      const names = [...new Set([...Object.keys(shape), ...values.keys()])];
      const wrong = names.filter((name) => !values.has(name) || shape[name]?.holds(values.get(name)) !== true);
      if (wrong.length > 0) throw new Error(`not of its shape: ${wrong.join(", ")} of ${JSON.stringify(row)}`);
    }
  };
}

/** @throws RangeError for a row with an inexact amount, with the column's name. */
function checkAmounts(rows: readonly object[], amounts: readonly (readonly [string, Column<unknown>])[]): void {
  for (const [name, { holds }] of amounts) {
    const isExact = (row: object) => holds((row as Readonly<Record<string, unknown>>)[name]);
    if (!rows.every(isExact)) throw new RangeError(`not an exact amount in smallest units: ${name}`);
  }
}

/** The rows of `query`, each of `shape`: a statement that can be batched or awaited. */
export function selectRows<S extends Shape>(db: Database, shape: S, query: SQL) {
  const statement = db.all<Row<S>>(query);
  const amounts = Object.entries(shape).filter(([, { isAmount }]) => isAmount);
  if (!checked && amounts.length === 0) return statement;
  const check = (rows: readonly object[]) => {
    checkAmounts(rows, amounts);
    checked?.(rows, shape);
  };
  const execute = statement.execute.bind(statement);
  const mapResult = statement.mapResult.bind(statement);
  return Object.assign(statement, {
    async execute() {
      const rows = await execute();
      check(rows as readonly object[]);
      return rows;
    },
    mapResult(result: unknown, isFromBatch: boolean) {
      const rows = mapResult(result, isFromBatch);
      check(rows as readonly object[]);
      return rows;
    },
  });
}
