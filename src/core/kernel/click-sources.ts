/**
 * Clicks by source: a partner's by page of the site and sub-id, the whole program's by page, referring host and
 * country. A limited number of values of each kind has its own count for a day; the clicks of all others are counted
 * together, under the empty value, which no click has.
 */
import { sql, type SQL } from "drizzle-orm";
import { literal, literals } from "../../db/client.ts";

/** Fields of a click's payload by which a partner's clicks are counted. */
export const SOURCE_KINDS = ["landing", "sub"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Fields by which the program's clicks are counted. */
export const PROGRAM_KINDS = ["landing", "referrer", "country"] as const;
export type ProgramSourceKind = (typeof PROGRAM_KINDS)[number];

/** Both, each once. */
export const COUNTED_KINDS = [...new Set([...SOURCE_KINDS, ...PROGRAM_KINDS])];
export const COUNTED_KINDS_JSON = JSON.stringify(COUNTED_KINDS);

/** Values of a kind with their own count, for each partner, or the program, and UTC day. */
export const MOST_SOURCES = 50;

/** Replaces the partner for the program as a whole. */
export const WHOLE_PROGRAM = "";

/** Replaces the host if the browser reported no referring page; a host has no such characters. */
export const NO_REFERRER = "(none)";

/** The longest host. */
const MOST_HOST = 253;

/**
 * The kept counts of clicks: converts rows of `program_id`, `partner_id`, `day`, `kind`, `value` and `n` to the rows by
 * which each click is counted, for its partner and for the program. A value may occur several times.
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

/** The part of a click that `countedRows` reads for a kind: for a referrer only its host, which many pages share. */
export function sourceOf<Kind extends string>(click: Record<Kind, string | undefined>, kind: Kind): string | undefined {
  return kind === "referrer" ? (HOST.exec(click[kind] ?? "")?.[0] ?? "") : click[kind];
}

const HOST = new RegExp(`^[^:]*://[^/?#]{0,${MOST_HOST}}`, "u");

/** Adds clicks to the kept counts, in the rows of `countedRows`. */
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
