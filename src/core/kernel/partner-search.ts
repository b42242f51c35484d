import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { partners } from "../../db/schema.ts";
import { foldSearch, SEARCH_GRAM } from "../../domain/partner.ts";
import type { Reader } from "./context.ts";

/** The condition of the partial index of texts that are `unindexed`. */
export const UNFOLDED = sql.raw("substr(search_text, 1, 1) <> char(10)");

/** How many of a text's grams are compared to find the rarest, and how many rows of each are counted. */
const COMPARED = 10;
const COUNTED = 10;

/**
 * The partners of a program with a text in one of their `SEARCHED_COLUMNS` (PART-5). They are found by the rarest of
 * its three-character parts, or if it is shorter by the parts that begin with it: only the rows with that part are
 * read. The job of `partners/search.ts` makes these parts within a minute; until then the text of a new partner is
 * searched directly.
 */
export function selectSearchedPartners(ctx: Reader, search: string): SQL {
  const text = foldSearch(search);
  const own = sql`program_id = ${ctx.programId}`;
  return sql`${partners.id} in (
      ${foundBy(own, Array.from(text))}
      union
      select id from partners indexed by partners_unfolded where ${own} and ${UNFOLDED})
    and instr(${partners.search_text}, ${text}) > 0`;
}

function foundBy(own: SQL, characters: readonly string[]): SQL {
  const count = characters.length - SEARCH_GRAM + 1;
  if (count < 1) {
    const text = characters.join("");
    return sql`select partner_id from partner_grams where ${own} and gram >= ${text} and gram < ${text} || char(1114111)`;
  }
  const grams = Array.from({ length: Math.min(count, COMPARED) }, (_, i) => {
    const at = Math.floor((i * count) / Math.min(count, COMPARED));
    return characters.slice(at, at + SEARCH_GRAM).join("");
  });
  return sql`select partner_id from partner_grams where ${own} and gram = (
      select part.value from json_each(${JSON.stringify(grams)}) part order by (select count(*) from (
        select 1 from partner_grams g where g.${own} and g.gram = part.value limit ${literal(COUNTED)})), part.key limit 1)`;
}
