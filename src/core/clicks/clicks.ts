import { sql, type SQL } from "drizzle-orm";
import { literal, runBatch, runRaw, type Database } from "../../db/client.ts";
import { jsonFields } from "../../db/json-object.ts";
import { nullable, selectRows, text } from "../../db/rows.ts";
import { databaseFor, type DatabaseBindings } from "../../db/shards.ts";
import type { Arrival, ClickDropReason } from "../../domain/click.ts";
import type { EventPayloads } from "../../domain/event.ts";
import { slugKey } from "../../domain/partner.ts";
import { shardOfClickObject } from "../../domain/shard.ts";
import { firstIdAt } from "../../lib/id.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import { conflictIn, refuseUnlessChanged } from "../kernel/conflict.ts";
import {
  addToSources,
  COUNTED_KINDS,
  MOST_SOURCES,
  PROGRAM_KINDS,
  SOURCE_KINDS,
  sourceOf,
} from "../kernel/click-sources.ts";
import { isNearlyFull, noteSize } from "../kernel/database-size.ts";
import { addToCounts } from "../kernel/event-counts.ts";
import { closeDays, daysOf, isClosed } from "./budget.ts";

/** A stretch of one object's arrivals: after number `from` up to number `to`. */
export interface ClickFlush {
  /** The object's name, which contains the database; the cron uses it to recover clicks without a flush. */
  object: string;
  /** The identity of the object's storage, to which its cursor in the database belongs. */
  epoch: string;
  /** Arrivals up to here are in the database, `from` by default: later ones may be in flight, or lost. */
  known?: number;
  /**
   * The object still stores all arrivals after this one, `known` by default. The cursor begins here if the database has
   * none: a restored one may have lost it together with arrivals that the object knows as flushed, which are then all
   * sent again.
   */
  oldest?: number;
  from: number;
  to: number;
  arrivals: readonly Arrival[];
  now: number;
}

/** Clicks for each row of counts from which a flush counts them itself: at most a tenth of a row each. */
const COUNTED_AT_ONCE = 10;
/** Time from the first waiting click to the first roll-up. */
const FIRST_ROLL_UP = 10 * MINUTE;

/**
 * Brings a stretch of arrivals into the audit log, and returns where the object's cursor then is: the arrivals up to
 * there are in the database exactly once.
 *
 * One transaction moves the cursor from `from` to `to` and writes the rest, or does nothing. Clicks that are few are left
 * to the roll-up, which counts many in the rows that these alone would take (`core/clicks/roll-up.ts`); counted here are
 * those of a program that has many, and those that come after the roll-up has passed their minute. So a flush whose reply was
 * lost, a repeated one and one that overtakes another all end with the same rows; the caller goes on from the cursor
 * that is returned. Where the first of the stretch are there already, which an object may not know, the rest follows at
 * once. Clicks are joined to partners here: those of unknown and deactivated ones are only counted, and so are those of a
 * program beyond its budget of the day (TRACK-26), and all of them while the database is nearly full (TRACK-27).
 *
 * @throws when the database fails; whether the stretch was written is then unknown, and trying again finds out.
 */
