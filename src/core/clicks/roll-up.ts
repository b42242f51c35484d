import { sql } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { nullable, selectRows, text, whole } from "../../db/rows.ts";
import { firstIdAt, instantOf } from "../../lib/id.ts";
import { HOUR, iso, MINUTE } from "../../lib/time.ts";
import { conflictIn, refuseUnlessChanged } from "../kernel/conflict.ts";
import { addToSources, COUNTED_KINDS_JSON } from "../kernel/click-sources.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { addToCounts } from "../kernel/event-counts.ts";
import type { Owner, Work } from "../kernel/work.ts";

/** Limits of a program's waiting clicks, by its last rate, and of their time, because every total reads them. */
export const WAITING = 4_000;
export const MAX_GAP = 3 * HOUR;
/** Clicks are in the log by then; a later one is counted on arrival. */
const SETTLED_AFTER = MINUTE;
/** Events that are read at once, unless fewer whole minutes contain more. */
const EVENTS_AT_ONCE = 20_000;
const PROGRAMS_AT_ONCE = 50;

/** A program whose clicks are counted up to the id `until`, and due at `next_at`. */
interface Waiting extends Owner {
  until: string;
  next_at: string;
}

/**
 * Adds the clicks that flushes left to the kept counts, each exactly once: one transaction counts the rows between two
 * ids and moves `until` from the first to the second, or has no effect. A row of counts is written for all clicks of a
 * partner since the last time, so the roll-up waits for many clicks, or three hours.
 */
export function rollUpClicks(ctx: Pick<BaseCtx, "db" | "now">): Work<Waiting> {
  const { db, now } = ctx;
  return {
    cost: 6,
    due: async (after) =>
      selectRows(
        db,
        { key: text, until: text, next_at: text },
        sql`select program_id as key, until, next_at from click_rollups
          where program_id > ${after} and next_at <= ${iso(now)} order by program_id limit ${literal(PROGRAMS_AT_ONCE)}`,
      ),
    async serve(waiting) {
      const before = firstIdAt("event", Math.floor((now - SETTLED_AFTER) / MINUTE) * MINUTE);
      const next = await findStretch(ctx, waiting, before);
      const won = await countStretch(ctx, waiting, next);
      waiting.until = next.to;
      waiting.next_at = next.next_at;
      return won && next.to < before;
    },
  };
}

interface Stretch {
  to: string;
  /** When the rest is due, if there is any. */
  next_at: string;
}

/** The end of the next step, in whole minutes. */
async function findStretch(
  { db, now }: Pick<BaseCtx, "db" | "now">,
  { key, until }: Waiting,
  before: string,
): Promise<Stretch> {
  if (before <= until) return { to: until, next_at: iso(now + MAX_GAP) };
  const events = sql`events where program_id = ${key} and id >= ${until} and id < ${before}`;
  const [found] = await selectRows(
    db,
    { n: whole, beyond: nullable(text) },
    sql`select (select count(*) from (select 1 from ${events} limit ${literal(EVENTS_AT_ONCE)})) as n,
      (select id from ${events} order by id limit 1 offset ${literal(EVENTS_AT_ONCE)}) as beyond`,
  );
  const { n, beyond } = found ?? { n: 0, beyond: null };
  const from = instantOf(until);
  if (beyond === null) {
    const gap = (WAITING / Math.max(n, 1)) * (instantOf(before) - from);
    return { to: before, next_at: iso(now + Math.min(Math.max(gap, MINUTE), MAX_GAP)) };
  }
  // At least one minute.
  const minute = Math.max(Math.floor(instantOf(beyond) / MINUTE) * MINUTE, from + MINUTE);
  return { to: firstIdAt("event", minute), next_at: iso(now) };
}

/** False if another run was first. */
async function countStretch(
  { db }: Pick<BaseCtx, "db">,
  { key, until, next_at }: Waiting,
  next: Stretch,
): Promise<boolean> {
  const clicks = sql`events where program_id = ${key} and id >= ${until} and id < ${next.to}
    and type = 'click' and uncounted = 1`;
  try {
    await runBatch(db, [
      db.run(sql`update click_rollups set until = ${next.to}, next_at = (select ${next.next_at} where exists (
          select 1 from events where program_id = ${key} and id >= ${next.to} and type = 'click' and uncounted = 1))
        where program_id = ${key} and until = ${until} and next_at = ${next_at}`),
      db.run(refuseUnlessChanged(1)),
      db.run(sql`insert into click_counts (program_id, partner_id, day, count)
        select program_id, payload ->> 'partner_id', substr(created_at, 1, 10), count(*) from ${clicks} group by 1, 2, 3
        on conflict (program_id, partner_id, day) do update set count = count + excluded.count`),
      db.run(
        addToSources(sql`select program_id, payload ->> 'partner_id' as partner_id, substr(created_at, 1, 10) as day,
            k.value as kind, payload ->> k.value as value, count(*) as n
          from (select program_id, payload, created_at from ${clicks}) cross join json_each(${COUNTED_KINDS_JSON}) k
          where payload ->> k.value is not null group by 1, 2, 3, 4, 5`),
      ),
      db.run(
        addToCounts(sql`select program_id, type, substr(created_at, 1, 16) as at, count(*) as n from ${clicks}
          group by 1, 2, 3`),
      ),
    ]);
    return true;
  } catch (error) {
    if (conflictIn(error)?.kind !== "lost_race") throw error;
    return false;
  }
}
