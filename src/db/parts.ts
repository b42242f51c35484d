/** Statements with a variable number of parts: the only module that enforces the limits of a statement. */
import { SQL, sql } from "drizzle-orm";

/** D1's limits of parameters in a statement, and of terms in a union. */
const MOST_PARAMETERS = 100;
const MOST_TERMS = 5;

/** The greatest number of parts; or `different`: each is one optional part, and a test includes all at once. */
type Most = number | "different";

/** A variable selection of a statement's parts. */
class Parts extends SQL {
  readonly parts: readonly SQL[];
  readonly most: Most;

  constructor(text: SQL, parts: readonly SQL[], most: Most) {
    super(text.queryChunks);
    this.parts = parts;
    this.most = most;
  }
}

/** Joins at most `most` parts; tests refuse a part that would not fit (`assertFits`). Lists of data are one JSON parameter. */
export function joinParts(parts: readonly SQL[], between: SQL, most: Most): SQL {
  return new Parts(sql.join([...parts], between), parts, most);
}

/** All rows of one to `most` selects, nested if the database allows fewer terms. */
export function unionOf(selects: readonly SQL[], most: Most): SQL {
  return new Parts(unionAll(selects), selects, most);
}

function unionAll(selects: readonly SQL[]): SQL {
  const between = sql` union all `;
  if (selects.length <= MOST_TERMS) return sql.join([...selects], between);
  const size = Math.ceil(selects.length / MOST_TERMS);
  const terms = Array.from({ length: Math.ceil(selects.length / size) }, (_, i) =>
    selects.slice(i * size, (i + 1) * size),
  );
  return sql.join(
    terms.map((term) => sql`select * from (${unionAll(term)})`),
    between,
  );
}

/**
 * Refuses, in tests, a query that is too large at its lists' limits, or has a list without one. `paramsOf` counts a
 * text's parameters.
 */
export function assertFits(query: SQL, paramsOf: (part: SQL) => number): void {
  const largest = paramsOf(query) + growthOf(query, paramsOf);
  if (largest > MOST_PARAMETERS) throw new Error(`a statement may have ${largest} parameters`);
}

/** The additional parameters of a query's chunk if its lists have their maximum length. */
function growthOf(chunk: unknown, paramsOf: (part: SQL) => number): number {
  const inAll = (chunks: readonly unknown[]) => chunks.reduce<number>((sum, one) => sum + growthOf(one, paramsOf), 0);
  if (chunk instanceof Parts) {
    const { parts, most } = chunk;
    if (most === "different") return inAll(parts);
    if (parts.length > most) throw new Error(`${parts.length} parts of a statement where ${most} are the most`);
    const largest = Math.max(0, ...parts.map((part) => paramsOf(part) + growthOf(part, paramsOf)));
    return inAll(parts) + (most - parts.length) * largest;
  }
  if (chunk instanceof SQL) return inAll(chunk.queryChunks);
  if (!Array.isArray(chunk)) return 0;
  const isValue = (one: unknown) => typeof one === "string" || typeof one === "number";
  if (chunk.some(isValue)) throw new Error(`a parameter for each of a list: ${JSON.stringify(chunk)}`);
  return inAll(chunk);
}
