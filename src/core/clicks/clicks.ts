import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch, runRaw, type Database } from "../../db/client.ts";
import { jsonFields } from "../../db/json-object.ts";
import { orNull, shaped, text } from "../../db/rows.ts";
import { databaseFor, type DatabaseBindings } from "../../db/shards.ts";
import type { Arrival, ClickDropReason } from "../../domain/click.ts";
import type { EventPayloads } from "../../domain/event.ts";
import { slugKey } from "../../domain/partner.ts";
import { shardOfClickObject } from "../../domain/shard.ts";
import { iso } from "../../lib/time.ts";
import { conflictIn, refuseUnlessChanged } from "../kernel/commit.ts";
import { addToCounts } from "../kernel/event-counts.ts";

/** A stretch of one object's arrivals: those after the first `from` up to the first `to` it ever took. */
export interface ClickFlush {
  /** The object's name, for the cron that looks after forgotten alarms; it names the database. */
  object: string;
  /** Identity of the object's storage: its cursor in the database belongs to it. */
  epoch: string;
  from: number;
  to: number;
  arrivals: readonly Arrival[];
  now: number;
}

/**
 * Brings a stretch of arrivals into the audit log and the counts, and returns where the object's cursor then is:
 * the arrivals up to there are in the database exactly once.
 *
 * One transaction moves the cursor from `from` to `to` and writes the rest, or does nothing. So a flush whose reply was
 * lost, a repeated one and one that overtakes another all end with the same rows; the caller goes on from the cursor
 * that is returned. Clicks are joined to partners here: unknown and deactivated ones fall out and are counted.
 *
 * @throws when the database fails; whether the stretch was written is then unknown, and trying again finds out.
 */
export async function flushClicks(bindings: DatabaseBindings, flush: ClickFlush): Promise<number> {
  const db = databaseFor(bindings, shardOfClickObject(flush.object));
  const { groups, drops } = sortOut(flush.arrivals);
  const write = (allNew: boolean) => {
    const counted = JSON.stringify(
      groups.map(({ clicks, ...group }) => ({
        ...group,
        count: clicks.length,
        ...(allNew ? {} : { ids: clicks.map(({ id }) => id) }),
      })),
    );
    const count = allNew ? sql`g.value ->> 'count'` : UNKNOWN_CLICKS;
    return runBatch(db, [
      db.run(moveCursor(flush)),
      db.run(refuseUnlessChanged(1)),
      db.run(countByPartner(counted, count)),
      db.run(countEvents(counted, count)),
      db.run(countDrops(counted, JSON.stringify(drops))),
      db.run(insertEvents(JSON.stringify(groups), allNew)),
    ]);
  };
  try {
    // By the cursor all of them are new, and the key of the log holds it to that; where it does not, each is looked up.
    await write(true).catch((error: unknown) => {
      if (conflictIn(error)?.kind !== "unique") throw error;
      return write(false);
    });
    return flush.to;
  } catch (error) {
    if (conflictIn(error)?.kind !== "lost_race") throw error;
  }
  return (await readCursor(db, flush.epoch)) ?? registerClickObject(bindings, flush);
}

/** Makes a click object known to the cron and gives its storage a cursor; repeating it changes nothing. */
export async function registerClickObject(
  bindings: DatabaseBindings,
  object: Pick<ClickFlush, "object" | "epoch" | "from" | "now">,
): Promise<number> {
  const at = iso(object.now);
  const db = databaseFor(bindings, shardOfClickObject(object.object));
  await runBatch(db, [
    db.run(sql`insert into click_objects (name, created_at) values (${object.object}, ${at}) on conflict do nothing`),
    db.run(sql`insert into click_batches (id, flushed_at) select ${cursorId(object.epoch, object.from)}, ${at}
      where not exists (select 1 from click_batches where ${ofEpoch(object.epoch)})`),
  ]);
  return object.from;
}

/** The host to which a program's redirect links lead, or null where the program or its domain is unknown. */
export async function findProgramDomain(db: Database, program_id: string): Promise<string | null> {
  const [row] = await shaped(db, { domain: orNull(text) }, sql`select domain from programs where id = ${program_id}`);
  return row?.domain ?? null;
}

/** A reference as it is compared (`slugKey`). */
export interface RefKey {
  program_id: string;
  slug_key: string;
}

/** The positions of those references that lead to an active partner, in one query by keys. */
export async function findActiveRefs(
  bindings: DatabaseBindings,
  shard: number,
  refs: readonly RefKey[],
): Promise<number[]> {
  const asked = JSON.stringify(refs.map(({ program_id, slug_key }) => [program_id, slug_key]));
  const rows = await runRaw<[number]>(
    databaseFor(bindings, shard),
    sql`select r.key from json_each(${asked}) r
      cross join partner_slugs s on s.program_id = r.value ->> 0 and s.slug_key = r.value ->> 1
      cross join partners p on p.id = s.partner_id and p.status = 'active'`,
  );
  return rows.map(([position]) => position);
}

/** The names of objects of a database that ever took a click, from a name on. */
export async function listClickObjects(db: Database, after: string, limit: number): Promise<string[]> {
  const rows = await shaped(
    db,
    { name: text },
    sql`select name from click_objects where name > ${after} order by name limit ${literal(limit)}`,
  );
  return rows.map(({ name }) => name);
}

