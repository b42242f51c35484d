import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { nullable, selectRows, text, textOf, type Row } from "../../db/rows.ts";
import { firstIdAt, instantOf } from "../../lib/id.ts";
import { logLine } from "../../lib/log.ts";
import { DAY, iso, MINUTE, utcDay } from "../../lib/time.ts";
import { COUNTED_KINDS_JSON, countedRows, MOST_SOURCES, WHOLE_PROGRAM } from "../kernel/click-sources.ts";
import type { Ctx } from "../kernel/context.ts";
import { isCounted } from "../kernel/uncounted-clicks.ts";
import type { Owner, Work } from "../kernel/work.ts";

/** The number of events counted at once, unless a whole minute has more. */
const EVENTS_AT_ONCE = 20_000;
/** The last part of a key if all events of the program are counted; otherwise the minute up to which they are. */
const ALL = "~";
/** The most corrections in a log line. */
const MAX_REPORTED = 10;

/** Whole minutes of one program's events: `from` included, `to` not. Milliseconds. */
interface Stretch extends Owner {
  program_id: string;
  from: number;
  to: number;
}

/** `head` and `beyond`: the first event, and the first one past the limit; null if there is no such event. */
const FOUND = { program_id: text, first: text, head: nullable(text), beyond: nullable(text) };

/** A corrected count. */
const MENDED = {
  figure: textOf<"event_hours" | "event_counts" | "click_counts" | "click_sources">(),
  at: text,
  of: text,
};

/**
 * Recounts the events in the database and corrects the stored counts: hours with their minutes, days, the clicks in the
 * archive, clicks by partner. Each statement counts and sets at once, so a concurrent write is neither lost nor counted
 * twice. Clicks that wait for the roll-up are still left to it. If a day has clicks in the archive, the clicks of its
 * hours and partners stay as they are: they can no longer be counted by rows.
 */
export function recountEvents(ctx: Pick<Ctx, "db">): Work<Stretch> {
  return {
    cost: 4,
    async due(after) {
      const [program_id = "", minute = ALL] = after.split(" ");
      const found = await selectRows(
        ctx.db,
        FOUND,
        nextOf(program_id, minute === ALL ? null : Date.parse(`${minute}Z`)),
      );
      return found.map(stretchOf);
    },
    async serve(stretch) {
      const mended = (await runBatch(ctx.db, mending(ctx, stretch))).flat();
      if (mended.length > 0) {
        const { program_id } = stretch;
        logLine("error", {
          what: "kept counts were wrong",
          program_id,
          count: mended.length,
          mended: mended.slice(0, MAX_REPORTED),
        });
      }
      return false;
    },
  };
}

/** Selects the rest of `program_id` from an instant on, or programs after it, with one round's number of events. */
function nextOf(program_id: string, from: number | null): SQL {
  const events = (of: string) => sql.raw(`events e where e.program_id = ${of}.program_id and e.id >= ${of}.first`);
  const few = (of: string) =>
    sql`(select count(*) from (select 1 from ${events(of)} limit ${literal(EVENTS_AT_ONCE + 1)}))`;
  const start =
    from === null
      ? sql`select min(id), '' from programs where id > ${program_id}`
      : sql`select ${program_id}, ${firstIdAt("event", from)}`;
  return sql`with recursive start(program_id, first) as (${start}),
    walk(program_id, first, n, before) as (
      select program_id, first, ${few("start")}, 0 from start where program_id is not null
      union all
      select next.program_id, '', (select count(*) from (select 1 from events e where e.program_id = next.program_id
        limit ${literal(EVENTS_AT_ONCE + 1)})), walk.before + walk.n
      from walk cross join (select id as program_id from programs) next
      where walk.before + walk.n < ${literal(EVENTS_AT_ONCE)}
        and next.program_id = (select min(id) from programs where id > walk.program_id))
    select program_id, first, (select id from ${events("walk")} order by id limit 1) as head,
      iif(n > ${literal(EVENTS_AT_ONCE)},
        (select id from ${events("walk")} order by id limit 1 offset ${literal(EVENTS_AT_ONCE)}), null) as beyond
    from walk order by program_id limit ${literal(PROGRAMS_AT_ONCE)}`;
}

const PROGRAMS_AT_ONCE = 50;

function stretchOf({ program_id, first, head, beyond }: Row<typeof FOUND>): Stretch {
  const from = first === "" ? 0 : instantOf(first);
  if (head === null || beyond === null) return { key: `${program_id} ${ALL}`, program_id, from, to: END };
  // Whole minutes, at least the minute of the first event.
  const to = Math.max(minuteOf(instantOf(beyond)), minuteOf(instantOf(head)) + MINUTE);
  return { key: `${program_id} ${iso(to).slice(0, 16)}`, program_id, from, to };
}

