/**
 * Clicks by where they came from: of a partner by page of the site and sub-id, of the whole program by page, referring host and
 * country. Of each kind so many values a day have a count of their own; the clicks of all others are counted together, under
 * the empty value, which no click has.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";

/** Fields of a click's payload, of those that a partner's clicks are counted by. */
export const SOURCE_KINDS = ["landing", "sub"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Of those that the program's clicks are counted by, whoever's they are. */
export const PROGRAM_KINDS = ["landing", "referrer", "country"] as const;
export type ProgramSourceKind = (typeof PROGRAM_KINDS)[number];

/** Both, each once. */
export const COUNTED_KINDS = [...new Set([...SOURCE_KINDS, ...PROGRAM_KINDS])];
export const COUNTED_KINDS_JSON = JSON.stringify(COUNTED_KINDS);

/** Values of a kind that are counted apart, for each partner, or the program, and UTC day. */
export const MOST_SOURCES = 50;

/** In place of a partner: the program as a whole. */
export const WHOLE_PROGRAM = "";

/** In place of a host, which has no such characters: the browser said no page that the visitor came from. */
export const NO_REFERRER = "(none)";

/** No host is longer. */
const MOST_HOST = 253;

/**
 * What is kept of clicks: rows of `program_id`, `partner_id`, `day`, `kind`, `value` and `n` become those by which each is
 * counted, for its partner and for the program. A value may come several times.
 */
export function countedRows(rows: SQL): SQL {
  const after = sql`substr(value, instr(value, '://') + 3)`;
  const host = sql`lower(substr(substr(${after}, 1, instr(replace(replace(${after}, '?', '/'), '#', '/') || '/', '/') - 1),
    1, ${literal(MOST_HOST)}))`;
  return sql`with source as materialized (${rows})
    select program_id, partner_id, day, kind, value, n from source where kind in ${literals(SOURCE_KINDS)}
    union all
    select program_id, '', day, kind,
      iif(kind <> 'referrer', value, iif(instr(value, '://'), ifnull(nullif(${host}, ''), '(none)'), '(none)')), n
    from source where kind in ${literals(PROGRAM_KINDS)}`;
}

/** As much of a click as `countedRows` reads of a kind: many pages that lead here have one host. */
export function sourceOf<Kind extends string>(click: Record<Kind, string | undefined>, kind: Kind): string | undefined {
  return kind === "referrer" ? (HOST.exec(click[kind] ?? "")?.[0] ?? "") : click[kind];
}

const HOST = new RegExp(`^[^:]*://[^/?#]{0,${MOST_HOST}}`, "u");

/** Adds clicks to the kept counts: rows as `countedRows` takes them. */
export function addToSources(rows: SQL): SQL {
  return sql`insert into click_sources (program_id, partner_id, day, kind, value, count)
    select program_id, partner_id, day, kind,
      iif(kept or place + (select count(*) from click_sources k where k.program_id = c.program_id
        and k.partner_id = c.partner_id and k.day = c.day and k.kind = c.kind and k.value > '') <= ${literal(MOST_SOURCES)},
        value, ''), sum(n)
    from (select r.*, k.value is not null as kept, row_number() over (
          partition by r.program_id, r.partner_id, r.day, r.kind, k.value is not null order by r.n desc, r.value) as place
      from (select program_id, partner_id, day, kind, value, sum(n) as n from (${countedRows(rows)}) group by 1, 2, 3, 4, 5) r
        left join click_sources k on k.program_id = r.program_id and k.partner_id = r.partner_id
        and k.day = r.day and k.kind = r.kind and k.value = r.value
      where r.n > 0) c
    where true group by 1, 2, 3, 4, 5
    on conflict (program_id, partner_id, day, kind, value) do update set count = count + excluded.count`;
}
