/** Statements of parts whose number is not in their text: the one place where what a statement may hold is kept. */
import { SQL, sql } from "drizzle-orm";

/** D1 takes no more parameters in a statement, and no more terms in a union. */
const MOST_PARAMETERS = 100;
const MOST_TERMS = 5;

/**
 * How many parts there are at most; or that each is another one, there or not, however much data there is: then a test has
 * all of them at once.
 */
type Most = number | "different";

/** Some of the parts that a statement may have. */
class Parts extends SQL {
  readonly parts: readonly SQL[];
  readonly most: Most;

  constructor(text: SQL, parts: readonly SQL[], most: Most) {
    super(text.queryChunks);
    this.parts = parts;
    this.most = most;
  }
}

/**
 * Joins parts of a statement, of which there are never more than `most`: tests refuse one that would not fit with so many
 * (`assertFits`). A list that grows with data is one parameter, as JSON.
 */
export function joined(parts: readonly SQL[], between: SQL, most: Most): SQL {
  return new Parts(sql.join([...parts], between), parts, most);
}

/** All rows of some selects, at least one and never more than `most`, nested where the database takes fewer terms. */
export function unionOf(selects: readonly SQL[], most: Most): SQL {
  return new Parts(united(selects), selects, most);
}

function united(selects: readonly SQL[]): SQL {
  const between = sql` union all `;
  if (selects.length <= MOST_TERMS) return sql.join([...selects], between);
  const size = Math.ceil(selects.length / MOST_TERMS);
  const terms = Array.from({ length: Math.ceil(selects.length / size) }, (_, i) =>
    selects.slice(i * size, (i + 1) * size),
  );
  return sql.join(
    terms.map((term) => sql`select * from (${united(term)})`),
    between,
  );
}

/**
 * For tests: refuses a query that is too large where each of its lists has as many parts as it may, and one of whose lists
 * has no such number. `paramsOf` counts the parameters of a text.
 * @throws for such a query.
 */
export function assertFits(query: SQL, paramsOf: (part: SQL) => number): void {
  const largest = paramsOf(query) + growthOf(query, paramsOf);
  if (largest > MOST_PARAMETERS) throw new Error(`a statement may have ${largest} parameters`);
}

/** How many parameters more a chunk of a query has where its lists are as long as they may be. */
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
