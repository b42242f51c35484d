import { sql, type SQL } from "drizzle-orm";
import { literal, type Database } from "../../db/client.ts";
import { joined } from "../../db/parts.ts";
import { shaped, text, type Columns } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import { foldSearch, SEARCH_GRAM, SEARCHED_COLUMNS, searchText, type Searched } from "../../domain/partner.ts";
import type { Reader } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/job.ts";

/** The condition of the partial index of texts that are `unindexed`, or that an earlier version wrote. */
const UNFOLDED = sql.raw("substr(search_text, 1, 1) <> char(10)");

/** So many of a text's grams are compared for which is the rarest, as far as so many rows of each. */
const COMPARED = 10;
const COUNTED = 10;

/**
 * The partners of a program in one of whose `SEARCHED_COLUMNS` a text is (PART-5). They are found by the rarest of its parts of
 * three characters, or by what begins with it where it is shorter: as many rows are read as have that. The texts of partners
 * who were made within the minute, and those of an earlier version, are looked through until the job below has served them.
 */
export function searched(ctx: Reader, search: string): SQL {
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

/** Partners of one program that one statement folds, and those that are looked up at once. */
const FOLDED_AT_ONCE = 50;
const LISTED = 500;

/** Some of a program's partners, as JSON. */
interface Unfolded extends Owner {
  partners: string;
}

interface Row extends Searched {
  id: string;
  search_text: string;
}

const UNFOLDED_COLUMNS: Columns<Unfolded> = { key: text, partners: text };
const ROW: readonly (keyof Row)[] = ["id", ...SEARCHED_COLUMNS, "search_text"];

/**
 * Folds the texts of partners who were made of late, or that an earlier version wrote: a trigger brings them to the grams by
 * which partners are found. It would cost a new partner's request three times the rows that it writes itself. One that is
 * written meanwhile is left as it is.
 */
export function foldSearchTexts({ db }: { db: Database }): Work<Unfolded> {
  return {
    cost: 1,
    async due(after) {
      const [program_id = "", id = ""] = after.split(" ");
      const columns = ROW.map((name) => sql.raw(`'${name}', ${name}`));
      return shaped(
        db,
        UNFOLDED_COLUMNS,
        sql`select program_id || ' ' || max(id) as key, json_group_array(json_object(${joined(columns, sql`, `, "different")}))
            as partners
          from (select *, row_number() over (order by program_id, id) / ${literal(FOLDED_AT_ONCE)} as place
            from partners indexed by partners_unfolded
            where ${UNFOLDED} and (program_id, id) > (${program_id}, ${id})
            order by program_id, id limit ${literal(LISTED)})
          group by program_id, place order by key`,
      );
    },
    async serve(some) {
      const rows = JSON.parse(some.partners) as Row[];
      const folded = rows.map((row) => ({ id: row.id, before: row.search_text, after: searchText(row) }));
      await db.run(sql`update partners set search_text = f.value ->> 'after' from json_each(${JSON.stringify(folded)}) f
        where partners.id = f.value ->> 'id' and partners.search_text = f.value ->> 'before'`);
      return false;
    },
  };
}