export async function flushClicks(bindings: DatabaseBindings, flush: ClickFlush): Promise<number> {
  const db = databaseFor(bindings, shardOfClickObject(flush.object));
  const { groups, drops } = sortOut(isNearlyFull(db) ? flush.arrivals.map(countedOnly) : flush.arrivals);
  const dense = densePrograms(groups);
  const days = JSON.stringify(daysOf(groups));
  const write = (allNew: boolean) => {
    const counted = JSON.stringify(
      groups.map(({ clicks, ...group }) => ({
        ...group,
        dense: dense.has(group.program_id),
        count: clicks.length,
        ...(allNew ? {} : { ids: clicks.map(({ id }) => id) }),
        sources: sourcesOf(clicks, allNew),
      })),
    );
    const count = allNew ? sql`g.value ->> 'count'` : UNKNOWN_CLICKS;
    return runBatch(db, [
      db.run(moveCursor(flush)),
      db.run(refuseUnlessChanged(1)),
      db.run(closeDays(days)),
      db.run(awaitRollUp(counted, iso(flush.now + FIRST_ROLL_UP))),
      db.run(countByPartner(counted, count)),
      db.run(countBySource(counted, allNew)),
      db.run(countEvents(counted, count)),
      db.run(countDrops(counted, JSON.stringify(drops))),
      db.run(insertEvents(groups, dense, allNew)),
    ]);
  };
  try {
    // By the cursor all of them are new, and the log's key enforces it; if it does not hold, each is looked up.
    const [{ meta }] = await write(true).catch((error: unknown) => {
      if (conflictIn(error)?.kind !== "unique") throw error;
      return write(false);
    });
    noteSize(db, meta.size_after);
    return flush.to;
  } catch (error) {
    if (conflictIn(error)?.kind !== "lost_race") throw error;
  }
  const [cursor] = (await readCursors(db, [flush.epoch])).values();
  if (cursor === undefined) {
    return registerClickObject(bindings, { ...flush, from: flush.oldest ?? flush.known ?? flush.from });
  }
  const isPartlyThere = flush.from < cursor && cursor < flush.to && flush.arrivals.length === flush.to - flush.from;
  if (!isPartlyThere) return cursor;
  return flushClicks(bindings, { ...flush, from: cursor, arrivals: flush.arrivals.slice(cursor - flush.from) });
}

/** Makes a click object known to the cron and gives its storage a cursor; repeating it has no effect. */
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

/** The host to which a program's redirect links lead, or null if the program or its domain is unknown. */
export async function findProgramDomain(db: Database, program_id: string): Promise<string | null> {
  const [row] = await selectRows(
    db,
    { domain: nullable(text) },
    sql`select domain from programs where id = ${program_id}`,
  );
  return row?.domain ?? null;
}

/** A reference as it is compared (`slugKey`). */
export interface RefKey {
  program_id: string;
  slug_key: string;
}

/** The positions of the references that lead to an active partner, in one query by keys. */
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
  const rows = await selectRows(
    db,
    { name: text },
    sql`select name from click_objects where name > ${after} order by name limit ${literal(limit)}`,
  );
  return rows.map(({ name }) => name);
}

interface Group {
  program_id: string;
  ref_key: string;
  /** The minute, as the first 16 characters of a timestamp, and the first id that is minted in it. */
  at: string;
  first: string;
  clicks: GroupedClick[];
}

interface GroupedClick {
  id: string;
  created_at: string;
  landing: string;
  referrer: string;
  sub: string | undefined;
  country: string | undefined;
}

interface Drop {
  program_id: string;
  day: string;
  reason: ClickDropReason;
  count: number;
}

function countedOnly(arrival: Arrival): Arrival {
  const { created_at, program_id } = arrival;
  return "dropped" in arrival ? arrival : { created_at, program_id, dropped: "database_full" };
}

/** Groups arrivals by program, reference and minute, so that each partner is looked up once. */
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
    const { id, landing, referrer, sub, country } = arrival;
    const ref_key = slugKey(arrival.ref);
    const at = created_at.slice(0, 16);
    const key = `${program_id} ${at} ${ref_key}`;
    let group = groups.get(key);
    if (!group) {
      const first = firstIdAt("event", Date.parse(`${at}:00.000Z`));
      groups.set(key, (group = { program_id, ref_key, at, first, clicks: [] }));
    }
    group.clicks.push({ id, created_at, landing, referrer, sub, country });
  }
  return { groups: [...groups.values()], drops: [...drops.values()] };
}

/** Programs with so many clicks that counting them takes few rows in comparison. */
function densePrograms(groups: readonly Group[]): Set<string> {
  const dense = new Set<string>();
  for (const [program_id, own] of Map.groupBy(groups, (group) => group.program_id)) {
    const clicks = own.reduce((sum, group) => sum + group.clicks.length, 0);
    const partners = new Set(own.map(({ ref_key }) => ref_key)).size;
    const hours = new Set(own.map(({ at }) => at.slice(0, 13))).size;
    const sources = own.flatMap(({ clicks: few, ref_key }) =>
      few.flatMap(({ landing, sub }) => [`${ref_key} ${landing}`, ...(sub === undefined ? [] : [`${ref_key} ${sub}`])]),
    );
    const most = partners * SOURCE_KINDS.length * (MOST_SOURCES + 1);
    const ofProgram = own.flatMap(({ clicks: few }) =>
      few.flatMap((click) =>
        PROGRAM_KINDS.flatMap((kind) => {
          const value = sourceOf(click, kind);
          return value === undefined ? [] : [`${kind} ${value}`];
        }),
      ),
    );
    const mostOfProgram = PROGRAM_KINDS.length * (MOST_SOURCES + 1);
    const rows =
      partners + 2 * hours + Math.min(new Set(sources).size, most) + Math.min(new Set(ofProgram).size, mostOfProgram);
    if (clicks >= COUNTED_AT_ONCE * rows) dense.add(program_id);
  }
  return dense;
}

