import { Placeholder, sql, SQL, StringChunk } from "drizzle-orm";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";

const dialect = new SQLiteSyncDialect();

/**
 * A part of a statement whose text is made once and used again with other values for `names`. Use it for large texts: making
 * one costs more than a small read, and every space of it is sent to the database. `build` gets the place of each value.
 */
export function reusablePart<Name extends string>(
  names: readonly Name[],
  build: (places: Readonly<Record<Name, SQL>>) => SQL,
): (values: Readonly<Record<Name, string | number | null>>) => SQL {
  let made: { texts: StringChunk[]; params: unknown[] } | undefined;
  return (values) => {
    made ??= written(build(Object.fromEntries(names.map((name) => [name, sql`${sql.placeholder(name)}`])) as never));
    const { texts, params } = made;
    const chunks = params.flatMap((param, i) => [
      texts[i]!,
      param instanceof Placeholder ? values[param.name as Name] : param,
    ]);
    return new SQL([...chunks, texts.at(-1)!] as SQL["queryChunks"]);
  };
}

/** The texts around the parameters. */
function written(part: SQL): { texts: StringChunk[]; params: unknown[] } {
  const query = dialect.sqlToQuery(part);
  const texts = query.sql.replaceAll(/\n */g, " ").split("?");
  if (texts.length !== query.params.length + 1) throw new Error(`a question mark in the text: ${query.sql}`);
  return { texts: texts.map((text) => new StringChunk(text)), params: query.params };
}
