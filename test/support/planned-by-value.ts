/**
 * Statements that SQLite compiles again at every run, because it plans them by the value that is bound: LIMIT, and a
 * column that the condition of a partial index of the table compares with a constant. Compiling costs more than most
 * statements do.
 */
export async function plannedByValue(database: D1Database, statements: Iterable<string>): Promise<string[]> {
  const { results } = await database
    .prepare("select tbl_name, sql from sqlite_master where type = 'index' and sql like '% where %'")
    .all<{ tbl_name: string; sql: string }>();
  const compared = results.flatMap(({ tbl_name, sql }) => {
    const condition = sql.slice(sql.search(/\swhere\s/i));
    return [...condition.matchAll(/(\w+) = (?:'\w+'|\d+)/g)].map(([, column]) => ({
      table: tbl_name,
      column: column!,
    }));
  });
  if (compared.length === 0) throw new Error("no partial index was found");
  return [...statements].filter((text) => {
    // The values that an UPDATE sets are not compared.
    const sql = text
      .replaceAll('"', "")
      .replaceAll(/\s+/g, " ")
      .replaceAll(/\bset .*? where /gi, "where ");
    const isCompared = ({ table, column }: (typeof compared)[number]) => {
      const named = [...sql.matchAll(new RegExp(`\\b${table}(?: (?!where|cross|join|on|order|indexed)(\\w+))?`, "g"))];
      const aliases = named.map(([, alias]) => alias ?? table);
      const comparisons = [...sql.matchAll(new RegExp(`(?<![+\\w.])(?:(\\w+)\\.)?${column} (?:=|is) \\?`, "g"))];
      // A column without its table is of the one named last before it.
      return comparisons.some(({ 1: alias, index }) =>
        alias === undefined
          ? [...sql.slice(0, index).matchAll(/\b(?:from|update) (\w+)/gi)].at(-1)?.[1] === table
          : aliases.includes(alias),
      );
    };
    return / limit \?/i.test(sql) || compared.some(isCompared);
  });
}