/** The clicks of a group by their sources: the number, and the ids unless all of them are new. */
function sourcesOf(clicks: Group["clicks"], allNew: boolean) {
  return COUNTED_KINDS.flatMap((kind) =>
    [...Map.groupBy(clicks, (click) => sourceOf(click, kind))].flatMap(([value, own]) =>
      value === undefined
        ? []
        : [{ kind, value, ...(allNew ? { count: own.length } : { ids: own.map(({ id }) => id) }) }],
    ),
  );
}

function cursorId(epoch: string, position: number): string {
  return `${epoch}:${position}`;
}

/** `;` follows `:`, so this is the range of the cursors of one epoch, of which there is at most one. */
function ofEpoch(epoch: string | SQL): SQL {
  return sql`click_batches.id > ${epoch} || ':' and click_batches.id < ${epoch} || ';'`;
}

function moveCursor({ epoch, from, to, now }: ClickFlush): SQL {
  return sql`update click_batches set id = ${cursorId(epoch, to)}, flushed_at = ${iso(now)}
    where id = ${cursorId(epoch, from)}`;
}

/** The position of each object in the database, by its epoch; an unknown object is missing. */
export async function readCursors(db: Database, epochs: readonly string[]): Promise<Map<string, number>> {
  const rows = await selectRows(
    db,
    { id: text },
    sql`select click_batches.id as id from json_each(${JSON.stringify(epochs)}) e cross join click_batches on ${ofEpoch(sql`e.value`)}`,
  );
  return new Map(rows.map(({ id }) => [id.slice(0, id.lastIndexOf(":")), Number(id.slice(id.lastIndexOf(":") + 1))]));
}

/** For a group `g`: whether its program's clicks of the day are only counted. */
const IS_CLOSED = isClosed(sql`g.value ->> 'program_id'`, sql`substr(g.value ->> 'at', 1, 10)`);

/** Each group with its partner; `cross join` keeps the order, which looks up by key twice per group. */
const RESOLVED = sql`cross join partner_slugs s on s.program_id = g.value ->> 'program_id' and s.slug_key = g.value ->> 'ref_key'
  cross join partners p on p.id = s.partner_id and p.status <> 'deactivated' and not ${IS_CLOSED}`;

/** How many of a group's clicks are not in the log yet: counts follow the rows even if a cursor was lost. */
const UNKNOWN_CLICKS = unknownOf(sql`g.value`);

function unknownOf(counted: SQL): SQL {
  return sql`(select count(*) from json_each(${counted}, '$.ids') i where not exists
    (select 1 from events e where e.program_id = s.program_id and e.id = i.value))`;
}

/** Makes programs with waiting clicks known to the roll-up. Clicks before `until` are counted at once. */
function awaitRollUp(counted: string, next_at: string): SQL {
  return sql`insert into click_rollups (program_id, until, next_at)
    select p.id, min(g.value ->> 'first'), ${next_at}
    from json_each(${counted}) g cross join programs p on p.id = g.value ->> 'program_id'
    where not g.value ->> 'dense' and not ${IS_CLOSED} group by p.id
    on conflict (program_id) do update set until = max(until, excluded.until), next_at = excluded.next_at
    where click_rollups.next_at is null`;
}

/**
 * Groups by their program's roll-up, which decides whether the flush counts them. `until` begins a minute, so no group
 * is cut.
 */
