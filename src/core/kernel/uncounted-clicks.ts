import { sql, type SQL } from "drizzle-orm";
import { firstIdAt } from "../../lib/id.ts";
import type { Reader } from "./context.ts";

/** What is asked for, as in `EventRange`. */
interface Range {
  from?: number | undefined;
  to?: number | undefined;
}

/**
 * The clicks that are in the log and in no kept count yet, to select from: every total of clicks is what is kept and
 * these. A flush leaves them to the roll-up, which takes them up before they are many (`core/clicks/roll-up.ts`); where
 * it has left none, nothing is read.
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

/** Whether an event of the program is in the kept counts; of what was counted already the mark is gone, not the flag. */
export function isCounted(program_id: string): SQL {
  return sql`(uncounted is null or id < ifnull(${openMark(program_id)}, '~'))`;
}

/** Null where no click waits. */
function openMark(program_id: string | SQL): SQL {
  return sql`(select until from click_rollups where program_id = ${program_id} and next_at is not null)`;
}
