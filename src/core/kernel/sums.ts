/**
 * Sums of amounts that are right however large: a number of the database's replies is exact to 2^53 only, and `sum()`
 * fails beyond 2^63. So the millions and what is beside them are added up apart.
 */
import { sql, type SQL } from "drizzle-orm";
import { exact, type Sum } from "../../domain/money.ts";

const MILLION = sql.raw("1000000");

/** The sum of whole numbers as a text for `readSum`; null where there are no rows. */
export function exactSum(column: SQL): SQL<string | null> {
  return together(sql`sum((${column}) / ${MILLION})`, sql`sum((${column}) % ${MILLION})`);
}

/** The same to compare, to order by and to store: a whole number to 2^63, beyond that near it. */
export function comparableSum(column: SQL): SQL {
  return comparable(sql`sum((${column}) / ${MILLION})`, sql`sum((${column}) % ${MILLION})`);
}

/** Millions and the rest likewise. */
export function comparable(millions: SQL, rest: SQL): SQL {
  return sql`(${millions} * ${MILLION} + ${rest})`;
}

/** The same as columns `millions` and `rest`, which can be added up again. */
export function sumColumns(column: SQL): SQL {
  return sql`sum((${column}) / ${MILLION}) as millions, sum((${column}) % ${MILLION}) as rest`;
}

/** Millions and the rest as a text for `readSum`. */
export function together(millions: SQL, rest: SQL): SQL<string> {
  return sql`${millions} || ' ' || ${rest}`;
}

export function readSum(text: string | null): Sum {
  const [millions = "0", rest = "0"] = (text ?? "0").split(" ");
  return exact(BigInt(millions) * 1_000_000n + BigInt(rest));
}