/** After every event. */
const END = Date.parse("9999-12-31T00:00:00.000Z");

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE) * MINUTE;
}

function mending({ db }: Pick<Ctx, "db">, stretch: Stretch) {
  const { program_id, from, to } = stretch;
  // The days that end in this stretch.
  const days = { program_id, from: Math.floor(from / DAY) * DAY, to: Math.floor(to / DAY) * DAY };
  return [
    selectRows(db, MENDED, mendHours(stretch)),
    selectRows(db, MENDED, mendDays({ ...days, to: Math.ceil(to / DAY) * DAY })),
    ...(days.from < days.to
      ? [
          selectRows(db, MENDED, mendClicks(days, from > days.from)),
          selectRows(db, MENDED, mendSources(days, from > days.from)),
        ]
      : []),
  ];
}

type Range = Pick<Stretch, "program_id" | "from" | "to">;

/** A condition: excludes clicks of days that are in the archive, in whole or in part. */
function countable(type: SQL, day: SQL, program_id: string): SQL {
  return sql`not (${type} = 'click' and exists (select 1 from event_counts c where c.program_id = ${program_id}
    and c.type = 'click' and c.day = ${day} and c.archived > 0))`;
}

function eventsIn({ program_id, from, to }: Range): SQL {
  return sql`program_id = ${program_id} and id >= ${firstIdAt("event", from)} and id < ${firstIdAt("event", to)}`;
}

/** Corrects the minutes in the range; the other minutes of the first and the last hour stay. */
function mendHours(range: Range): SQL {
  const { program_id, from, to } = range;
  const [first, end] = [iso(from).slice(0, 16), iso(to).slice(0, 16)];
  const kept = sql`event_hours h where h.program_id = ${program_id}
    and h.hour >= ${first.slice(0, 13)} and h.hour <= ${end.slice(0, 13)}
    and ${countable(sql`h.type`, sql`substr(h.hour, 1, 10)`, program_id)}`;
  return sql`with counted as (
      select substr(created_at, 1, 13) as hour, type, substr(created_at, 15, 2) as minute, count(*) as n from events
      where ${eventsIn(range)} and created_at >= ${iso(from)} and created_at < ${iso(to)}
        and ${countable(sql`type`, sql`substr(created_at, 1, 10)`, program_id)} and ${isCounted(program_id)}
      group by 1, 2, 3
      union all
      select hour, type, key, value from (select h.hour as hour, h.type as type, m.key as key, m.value as value
        from (select * from ${kept}) h cross join json_each(h.minutes) m)
      where hour || ':' || key < ${first} or hour || ':' || key >= ${end}
      union all
      select hour, type, null, 0 from ${kept})
    insert into event_hours (program_id, hour, type, count, minutes)
    select ${program_id}, hour, type, sum(n), json_group_object(minute, n) filter (where minute is not null)
    from (select * from counted order by hour, type, minute) where true group by hour, type
    on conflict (program_id, hour, type) do update set count = excluded.count, minutes = excluded.minutes
    where count <> excluded.count or excluded.minutes <>
      (select json_group_object(key, value) from (select key, value from json_each(event_hours.minutes) order by key))
    returning 'event_hours' as figure, hour as at, type as "of"`;
}

/** Corrects whole days by their hours and by the recorded stretches of the archive. */
function mendDays({ program_id, from, to }: Range): SQL {
  const [first, end] = [utcDay(from), utcDay(to)];
  return sql`with counted as (
      select type, substr(hour, 1, 10) as day, count, 0 as archived from event_hours
      where program_id = ${program_id} and hour >= ${first} and hour < ${end}
      union all
      select 'click', day, 0, count from click_archives where program_id = ${program_id}
        and last_id >= ${firstIdAt("event", from)} and last_id < ${firstIdAt("event", to)}
      union all
      select type, day, 0, 0 from event_counts where program_id = ${program_id} and day >= ${first} and day < ${end})
    insert into event_counts (program_id, type, day, count, archived)
    select ${program_id}, type, day, sum(count), sum(archived) from counted where true group by type, day
    on conflict (program_id, type, day) do update set count = excluded.count, archived = excluded.archived
    where count <> excluded.count or archived <> excluded.archived
    returning 'event_counts' as figure, day as at, type as "of"`;
}