function groupsOf(counted: string): SQL {
  return sql`json_each(${counted}) g left join click_rollups r on r.program_id = g.value ->> 'program_id'`;
}
const COUNTED_HERE = sql`(g.value ->> 'dense' or g.value ->> 'first' < r.until)`;

function countByPartner(counted: string, count: SQL): SQL {
  return sql`insert into click_counts (program_id, partner_id, day, count)
    select s.program_id, s.partner_id, substr(g.value ->> 'at', 1, 10), sum(${count}) as new
    from ${groupsOf(counted)} ${RESOLVED} where ${COUNTED_HERE}
    group by 1, 2, 3 having new > 0
    on conflict (program_id, partner_id, day) do update set count = count + excluded.count`;
}

function countBySource(counted: string, allNew: boolean): SQL {
  return addToSources(sql`select s.program_id as program_id, s.partner_id as partner_id,
      substr(g.value ->> 'at', 1, 10) as day, c.value ->> 'kind' as kind, c.value ->> 'value' as value,
      sum(${allNew ? sql`c.value ->> 'count'` : unknownOf(sql`c.value`)}) as n
    from ${groupsOf(counted)} ${RESOLVED} cross join json_each(g.value, '$.sources') c where ${COUNTED_HERE}
    group by 1, 2, 3, 4, 5`);
}

function countEvents(counted: string, count: SQL): SQL {
  return addToCounts(sql`select s.program_id as program_id, 'click' as type, g.value ->> 'at' as at, ${count} as n
    from ${groupsOf(counted)} ${RESOLVED} where ${COUNTED_HERE}`);
}

/** Drops of unknown programs leave no row: a stranger can invent any number. */
function countDrops(counted: string, drops: string): SQL {
  return sql`insert into click_drops (program_id, day, reason, count)
    select program_id, day, reason, sum(count) from (
      select g.value ->> 'program_id' as program_id, substr(g.value ->> 'at', 1, 10) as day,
        case when p.id is null then 'unknown_ref' when p.status = 'deactivated' then 'partner_deactivated'
          else 'over_budget' end as reason,
        g.value ->> 'count' as count
      from json_each(${counted}) g
      left join partner_slugs s on s.program_id = g.value ->> 'program_id' and s.slug_key = g.value ->> 'ref_key'
      left join partners p on p.id = s.partner_id
      where p.id is null or p.status = 'deactivated' or ${IS_CLOSED}
      union all
      select value ->> 'program_id', value ->> 'day', value ->> 'reason', value ->> 'count' from json_each(${drops})
    ) where exists (select 1 from programs where id = program_id)
    group by 1, 2, 3
    on conflict (program_id, day, reason) do update set count = count + excluded.count`;
}

/** The values of the click `c` that came by a reference of the partner `p`. */
const FIELDS = {
  ref: sql`p.slug`,
  landing: sql`c.value ->> 'landing'`,
  referrer: sql`c.value ->> 'referrer'`,
  partner_id: sql`p.id`,
};
const OPTIONAL = { sub: sql`c.value ->> 'sub'`, country: sql`c.value ->> 'country'` };
/** Without those of `OPTIONAL` that are null. */
const PAYLOAD = sql`json_patch(${jsonFields<Omit<EventPayloads["click"], keyof typeof OPTIONAL>>(FIELDS)},
  ${jsonFields<Required<Pick<EventPayloads["click"], keyof typeof OPTIONAL>>>(OPTIONAL)})`;

function insertEvents(groups: readonly Group[], dense: ReadonlySet<string>, allNew: boolean): SQL {
  const [atOnce, later] = [true, false].map((is) =>
    JSON.stringify(groups.filter(({ program_id }) => dense.has(program_id) === is)),
  );
  return sql`insert into events (program_id, id, type, payload, created_at, uncounted)
    select s.program_id, c.value ->> 'id', 'click', ${PAYLOAD}, c.value ->> 'created_at',
      iif(g.dense or c.value ->> 'id' < r.until, null, 1)
    from (select value, 1 as dense from json_each(${atOnce}) union all select value, 0 from json_each(${later})) g
    ${RESOLVED} left join click_rollups r on r.program_id = s.program_id
    cross join json_each(g.value, '$.clicks') c
    where true ${allNew ? sql`` : sql`on conflict (program_id, id) do nothing`}`;
}
