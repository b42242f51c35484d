import { sql } from "drizzle-orm";
import { literal, type Database } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { selectRows, text, type Columns } from "../../db/rows.ts";
import { SEARCHED_COLUMNS, searchText, type Searched } from "../../domain/partner.ts";
import type { Owner, Work } from "../kernel/work.ts";
import { UNFOLDED } from "../kernel/partner-search.ts";

/** The number of partners of one program that one statement folds, and of those looked up at once. */
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
 * Folds the texts of new partners; a trigger makes from them the grams that find partners. In the request that creates
 * a partner, this would write three times as many rows as the rest. A text that changes meanwhile is left as it is.
 */
export function foldSearchTexts({ db }: { db: Database }): Work<Unfolded> {
  return {
    cost: 1,
    async due(after) {
      const [program_id = "", id = ""] = after.split(" ");
      const columns = ROW.map((name) => sql.raw(`'${name}', ${name}`));
      return selectRows(
        db,
        UNFOLDED_COLUMNS,
        sql`select program_id || ' ' || max(id) as key, json_group_array(json_object(${joinParts(columns, sql`, `, "different")}))
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