/** Corrects whole days. A first day counted in part before (`isCut`) is counted only if its clicks do not add up. */
function mendClicks({ program_id, from, to }: Range, isCut: boolean): SQL {
  const day = utcDay(from);
  const second = from + DAY;
  const kept = sql`select coalesce(sum(count), 0) from event_counts where program_id = ${program_id} and type = 'click'
    and day = ${day}`;
  const isOff = isCut
    ? sql`(select coalesce(sum(k.count), 0) from ${keptClicks(program_id, sql`k.day = ${day}`)}) <> (${kept})`
    : sql`1`;
  return sql`with span(id, day) as (
      select iif(${isOff}, ${firstIdAt("event", from)}, ${firstIdAt("event", second)}),
        iif(${isOff}, ${day}, ${utcDay(second)})),
    counted as (
      select payload ->> 'partner_id' as partner_id, substr(created_at, 1, 10) as day, 1 as n from events
      where program_id = ${program_id} and id >= (select id from span) and id < ${firstIdAt("event", to)}
        and type = 'click' and ${isCounted(program_id)}
      union all
      select k.partner_id, k.day, 0 from
        ${keptClicks(program_id, sql`k.day >= (select day from span) and k.day < ${utcDay(to)}`)})
    insert into click_counts (program_id, partner_id, day, count)
    select ${program_id}, partner_id, day, sum(n) from counted
    where ${countable(sql`'click'`, sql`day`, program_id)} group by partner_id, day
    on conflict (program_id, partner_id, day) do update set count = excluded.count where count <> excluded.count
    returning 'click_counts' as figure, day as at, partner_id as "of"`;
}

/** Corrects the clicks by page, sub-id and so on. Values with a row keep it; others get one up to `MOST_SOURCES`. */
function mendSources({ program_id, from, to }: Range, isCut: boolean): SQL {
  const day = utcDay(from);
  const second = from + DAY;
  const kept = (of: SQL) => sql`partners p cross join click_sources k on k.program_id = p.program_id
    and k.partner_id = p.id and ${of} and p.program_id = ${program_id}`;
  const ofProgram = sql`click_sources k where k.program_id = ${program_id} and k.partner_id = ${WHOLE_PROGRAM}`;
  // Every click has a page.
  const isOff = isCut
    ? sql`exists (select 1 from (
          select coalesce(sum(k.count), 0) as n from ${kept(sql`k.day = ${day} and k.kind = 'landing'`)}
          union all select coalesce(sum(k.count), 0) from ${ofProgram} and k.day = ${day} and k.kind = 'landing')
        where n <> (select coalesce(sum(count), 0) from event_counts
          where program_id = ${program_id} and type = 'click' and day = ${day}))`
    : sql`1`;
  return sql`with span(id, day) as (
      select iif(${isOff}, ${firstIdAt("event", from)}, ${firstIdAt("event", second)}),
        iif(${isOff}, ${day}, ${utcDay(second)})),
    counted as (
      select partner_id, day, kind, value, n, 0 as kept from (${countedRows(sql`
        select program_id, payload ->> 'partner_id' as partner_id, substr(created_at, 1, 10) as day, t.value as kind,
          payload ->> t.value as value, 1 as n
        from (select program_id, payload, created_at from events where program_id = ${program_id}
          and id >= (select id from span) and id < ${firstIdAt("event", to)} and type = 'click' and ${isCounted(program_id)})
        cross join json_each(${COUNTED_KINDS_JSON}) t where payload ->> t.value is not null`)})
      union all
      select k.partner_id, k.day, k.kind, k.value, 0, 1
      from ${kept(sql`k.day >= (select day from span) and k.day < ${utcDay(to)}`)}
      union all
      select k.partner_id, k.day, k.kind, k.value, 0, 1
      from ${ofProgram} and k.day >= (select day from span) and k.day < ${utcDay(to)}),
    ranked as (
      select partner_id, day, kind, value, sum(n) as n, row_number() over (
        partition by partner_id, day, kind order by value = '', max(kept) desc, sum(n) desc, value) as place
      from counted where ${countable(sql`'click'`, sql`day`, program_id)} group by 1, 2, 3, 4)
    insert into click_sources (program_id, partner_id, day, kind, value, count)
    select ${program_id}, partner_id, day, kind, iif(place <= ${literal(MOST_SOURCES)}, value, ''), sum(n)
    from ranked where true group by partner_id, day, kind, 5
    on conflict (program_id, partner_id, day, kind, value) do update set count = excluded.count
    where count <> excluded.count
    returning 'click_sources' as figure, day as at, partner_id as "of"`;
}

/** Stored clicks, looked up by partner because the key is in this order. */
function keptClicks(program_id: string, of: SQL): SQL {
  return sql`partners p cross join click_counts k on k.program_id = p.program_id and k.partner_id = p.id and ${of}
    and p.program_id = ${program_id}`;
}
