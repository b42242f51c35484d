import { sql, type SQL } from "drizzle-orm";
import { joinParts } from "../../db/parts.ts";
import type { AuditEventType } from "../../domain/event.ts";
import { firstIdAt } from "../../lib/id.ts";
import { DAY, HOUR, iso, MINUTE, utcDay } from "../../lib/time.ts";
import type { Reader } from "./context.ts";
import { uncountedClicks } from "./uncounted-clicks.ts";

/** Every event except clicks, which are many. */
export const NOT_CLICKS = "not clicks";

/** The selected events; all if absent. */
export type EventKind = AuditEventType | typeof NOT_CLICKS;

/** A stretch of the audit log; without bounds, all of it. */
export interface EventRange {
  type?: EventKind | undefined;
  /** Milliseconds, inclusive. */
  from?: number | undefined;
  /** Milliseconds, exclusive. */
  to?: number | undefined;
}

/**
 * Counts events that the same transaction writes. `rows` selects `program_id`, `type`, `at` (the first 16 characters of
 * `created_at`) and `n`; one row is written for each program, type and hour, and by a trigger one for the day.
 */
export function addToCounts(rows: SQL): SQL {
  return sql`insert into event_hours (program_id, hour, type, count, minutes)
    select program_id, substr(at, 1, 13), type, sum(n), json_group_object(substr(at, 15, 2), n)
    from (select program_id, type, at, sum(n) as n from (${rows}) group by 1, 2, 3 having sum(n) > 0)
    group by 1, 2, 3
    on conflict (program_id, hour, type) do update set count = count + excluded.count, minutes = (
      select json_group_object(key, n) from (select key, sum(value) as n from (
        select key, value from json_each(event_hours.minutes)
        union all select key, value from json_each(excluded.minutes)) group by key))`;
}

/** The same for events of one instant, by type, in a cheaper text: counts a request's own events. */
export function countAt(program_id: string, created_at: string, types: readonly AuditEventType[]): SQL {
  const counts = [...Map.groupBy(types, (type) => type)].map(([type, { length }]) => ({ type, n: length }));
  const minute = created_at.slice(14, 16);
  const path = `$."${minute}"`;
  return sql`insert into event_hours (program_id, hour, type, count, minutes)
    select ${program_id}, ${created_at.slice(0, 13)}, value ->> 'type', value ->> 'n', json_object(${minute}, value ->> 'n')
    from json_each(${JSON.stringify(counts)}) where true
    on conflict (program_id, hour, type) do update set count = count + excluded.count,
      minutes = json_set(minutes, ${path}, coalesce(minutes ->> ${path}, 0) + excluded.count)`;
}

/**
 * The exact number of events in a range, without counting them all (HTTP-8: `total` is exact at any size and cheap):
 * whole days, then hours and minutes from the kept counts. Only for a minute that the range cuts, one at each end, the
 * shorter part is counted by its rows, as are the clicks that are not rolled up yet. So for any number of events it
 * reads, of each type, one row for every day, at most 23 for the hours and two for the minutes of each end, and the
 * events of half a minute at each end.
 */
export function totalOf(ctx: Reader, range: EventRange): SQL {
  const { from = 0, to = Number.POSITIVE_INFINITY } = range;
  if (from >= to) return sql`0`;
  const whole = { ...range, from: nearestMinute(from), to: nearestMinute(to) };
  const parts = minuteParts(range).map((part) => {
    const rows = countRows(ctx, { ...part, type: range.type });
    return part.sign === 1 ? rows : sql`-${rows}`;
  });
  const uncounted = range.type === undefined || range.type === "click" ? [countUncounted(ctx, whole)] : [];
  return joinParts([...countBetween(ctx, whole, UNITS), ...parts, ...uncounted, sql`0`], sql` + `, "different");
}

/** A part of a minute whose events are added to those of whole minutes, or subtracted. Milliseconds. */
export interface MinutePart {
  from: number;
  to: number;
  sign: 1 | -1;
}

/** The parts between a range and the nearest whole minutes: at most half a minute at each end. */
export function minuteParts({ from = 0, to = Number.POSITIVE_INFINITY }: EventRange): MinutePart[] {
  if (from >= to) return [];
  const parts = [partBetween(from, nearestMinute(from), 1), partBetween(to, nearestMinute(to), -1)];
  return parts.filter((part) => part !== null);
}

