/**
 * The database between the Worker and D1: passes on D1's counts of the rows that each statement read and wrote, and each
 * round trip.
 */
export function meterDatabase(
  database: D1Database,
  note: (meta: D1Meta, sql: string) => void,
  onRoundTrip: () => void = () => {},
): D1Database {
  const texts = new WeakMap<object, { sql: string; inner: D1PreparedStatement }>();
  const noted = <T extends D1Result>(sql: string, result: T): T => {
    note(result.meta, sql);
    return result;
  };
  const statement = (inner: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const all = async <T>() => {
      onRoundTrip();
      return noted(sql, await inner.all<T>());
    };
    const metered: Pick<D1PreparedStatement, "bind" | "all" | "run"> & Record<"raw" | "first", unknown> = {
      bind: (...values) => statement(inner.bind(...values), sql),
      all,
      run: all,
      first: async (column?: string) => {
        const row = (await all<Record<string, unknown>>()).results[0] ?? null;
        return column === undefined ? row : (row?.[column] ?? null);
      },
      // Raw rows come without their counts, so a read runs twice.
      raw: async () => {
        const { results } = await all<Record<string, unknown>>();
        return /^\s*(select|with)\b/i.test(sql) ? inner.raw() : results.map((row) => Object.values(row));
      },
    };
    texts.set(metered, { sql, inner });
    return metered as D1PreparedStatement;
  };
  const metered: Pick<D1Database, "prepare" | "batch"> = {
    prepare: (sql) => statement(database.prepare(sql), sql),
    batch: async <T>(statements: D1PreparedStatement[]) => {
      onRoundTrip();
      const parts = statements.map((one) => texts.get(one)!);
      const results = await database.batch<T>(parts.map(({ inner }) => inner));
      return results.map((result, i) => noted(parts[i]!.sql, result));
    },
  };
  return metered as D1Database;
}

/** A database that reports this size in bytes. */
export function sizedDatabase(database: D1Database, bytes: number): D1Database {
  return meterDatabase(database, (meta) => {
    meta.size_after = bytes;
  });
}

export interface RowMeter {
  binding: D1Database;
  /** Rows read since the last call of this, and the statements that read the most of them. */
  taken(): { rows: number; most: string[] };
  /** The texts of all statements so far. */
  statements: ReadonlySet<string>;
}

export function meterRowsRead(database: D1Database): RowMeter {
  let seen: { sql: string; rows: number }[] = [];
  const statements = new Set<string>();
  return {
    binding: meterDatabase(database, ({ rows_read }, sql) => {
      seen.push({ sql, rows: rows_read });
      statements.add(sql);
    }),
    statements,
    taken() {
      const sorted = seen.toSorted((a, b) => b.rows - a.rows);
      seen = [];
      return {
        rows: sorted.reduce((sum, { rows }) => sum + rows, 0),
        most: sorted.slice(0, 3).map(({ rows, sql }) => `${rows}: ${sql.replaceAll(/\s+/g, " ").slice(0, 200)}`),
      };
    },
  };
}
