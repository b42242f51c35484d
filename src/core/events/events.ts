import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { joinParts, unionOf } from "../../db/parts.ts";
import { cursorId, pageOf, window, type Page, type PageRequest } from "../../db/page.ts";
import { columnsOf, nullable, selectRows, text, whole, type Columns } from "../../db/rows.ts";
import { events } from "../../db/schema.ts";
import { notFound } from "../../lib/errors.ts";
import { firstIdAt } from "../../lib/id.ts";
import type { ArchivedClick } from "../kernel/click-archive.ts";
import type { Reader } from "../kernel/context.ts";
import { eventsOf, minuteParts, NOT_CLICKS, tableFor, totalOf, type EventKind } from "../kernel/event-counts.ts";
import type { AuditEvent } from "../kernel/rows.ts";
import { AUDIT_EVENT_TYPES } from "../../providers/registry.ts";
import { countArchived, firstClick, mergeArchived, stretchesIn, stretchesOf, stretchReader } from "./archived.ts";
import type { IdRange, Place, StretchReader } from "./archived.ts";
import { findPlace } from "./place.ts";

export interface EventFilter extends PageRequest {
  type?: EventKind | undefined;
  /** Milliseconds, inclusive. */
  from?: number | undefined;
  /** Milliseconds, exclusive. */
  to?: number | undefined;
}

type Row = Omit<AuditEvent, JsonColumn> & Record<JsonColumn, string | null>;
type JsonColumn = "payload" | "actor" | "changes";

const ROW: Columns<Row> = {
  ...columnsOf(events, "program_id", "id", "type", "created_at"),
  payload: text,
  actor: nullable(text),
  changes: nullable(text),
};

/** `actor` and `changes` of a click are null, in the database and in the archive. */
const COLUMNS = sql.raw(Object.keys(ROW).join(", "));

/** The most rows skipped one by one; a farther place is found by the counts. */
const NEAR = 1_000;
/** The stretches of the archive read with a page: more than one is needed only if some overlap. */
const STRETCHES = 4;

/**
 * Lists the program's audit log, newest first. Ids carry time, so the key alone gives the order, the range and the
 * pages, and archived clicks appear among the others.
 * @throws {StorageUnavailable} if the page or its total needs the archive and it does not answer.
 */
export async function listEvents(ctx: Reader, filter: EventFilter): Promise<Page<AuditEvent>> {
  const { type } = filter;
  const { limit, offset } = window(filter);
  const range = idsOf(filter);
  const place = offset > NEAR ? await findPlace(ctx, filter, range, offset) : { range, skip: offset };
  const parts = hasClicks(type) && filter.counted !== false ? minuteParts(filter) : [];
  const [rows, [counted], stretches, cut] = await ctx.read(
    selectEvents(ctx, type, place.range, limit, place.skip),
    selectRows(
      ctx.db,
      { total: whole },
      sql`select ${filter.counted === false ? sql`0` : totalOf(ctx, filter)} as total`,
    ),
    stretchesIn(ctx, place.range, hasClicks(type) ? STRETCHES : 0),
    stretchesOf(ctx, parts),
  );
  const read = stretchReader(ctx);
  const total = (counted?.total ?? 0) + (await countArchived(read, cut, parts));
  const last = rows.length < limit ? undefined : rows.at(-1);
  const isWhole = stretches.every(({ last_id }) => last && last_id < last.id);
  const shown = isWhole ? rows : await readMerged(ctx, type, place, limit, read);
  return pageOf(filter, shown, total, eventOf);
}

/**
 * Returns one event, from the database or from the archive.
 * @throws {StorageUnavailable} if only the archive can have it and it does not answer.
 */
export async function getEvent(ctx: Reader, id: string): Promise<AuditEvent> {
  // No id lies between an id and this.
  const range: IdRange = { from: id, before: `${id}0` };
  const [[row], stretches] = await ctx.read(
    selectRows(
      ctx.db,
      ROW,
      sql`select ${COLUMNS} from events
      where program_id = ${ctx.programId} and id = ${id}`,
    ),
    stretchesIn(ctx, range, -1),
  );
  if (row) return eventOf(row);
  const [archived] = (await mergeArchived(stretchReader(ctx), [], { stretches, complete: true }, range, 1)) ?? [];
  if (!archived) throw notFound("event");
  return eventOf(archived);
}

/** The range of ids of a filter, with one upper bound: the database would search the key by the first of two only. */
function idsOf(filter: EventFilter): IdRange {
  const { from, to } = filter;
  const before = [cursorId(filter, "event"), to === undefined ? null : firstIdAt("event", to)].filter(
    (id) => id !== null,
  );
  return { from: from === undefined ? null : firstIdAt("event", from), before: before.toSorted()[0] ?? null };
}

/** Reads a page with archived clicks: rows and stretches are read together again, so that they match. */
async function readMerged(
  ctx: Reader,
  type: EventKind | undefined,
  { range, skip }: Place,
  limit: number,
  read: StretchReader,
) {
  const need = skip + limit;
  for (let known = STRETCHES; ; known *= 4) {
    const [rows, stretches] = await ctx.read(selectEvents(ctx, type, range, need, 0), stretchesIn(ctx, range, known));
    const complete = stretches.length < known;
    const merged = await mergeArchived(read, rows, { stretches, complete }, range, need);
    if (merged) return merged.slice(skip);
  }
}

function hasClicks(type: EventKind | undefined): boolean {
  return type === undefined || type === "click";
}

function selectEvents(ctx: Reader, type: EventKind | undefined, range: IdRange, limit: number, offset: number) {
  const { from, before } = range;
  const rows = type === NOT_CLICKS ? selectUnclicked(ctx, range) : null;
  const matching: SQL[] = [
    eventsOf(ctx, type),
    // Beyond the last click in the database, the search would read only events of other types.
    ...(type === "click" ? [sql`id >= max(${from ?? ""}, ${firstClick(ctx)})`] : []),
    ...(type === "click" || from === null ? [] : [sql`id >= ${from}`]),
    ...(before === null ? [] : [sql`id < ${before}`]),
  ];
  return selectRows(
    ctx.db,
    ROW,
    sql`${rows ?? sql`select ${COLUMNS} from ${tableFor(type)} where ${joinParts(matching, sql` and `, "different")}`}
      order by id desc limit ${literal(limit)} offset ${offset}`,
  );
}

/** Selects events other than clicks: the database merges the types by id, and reads one further row for each. */
function selectUnclicked(ctx: Reader, { from, before }: IdRange): SQL {
  const bounds = [
    ...(from === null ? [] : [sql`and id >= (select first from asked)`]),
    ...(before === null ? [] : [sql`and id < (select after from asked)`]),
  ];
  const within = joinParts(bounds, sql` `, "different");
  const ofTypes = AUDIT_EVENT_TYPES.filter((type) => type !== "click").map(
    (type) => sql`select ${COLUMNS} from events indexed by events_type
      where program_id = (select program from asked) and type = ${literal(type)} and type <> 'click' ${within}`,
  );
  return sql`with asked as materialized (select ${ctx.programId} as program, ${from} as first, ${before} as after)
    select * from (${unionOf(ofTypes, "different")})`;
}

function eventOf(row: Row | ArchivedClick): AuditEvent {
  if (!("actor" in row)) return { ...row, actor: null, changes: null };
  const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  const { payload, actor, changes } = row;
  return { ...row, payload: parsed(payload), actor: parsed(actor), changes: parsed(changes) } as AuditEvent;
}