interface Group {
  program_id: string;
  ref_key: string;
  /** The minute, as the first 16 characters of a timestamp. */
  at: string;
  clicks: { id: string; created_at: string; landing: string; referrer: string }[];
}

interface Drop {
  program_id: string;
  day: string;
  reason: ClickDropReason;
  count: number;
}

/** By program, reference and minute, so that the database looks each partner up once and not once per click. */
function sortOut(arrivals: readonly Arrival[]): { groups: Group[]; drops: Drop[] } {
  const groups = new Map<string, Group>();
  const drops = new Map<string, Drop>();
  for (const arrival of arrivals) {
    const { program_id, created_at } = arrival;
    if ("dropped" in arrival) {
      const day = created_at.slice(0, 10);
      const key = `${program_id} ${day} ${arrival.dropped}`;
      const drop = drops.get(key);
      if (drop) drop.count++;
      else drops.set(key, { program_id, day, reason: arrival.dropped, count: 1 });
      continue;
    }
    const { id, landing, referrer } = arrival;
    const ref_key = slugKey(arrival.ref);
    const at = created_at.slice(0, 16);
    const key = `${program_id} ${at} ${ref_key}`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { program_id, ref_key, at, clicks: [] }));
    group.clicks.push({ id, created_at, landing, referrer });
  }
  return { groups: [...groups.values()], drops: [...drops.values()] };
}

function cursorId(epoch: string, position: number): string {
  return `${epoch}:${position}`;
}

/** `;` follows `:`, so this is the range of the cursors of one epoch, of which there is at most one. */
function ofEpoch(epoch: string): SQL {
  return sql`id > ${`${epoch}:`} and id < ${`${epoch};`}`;
}

function moveCursor({ epoch, from, to, now }: ClickFlush): SQL {
  return sql`update click_batches set id = ${cursorId(epoch, to)}, flushed_at = ${iso(now)}
    where id = ${cursorId(epoch, from)}`;
}

async function readCursor(db: Database, epoch: string): Promise<number | null> {
  const [row] = await shaped(db, { id: text }, sql`select id from click_batches where ${ofEpoch(epoch)}`);
  return row ? Number(row.id.slice(epoch.length + 1)) : null;
}

/** Each group with its partner; `cross join` keeps the order, which looks up by key twice per group. */
const RESOLVED = sql`cross join partner_slugs s on s.program_id = g.value ->> 'program_id' and s.slug_key = g.value ->> 'ref_key'
  cross join partners p on p.id = s.partner_id and p.status <> 'deactivated'`;

/** How many of a group's clicks are not in the log yet: counts rest on rows, even if a cursor were lost. */
const UNKNOWN_CLICKS = sql`(select count(*) from json_each(g.value, '$.ids') i where not exists
  (select 1 from events e where e.program_id = s.program_id and e.id = i.value))`;

function countByPartner(counted: string, count: SQL): SQL {
  return sql`insert into click_counts (program_id, partner_id, day, count)
    select s.program_id, s.partner_id, substr(g.value ->> 'at', 1, 10), sum(${count}) as new
    from json_each(${counted}) g ${RESOLVED}
    group by 1, 2, 3 having new > 0
    on conflict (program_id, partner_id, day) do update set count = count + excluded.count`;
}

function countEvents(counted: string, count: SQL): SQL {
  return addToCounts(sql`select s.program_id as program_id, 'click' as type, g.value ->> 'at' as at, ${count} as n
    from json_each(${counted}) g ${RESOLVED}`);
}

/** Drops of programs that do not exist are nobody's: they leave no row, whatever a stranger sends. */
function countDrops(counted: string, drops: string): SQL {
  return sql`insert into click_drops (program_id, day, reason, count)
    select program_id, day, reason, sum(count) from (
      select g.value ->> 'program_id' as program_id, substr(g.value ->> 'at', 1, 10) as day,
        case when p.id is null then 'unknown_ref' else 'partner_deactivated' end as reason,
        g.value ->> 'count' as count
      from json_each(${counted}) g
      left join partner_slugs s on s.program_id = g.value ->> 'program_id' and s.slug_key = g.value ->> 'ref_key'
      left join partners p on p.id = s.partner_id
      where p.id is null or p.status = 'deactivated'
      union all
      select value ->> 'program_id', value ->> 'day', value ->> 'reason', value ->> 'count' from json_each(${drops})
    ) where exists (select 1 from programs where id = program_id)
    group by 1, 2, 3
    on conflict (program_id, day, reason) do update set count = count + excluded.count`;
}

/** Of the click `c` that came by a reference of the partner `p`. */
const PAYLOAD = jsonFields<EventPayloads["click"]>({
  ref: sql`p.slug`,
  landing: sql`c.value ->> 'landing'`,
  referrer: sql`c.value ->> 'referrer'`,
  partner_id: sql`p.id`,
});

function insertEvents(groups: string, allNew: boolean): SQL {
  return sql`insert into events (program_id, id, type, payload, created_at)
    select s.program_id, c.value ->> 'id', 'click', ${PAYLOAD}, c.value ->> 'created_at'
    from json_each(${groups}) g ${RESOLVED} cross join json_each(g.value, '$.clicks') c
    where true ${allNew ? sql`` : sql`on conflict (program_id, id) do nothing`}`;
}
