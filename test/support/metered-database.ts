/** The database between the Worker and D1: adds up what D1 says that its statements read. */

export interface MeteredDatabase {
  binding: D1Database;
  /** Rows read since the last call of this, and the statements that read the most of them. */
  taken(): { rows: number; most: string[] };
}

export function meterDatabase(database: D1Database): MeteredDatabase {
  let seen: { sql: string; rows: number }[] = [];
  const texts = new WeakMap<object, { sql: string; inner: D1PreparedStatement }>();
  const note = <T extends D1Result>(sql: string, result: T): T => {
    seen.push({ sql: sql.replaceAll(/\s+/g, " "), rows: result.meta.rows_read });
    return result;
  };
  const statement = (inner: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const all = async <T>() => note(sql, await inner.all<T>());
    const metered: Pick<D1PreparedStatement, "bind" | "all" | "run"> & Record<"raw" | "first", unknown> = {
      bind: (...values) => statement(inner.bind(...values), sql),
      all,
      run: all,
      // Neither tells what it read.
      raw: async () => (await all<Record<string, unknown>>()).results.map((row) => Object.values(row)),
      first: async (column?: string) => {
        const row = (await all<Record<string, unknown>>()).results[0] ?? null;
        return column === undefined ? row : row?.[column];
      },
    };
    texts.set(metered, { sql, inner });
    return metered as D1PreparedStatement;
  };
  const metered: Pick<D1Database, "prepare" | "batch"> = {
    prepare: (sql) => statement(database.prepare(sql), sql),
    batch: async <T>(statements: D1PreparedStatement[]) => {
      const parts = statements.map((one) => texts.get(one)!);
      const results = await database.batch<T>(parts.map(({ inner }) => inner));
      return results.map((result, i) => note(parts[i]!.sql, result));
    },
  };
  return {
    binding: metered as D1Database,
    taken() {
      const sorted = seen.toSorted((a, b) => b.rows - a.rows);
      seen = [];
      return {
        rows: sorted.reduce((sum, { rows }) => sum + rows, 0),
        most: sorted.slice(0, 3).map(({ rows, sql }) => `${rows}: ${sql.slice(0, 200)}`),
      };
    },
  };
}
