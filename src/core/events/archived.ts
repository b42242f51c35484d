import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { joinParts } from "../../db/parts.ts";
import { selectRows } from "../../db/rows.ts";
import { firstIdAt, ID_ALPHABET, ID_PREFIXES, instantOf } from "../../lib/id.ts";
import { DAY } from "../../lib/time.ts";
import { CLICK_STRETCH, readStretch, type ArchivedClick, type ClickStretch } from "../kernel/click-archive.ts";
import type { Reader } from "../kernel/context.ts";
import type { MinutePart } from "../kernel/event-counts.ts";
import { uncountedClicks } from "../kernel/uncounted-clicks.ts";

/** A range of ids; without a bound, all. */
export interface IdRange {
  /** The first id of the range. */
  from: string | null;
  /** The first id after the range. */
  before: string | null;
}

/** The start of a page: the number of events to skip in a range. */
export interface Place {
  range: IdRange;
  skip: number;
}

/** Selects the stretches that may contain a range, newest first, and all of its last day, because they overlap. */
export function stretchesIn(ctx: Reader, { from, before }: IdRange, limit: number) {
  return selectRows(
    ctx.db,
    CLICK_STRETCH,
    sql`select ${COLUMNS} from click_archives where program_id = ${ctx.programId}
    ${from === null ? sql`` : sql`and last_id >= ${from}`}
    ${before === null ? sql`` : sql`and first_id < ${before}`} ${endOfDay(before)}
    order by last_id desc limit ${literal(limit)}`,
  );
}

/** Selects the stretches with clicks of parts of minutes: few, because few stretches share a minute. */
export function stretchesOf(ctx: Reader, parts: readonly MinutePart[]) {
  const queries = parts.map(
    ({ from, to }) => sql`select ${COLUMNS} from click_archives where program_id = ${ctx.programId}
      and last_id >= ${firstIdAt("event", from)} and last_id < ${firstIdAt("event", startOfDay(from) + DAY)}
      and first_id < ${firstIdAt("event", to)}`,
  );
  const none = sql`select ${COLUMNS} from click_archives where program_id = ''`;
  return selectRows(ctx.db, CLICK_STRETCH, queries.length === 0 ? none : joinParts(queries, sql` union `, 2));
}

/** A lower bound for the ids of clicks in the database; null if there are no clicks. */
export function firstClick(ctx: Reader): SQL {
  const digits = Array.from({ length: 10 }, (_, i) => {
    const shift = sql.raw(String(5 * (9 - i)));
    return sql`substr('${sql.raw(ID_ALPHABET)}', 1 + ((ms >> ${shift}) & 31), 1)`;
  });
  const counted = sql`(select ${`${ID_PREFIXES.event}_`} || ${joinParts(digits, sql` || `, "different")} from (
    select unixepoch(day) * 1000 as ms from event_counts
    where program_id = ${ctx.programId} and type = 'click' and archived < count order by day limit 1))`;
  return sql`(select min(id) from (
    select ${counted} as id union all select id from (select id from ${uncountedClicks(ctx)} order by id limit 1)))`;
}

/** Counts the archived clicks in parts of minutes; subtracted parts count as negative. */
export async function countArchived(
  read: StretchReader,
  stretches: readonly ClickStretch[],
  parts: readonly MinutePart[],
): Promise<number> {
  let total = 0;
  for (const { from, to, sign } of parts) {
    const range = { from: firstIdAt("event", from), before: firstIdAt("event", to) };
    for (const stretch of stretches) {
      if (stretch.last_id < range.from || stretch.first_id >= range.before) continue;
      const whole = stretch.first_id >= range.from && stretch.last_id < range.before;
      total += sign * (whole ? stretch.count : within(await read(stretch), range).length);
    }
  }
  return total;
}

/**
 * Merges rows and archived clicks of a range: the newest `need`; null if more stretches are needed to decide. `rows`
 * are the newest `need` of the database, or all.
 */
export async function mergeArchived<Row extends { id: string }>(
  read: StretchReader,
  rows: readonly Row[],
  { stretches, complete }: { stretches: readonly ClickStretch[]; complete: boolean },
  range: IdRange,
  need: number,
): Promise<(Row | ArchivedClick)[] | null> {
  // Compares ids, because a click moved between two reads may be in both.
  let merged: (Row | ArchivedClick)[] = [...rows];
  for (const stretch of stretches) {
    if (merged.length >= need && merged[need - 1]!.id > stretch.last_id) return merged;
    const seen = new Set(merged.map(({ id }) => id));
    const clicks = within(await read(stretch), range).filter(({ id }) => !seen.has(id));
    merged = [...merged, ...clicks].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, need);
  }
  return complete ? merged : null;
}

export type StretchReader = (stretch: ClickStretch) => Promise<ArchivedClick[]>;

/** Reads each stretch once, even if it is requested several times. */
export function stretchReader(ctx: Reader): StretchReader {
  const known = new Map<string, Promise<ArchivedClick[]>>();
  return async (stretch) => {
    const reading = known.get(stretch.key) ?? readStretch(ctx.archive, stretch);
    known.set(stretch.key, reading);
    return reading;
  };
}

/** Excludes later days: a stretch lies within one day, so one that ends later cannot contain an id before `before`. */
function endOfDay(before: string | null): SQL {
  if (before?.startsWith(`${ID_PREFIXES.event}_`) !== true) return sql``;
  return sql`and last_id < ${firstIdAt("event", startOfDay(instantOf(before)) + DAY)}`;
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY) * DAY;
}

const COLUMNS = sql.raw(Object.keys(CLICK_STRETCH).join(", "));

function within(clicks: readonly ArchivedClick[], { from, before }: IdRange): ArchivedClick[] {
  return clicks.filter(({ id }) => (from === null || id >= from) && (before === null || id < before));
}
