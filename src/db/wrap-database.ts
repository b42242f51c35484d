/** Wraps one call of the database, which sends so many statements. */
export type Around = <T>(ask: () => Promise<T>, statements: number) => Promise<T>;

/** The same database with `around` about each of its calls. */
export function wrapDatabase(binding: D1Database, around: Around): D1Database {
  const wrapped: Pick<D1Database, "prepare" | "batch"> = {
    prepare: (query) => statementWith(binding.prepare(query), around),
    batch: (statements) =>
      around(() => binding.batch(statements.map((one) => (one as Statement).inner)), statements.length),
  };
  return wrapped as D1Database;
}

interface Statement extends D1PreparedStatement {
  readonly inner: D1PreparedStatement;
}

function statementWith(inner: D1PreparedStatement, around: Around): Statement {
  const wrapped = {
    inner,
    bind: (...values: unknown[]) => statementWith(inner.bind(...values), around),
    all: () => around(() => inner.all(), 1),
    run: () => around(() => inner.run(), 1),
    raw: (options?: { columnNames?: false }) => around(() => inner.raw(options), 1),
    first: (column?: string) => around(() => (column === undefined ? inner.first() : inner.first(column)), 1),
  };
  return wrapped as unknown as Statement;
}
