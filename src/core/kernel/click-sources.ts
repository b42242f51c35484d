/**
 * Clicks of a partner by where they came from: the page of the site and the sub-id. Of each kind so many values a day have
 * a count of their own; the clicks of all others are counted together, under the empty value, which no click has.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";

/** Fields of a click's payload. */
export const SOURCE_KINDS = ["landing", "sub"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Values of a kind that are counted apart, for each partner and UTC day. */
export const MOST_SOURCES = 50;

export const KINDS_JSON = JSON.stringify(SOURCE_KINDS);

/** Adds clicks to the kept counts: rows of `program_id`, `partner_id`, `day`, `kind`, `value` and `n`, each value once. */
export function addToSources(rows: SQL): SQL {
  return sql`insert into click_sources (program_id, partner_id, day, kind, value, count)
    select program_id, partner_id, day, kind,
      iif(kept or place + (select count(*) from click_sources k where k.program_id = c.program_id
        and k.partner_id = c.partner_id and k.day = c.day and k.kind = c.kind and k.value > '') <= ${literal(MOST_SOURCES)},
        value, ''), sum(n)
    from (select r.*, k.value is not null as kept, row_number() over (
          partition by r.program_id, r.partner_id, r.day, r.kind, k.value is not null order by r.n desc, r.value) as place
      from (${rows}) r left join click_sources k on k.program_id = r.program_id and k.partner_id = r.partner_id
        and k.day = r.day and k.kind = r.kind and k.value = r.value
      where r.n > 0) c
    where true group by 1, 2, 3, 4, 5
    on conflict (program_id, partner_id, day, kind, value) do update set count = count + excluded.count`;
}