/** From an edge to the nearest whole minute: `sign` if that is later. */
function partBetween(edge: number, minute: number, sign: 1 | -1): MinutePart | null {
  if (edge < minute) return { from: edge, to: minute, sign };
  return minute < edge ? { from: minute, to: edge, sign: sign === 1 ? -1 : 1 } : null;
}

function nearestMinute(ms: number): number {
  return Math.round(ms / MINUTE) * MINUTE;
}

/** Counting of whole units, the longest first. */
const UNITS = [
  { length: DAY, count: countDays },
  { length: HOUR, count: countHours },
  { length: MINUTE, count: countMinutes },
] as const;

interface Bounded extends EventRange {
  from: number;
  to: number;
}

function countBetween(ctx: Reader, range: Bounded, [unit, ...shorter]: readonly (typeof UNITS)[number][]): SQL[] {
  const { from, to } = range;
  if (from >= to || !unit) return [];
  const firstWhole = Math.ceil(from / unit.length) * unit.length;
  const afterWhole = Math.floor(to / unit.length) * unit.length;
  if (firstWhole > afterWhole) return countBetween(ctx, range, shorter);
  return [
    ...countBetween(ctx, { ...range, to: firstWhole }, shorter),
    ...(firstWhole < afterWhole ? [unit.count(ctx, { ...range, from: firstWhole, to: afterWhole })] : []),
    ...countBetween(ctx, { ...range, from: afterWhole }, shorter),
  ];
}

function countDays(ctx: Reader, { type, from, to }: Bounded): SQL {
  return sql`(select coalesce(sum(count), 0) from event_counts where program_id = ${ctx.programId}
    and day >= ${utcDay(from)} ${Number.isFinite(to) ? sql`and day < ${utcDay(to)}` : sql``} ${ofType(type)})`;
}

/** Never more than one day of hours, in addition to the whole days. */
function countHours(ctx: Reader, { type, from, to }: Bounded): SQL {
  return sql`(select coalesce(sum(count), 0) from event_hours where program_id = ${ctx.programId}
    and hour >= ${iso(from).slice(0, 13)} and hour < ${iso(to).slice(0, 13)} ${ofType(type)})`;
}

/** Never beyond one hour: the minutes outside the whole hours. */
function countMinutes(ctx: Reader, { type, from, to }: Bounded): SQL {
  const hour = iso(from).slice(0, 13);
  return sql`(select coalesce(sum(m.value), 0) from event_hours h cross join json_each(h.minutes) m
    where h.program_id = ${ctx.programId} and h.hour = ${hour} ${ofType(type, sql`h.`)}
    and m.key >= ${iso(from).slice(14, 16)} ${isHour(to) ? sql`` : sql`and m.key < ${iso(to).slice(14, 16)}`})`;
}

function countUncounted(ctx: Reader, range: Bounded): SQL {
  return range.from >= range.to ? sql`0` : sql`(select count(*) from ${uncountedClicks(ctx, range)})`;
}

function countRows(ctx: Reader, { type, from, to }: Bounded): SQL {
  return sql`(select count(*) from ${tableFor(type)} where ${eventsOf(ctx, type)}
    and id >= ${firstIdAt("event", from)} and id < ${firstIdAt("event", to)})`;
}

function isHour(ms: number): boolean {
  return ms % HOUR === 0;
}

/** The condition on kept counts for these events; `table` names their table beside another one. */
export function ofType(type: EventKind | undefined, table = sql``): SQL {
  if (type === NOT_CLICKS) return sql`and ${table}type <> 'click'`;
  return type === undefined ? sql`` : sql`and ${table}type = ${type}`;
}

/** The index by type excludes clicks. It is named, because the planner would read the key past all clicks. */
export function tableFor(type: EventKind | undefined): SQL {
  return type === undefined || type === "click" || type === NOT_CLICKS
    ? sql`events`
    : sql`events indexed by events_type`;
}

/** The condition for the program's events of a kind. */
export function eventsOf(ctx: Reader, type: EventKind | undefined): SQL {
  const own = sql`program_id = ${ctx.programId}`;
  if (type === undefined) return own;
  if (type === NOT_CLICKS) return sql`${own} and type <> 'click'`;
  return type === "click" ? sql`${own} and type = ${type}` : sql`${own} and type = ${type} and type <> 'click'`;
}
