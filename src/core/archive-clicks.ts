import { sql } from "drizzle-orm";
import { literal, runBatch } from "../db/client.ts";
import { firstIdAt } from "../lib/id.ts";
import { DAY, iso, utcDay } from "../lib/time.ts";
import { STRETCH_CLICKS, writeStretch, type Archive, type StoredClick } from "./click-archive.ts";
import { conflictIn } from "./commit.ts";
import type { Ctx } from "./context.ts";
import { shareOf } from "./shards.ts";

/** Days that are looked up at once, and those noted by one run: what is more waits for the next. */
const DAYS_AT_ONCE = 50;
const MAX_DAYS = 5_000;
/** Stretches of one run: each takes five statements, of a thousand that an invocation may send. */
const MAX_STRETCHES = 40;

/**
 * Notes the days of clicks that ended `retentionDays` days ago or earlier and still stand in the database; a day whose
 * clicks came late is noted again. Idempotent; reads as many rows as there are days with clicks.
 */
export async function noteArchivableDays(ctx: Pick<Ctx, "db" | "now">, retentionDays: number): Promise<void> {
  const end = utcDay(ctx.now - retentionDays * DAY);
  await ctx.db.run(sql`insert into click_archive_days (program_id, day)
    select c.program_id, c.day from programs p
    cross join event_counts c on c.program_id = p.id and c.type = 'click' and c.day < ${end}
    where c.archived < c.count limit ${literal(MAX_DAYS)}
    on conflict do nothing`);
}

/**
 * Moves noted days of clicks into the archive, for as long as it `mayGoOn` and at most a run's worth; counts stay as
 * they are. Resumable at any point, and may run twice at once: a stretch is written under a name made of what it holds,
 * and one transaction then records it and deletes exactly its rows, or does nothing where another run was first.
 * Returns how many clicks it moved.
 */
export async function archiveNotedDays(
  ctx: Pick<Ctx, "db" | "databases" | "now">,
  archive: Archive,
  mayGoOn: () => boolean = () => true,
): Promise<number> {
  const days = await ctx.db.all<{ program_id: string; day: string }>(
    sql`select program_id, day from click_archive_days order by program_id, day limit ${literal(DAYS_AT_ONCE)}`,
  );
  let moved = 0;
  let left = shareOf(ctx, MAX_STRETCHES);
  for (const { program_id, day } of days) {
    for (let after = firstIdAt("event", Date.parse(day)); ;) {
      if (left-- <= 0 || !mayGoOn()) return moved;
      const clicks = await readClicks(ctx, program_id, day, after);
      if (clicks.length > 0 && (await moveStretch(ctx, archive, program_id, day, clicks))) moved += clicks.length;
      if (clicks.length < STRETCH_CLICKS) break;
      after = clicks.at(-1)!.id;
    }
    await ctx.db.run(sql`delete from click_archive_days where program_id = ${program_id} and day = ${day}`);
  }
  return moved;
}

/** The oldest clicks of a day that are not archived, from an id on. */
async function readClicks(
  { db }: Pick<Ctx, "db">,
  program_id: string,
  day: string,
  after: string,
): Promise<StoredClick[]> {
  const end = firstIdAt("event", Date.parse(day) + DAY);
  return db.all<StoredClick>(sql`select id, payload, created_at from events
    where program_id = ${program_id} and id >= ${after} and id < ${end} and type = 'click'
    order by id limit ${literal(STRETCH_CLICKS)}`);
}

/** False where another run has moved one of the clicks already: nothing was changed then. */
async function moveStretch(
  { db, now }: Pick<Ctx, "db" | "now">,
  archive: Archive,
  program_id: string,
  day: string,
  clicks: readonly StoredClick[],
): Promise<boolean> {
  const key = await writeStretch(archive, program_id, day, clicks);
  const ids = clicks.map(({ id }) => id);
  try {
    await runBatch(db, [
      db.run(sql`delete from events where program_id = ${program_id} and type = 'click'
        and id in (select value from json_each(${JSON.stringify(ids)}))`),
      db.run(sql`insert into commit_guards (lost_race) select 1 where changes() <> ${ids.length}`),
      db.run(sql`insert into click_archives (program_id, last_id, first_id, day, count, key, created_at)
        values (${program_id}, ${ids.at(-1)}, ${ids[0]}, ${day}, ${ids.length}, ${key}, ${iso(now)})`),
      db.run(sql`update event_counts set archived = archived + ${ids.length}
        where program_id = ${program_id} and type = 'click' and day = ${day}`),
    ]);
    return true;
  } catch (error) {
    if (conflictIn(error)?.kind !== "lost_race") throw error;
    return false;
  }
}
