import { sql, type SQL } from "drizzle-orm";
import { firstIdAt } from "../../lib/id.ts";
import type { Reader } from "./context.ts";

/** The requested range, as in `EventRange`. */
interface Range {
  from?: number | undefined;
  to?: number | undefined;
}

/**
 * The clicks in the log that no kept count includes yet, as the end of a select: every total of clicks is the kept
 * count plus these. A flush leaves them to the roll-up, which counts them before they are many
 * (`core/clicks/roll-up.ts`); after the last one no row is read.
 */
export function uncountedClicks({ programId }: Reader, { from, to }: Range = {}): SQL {
  const mark = openMark(programId);
  const first = from === undefined ? mark : sql`max(${mark}, ${firstIdAt("event", from)})`;
  const end = to === undefined || !Number.isFinite(to) ? sql`` : sql`and id < ${firstIdAt("event", to)}`;
  return sql`events where program_id = ${programId} and id >= ${first} ${end} and type = 'click' and uncounted = 1`;
}

/** How many such clicks a program has with ids from `first` up to before `end`, as SQL. */
export function countUncountedIn(program_id: SQL, first: SQL, end: SQL): SQL {
  return sql`(select count(*) from events e where e.program_id = ${program_id}
    and e.id >= max(${openMark(program_id)}, ${first}) and e.id < ${end} and e.type = 'click' and e.uncounted = 1)`;
}

/** Whether an event of the program is in the kept counts; once clicks are counted the mark is deleted, not the flag. */
export function isCounted(program_id: string): SQL {
  return sql`(uncounted is null or id < ifnull(${openMark(program_id)}, '~'))`;
}

/** Null if no click waits. */
function openMark(program_id: string | SQL): SQL {
  return sql`(select until from click_rollups where program_id = ${program_id} and next_at is not null)`;
}
