import { sql } from "drizzle-orm";
import { selectRows, text, whole } from "../../db/rows.ts";
import { firstIdAt } from "../../lib/id.ts";
import { MINUTE } from "../../lib/time.ts";
import type { Reader } from "../kernel/context.ts";
import { minuteParts, ofType, totalOf, type EventRange } from "../kernel/event-counts.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";
import { countArchived, stretchesOf, stretchReader, type IdRange, type Place } from "./archived.ts";

/** The empty range beyond the oldest event. */
const NONE: IdRange = { from: null, before: "" };

/**
 * Finds the event that has `offset` newer ones in a range that ends at `filter.to`: the counts give its minute, so that
 * only the newer events of that minute are left to skip. Reads the counts of the days, those of one day, and the clicks
 * that are not rolled up yet.
 */
export async function findPlace(ctx: Reader, filter: EventRange, range: IdRange, offset: number): Promise<Place> {
  const rank = offset + (filter.to === undefined ? 0 : await countFrom(ctx, { type: filter.type, from: filter.to }));
  const { type } = filter;
  const uncounted =
    type === undefined || type === "click" ? uncountedClicks(ctx) : sql`(select '' as created_at) where false`;
  const [minutes] = await ctx.read(
    selectRows(
      ctx.db,
      { newer: whole, minute: text, n: whole },
      sql`
      with uncounted as materialized (select substr(created_at, 1, 16) as minute, count(*) as n from ${uncounted} group by 1),
      days as (select day, sum(count) as n from (
        select day, count from event_counts where program_id = ${ctx.programId} ${ofType(type)}
        union all select substr(minute, 1, 10), n from uncounted) group by day),
      reached as (select day, n, sum(n) over (order by day desc) as upto from days),
      sought as (select day, upto - n as newer from reached where upto > ${rank} order by day desc limit 1)
      select newer, minute, sum(n) as n from (
        select s.newer as newer, h.hour || ':' || m.key as minute, m.value as n from sought s
        cross join event_hours h on h.program_id = ${ctx.programId} and h.hour >= s.day and h.hour < s.day || 'U'
          ${ofType(type, sql`h.`)}
        cross join json_each(h.minutes) m
        union all
        select s.newer, u.minute, u.n from sought s cross join uncounted u on u.minute >= s.day and u.minute < s.day || 'U')
      group by minute order by minute desc`,
    ),
  );
  let newer = minutes[0]?.newer ?? 0;
  for (const { minute, n } of minutes) {
    if (newer + n > rank) {
      const end = firstIdAt("event", Date.parse(`${minute}:00.000Z`) + MINUTE);
      // If the range itself ends in this minute, there are at most this minute's events to skip.
      if (range.before !== null && range.before < end) return { range, skip: offset };
      return { range: { ...range, before: end }, skip: rank - newer };
    }
    newer += n;
  }
  return { range: NONE, skip: 0 };
}

async function countFrom(ctx: Reader, range: EventRange): Promise<number> {
  const parts = minuteParts(range);
  const [[counted], stretches] = await ctx.read(
    selectRows(ctx.db, { total: whole }, sql`select ${totalOf(ctx, range)} as total`),
    stretchesOf(ctx, parts),
  );
  return (counted?.total ?? 0) + (await countArchived(stretchReader(ctx), stretches, parts));
}
