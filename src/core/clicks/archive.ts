import { sql } from "drizzle-orm";
import { literal, runBatch } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import { firstIdAt } from "../../lib/id.ts";
import { DAY, iso, utcDay } from "../../lib/time.ts";
import {
  type Archive,
  CALLS_A_STRETCH,
  STORED_CLICK,
  type StoredClick,
  STRETCH_CLICKS,
  writeStretch,
} from "../kernel/click-archive.ts";
import { conflictIn, refuseUnlessChanged } from "../kernel/conflict.ts";
import type { BaseCtx } from "../kernel/context.ts";
import { OWNER, type Owner, type Work } from "../kernel/work.ts";
import { isCounted } from "../kernel/uncounted-clicks.ts";

const PROGRAMS_AT_ONCE = 50;
/** Days that are recorded, and looked up, at once. */
const DAYS_AT_ONCE = 5_000;

/** Records the days of clicks that ended `retentionDays` ago; late clicks record a day again. Reads a row a day. */
export function noteArchivableDays({ db, now }: Pick<BaseCtx, "db" | "now">, retentionDays: number): Work {
  const end = utcDay(now - retentionDays * DAY);
  const isDue = sql`c.type = 'click' and c.day < ${end} and c.archived < c.count
    and not exists (select 1 from click_archive_days d where d.program_id = c.program_id and d.day = c.day)`;
  return {
    cost: 1,
    due: async (after) =>
      selectRows(
        db,
        OWNER,
        sql`select p.id as key from programs p where p.id > ${after}
        and exists (select 1 from event_counts c where c.program_id = p.id and ${isDue})
        order by p.id limit ${literal(PROGRAMS_AT_ONCE)}`,
      ),
    async serve({ key }) {
      const { meta } = await db.run(sql`insert into click_archive_days (program_id, day)
        select c.program_id, c.day from event_counts c where c.program_id = ${key} and ${isDue}
        limit ${literal(DAYS_AT_ONCE)} on conflict do nothing`);
      return meta.changes === DAYS_AT_ONCE;
    },
  };
}

interface NotedDays extends Owner {
  /** The remaining days, the first of them last. */
  days: string[];
  /** The position within the first of them. */
  after: string | null;
  failure: { error: unknown } | null;
}

/**
 * Moves recorded days of clicks into the archive; counts do not change. Resumable at any point, and safe to run twice
 * at once: a stretch is written under a name derived from its content, and one transaction then records it and deletes
 * exactly its rows, or has no effect if another run was first. `onCall` is notified of the calls of the archive.
 */
export function archiveNotedDays(
  ctx: Pick<BaseCtx, "db" | "now">,
  archive: Archive,
  onCall: (calls: number) => void = () => {},
): Work<NotedDays> {
  const { db } = ctx;
  return {
    // Six statements, and the archive calls of one stretch.
    cost: 6 + CALLS_A_STRETCH,
    async due(after) {
      const rows = await selectRows(
        db,
        { key: text, days: text },
        sql`
        select program_id as key, json_group_array(day order by day desc) as days from click_archive_days
        where program_id > ${after} group by program_id order by program_id limit ${literal(PROGRAMS_AT_ONCE)}`,
      );
      return rows.map(({ key, days }) => ({ key, days: JSON.parse(days) as string[], after: null, failure: null }));
    },
    async serve(noted) {
      try {
        noted.after = await archiveNext(ctx, archive, onCall, noted);
      } catch (error) {
        // A failing day does not delay the next ones.
        noted.failure = { error };
        noted.after = null;
      }
      if (noted.after === null) noted.days.pop();
      if (noted.days.length > 0) return true;
      if (noted.failure) throw noted.failure.error;
      return false;
    },
  };
}

/** Moves the next stretch of a day. Returns its end, or null if the day is done. */
async function archiveNext(
  ctx: Pick<BaseCtx, "db" | "now">,
  archive: Archive,
  onCall: (calls: number) => void,
  { key, days, after }: NotedDays,
): Promise<string | null> {
  const day = days.at(-1)!;
  const clicks = await readClicks(ctx, key, day, after ?? firstIdAt("event", Date.parse(day)));
  if (clicks.length > 0) {
    onCall(CALLS_A_STRETCH);
    await moveStretch(ctx, archive, key, day, clicks);
  }
  if (clicks.length === STRETCH_CLICKS) return clicks.at(-1)!.id;
  await ctx.db.run(sql`delete from click_archive_days where program_id = ${key} and day = ${day}`);
  return null;
}

/** The oldest clicks of a day that are not archived and are in the kept counts, which stay; from an id on. */
async function readClicks(
  { db }: Pick<BaseCtx, "db">,
  program_id: string,
  day: string,
  after: string,
): Promise<StoredClick[]> {
  const end = firstIdAt("event", Date.parse(day) + DAY);
  return selectRows(
    db,
    STORED_CLICK,
    sql`select id, payload, created_at from events
    where program_id = ${program_id} and id >= ${after} and id < ${end} and type = 'click' and ${isCounted(program_id)}
    order by id limit ${literal(STRETCH_CLICKS)}`,
  );
}

/** Has no effect if another run has moved one of the clicks already. */
async function moveStretch(
  { db, now }: Pick<BaseCtx, "db" | "now">,
  archive: Archive,
  program_id: string,
  day: string,
  clicks: readonly StoredClick[],
): Promise<void> {
  const key = await writeStretch(archive, program_id, day, clicks);
  const ids = clicks.map(({ id }) => id);
  try {
    await runBatch(db, [
      db.run(sql`delete from events where program_id = ${program_id} and type = 'click'
        and id in (select value from json_each(${JSON.stringify(ids)}))`),
      db.run(refuseUnlessChanged(ids.length)),
      db.run(sql`insert into click_archives (program_id, last_id, first_id, day, count, key, created_at)
        values (${program_id}, ${ids.at(-1)}, ${ids[0]}, ${day}, ${ids.length}, ${key}, ${iso(now)})`),
      db.run(sql`update event_counts set archived = archived + ${ids.length}
        where program_id = ${program_id} and type = 'click' and day = ${day}`),
    ]);
  } catch (error) {
    if (conflictIn(error)?.kind !== "lost_race") throw error;
  }
}
