import { sql, type SQL } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { literal } from "../../db/client.ts";
import { jsonOf } from "../../db/json-object.ts";
import {
  cursorId,
  pageOfTexts,
  window,
  type JsonText,
  type Page,
  type PageOfTexts,
  type PageRequest,
} from "../../db/page.ts";
import { nullable, selectRows, textOf, whole } from "../../db/rows.ts";
import type { listCounts } from "../../db/schema.ts";
import type { IdKind } from "../../lib/id.ts";
import type { Reader } from "./context.ts";

export { ORDERS, type JsonText, type Order, type Page, type PageOfTexts } from "../../db/page.ts";

/** A list of the API over one table, newest first, each row as `view` shows it. */
export interface PagedList<View> {
  name: typeof listCounts.$inferSelect.list;
  kind: IdKind;
  table: SQLiteTable & { id: SQLiteColumn };
  row: SQL<JsonText<View>>;
}

/** A list whose objects hold columns of the table, as they are: the database itself makes the JSON. */
export function pagedList<Table extends SQLiteTable & { id: SQLiteColumn }, View extends object>(
  name: PagedList<View>["name"],
  kind: IdKind,
  table: Table,
  view: (row: Table["$inferSelect"]) => View,
): PagedList<View> {
  return { name, kind, table, row: jsonOf(table, view) };
}

export interface Selection {
  conditions: SQL | undefined;
  state: string | undefined;
  /** Whether the conditions filter beyond program and state: then its rows are counted. */
  narrowed: boolean;
  /** The sorts other than by id, by name. */
  sorts?: Readonly<Record<string, Sort>>;
}

/** The value of a row to sort by. */
export interface Sort {
  by: SQL;
  /** Rows are sorted within equal values of it, which ascend. */
  within?: SQL;
  /** A common table expression that `by` uses. */
  using?: SQL;
}

/** The most matching rows that are sorted: no index has the values, so all of them are read. */
export const MOST_SORTED = 20_000;

/**
 * A page of a list in the requested order, with its exact total, in one statement together with the program's key. More
 * than `MOST_SORTED` rows are not sorted: they come newest first.
 */
export async function readPage<View extends { id: string }>(
  ctx: Reader,
  list: PagedList<View>,
  request: PageRequest,
  selection: Selection,
): Promise<PageOfTexts<View>> {
  const { sort = "", cursor } = request;
  const sorted = selection.sorts?.[sort];
  if (sorted) {
    if (cursor === undefined) return readSorted(ctx, list, request, selection, sorted);
    if (cursor.startsWith("[")) return readIds(ctx, list, request, JSON.parse(cursor) as string[]);
    return readPage(ctx, list, { ...request, sort: undefined, order: "newest" }, selection);
  }
  const { table, row } = list;
  const { conditions } = selection;
  const after = cursorId(request, list.kind);
  const { limit, offset } = window(request);
  const isOldest = request.order === "oldest";
  const [direction, beyond] = isOldest ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const wanted = after === null ? conditions : sql`${conditions} and ${table.id} ${beyond} ${after}`;
  const { total, texts } = await ctx.readPage<View>({
    total: request.counted === false ? sql`select 0` : totalOf(ctx, list, selection),
    rows: sql`select ${row} as object from ${table} where ${wanted}
      order by ${table.id} ${direction} limit ${literal(limit)} offset ${offset}`,
  });
  return pageOfTexts(request, isOldest ? texts.toReversed() : texts, total);
}

/** Reads the rows of the page alone if too many match. */
async function readSorted<View extends { id: string }>(
  ctx: Reader,
  list: PagedList<View>,
  request: PageRequest,
  selection: Selection,
  { by, within, using }: Sort,
): Promise<PageOfTexts<View>> {
  const { table, row } = list;
  const { page, per_page, counted } = request;
  const isFile = counted !== undefined;
  const [limit, offset] = isFile ? [MOST_SORTED, 0] : [per_page, (page - 1) * per_page];
  const isShort = sql`(select total <= ${literal(MOST_SORTED)} from counted)`;
  const order = sql`"within", value ${request.order === "oldest" ? sql`asc` : sql`desc`}, sorted_id desc`;
  const [found] = await ctx.read(
    selectRows(
      ctx.db,
      { total: whole, object: nullable(textOf<JsonText<View>>()) },
      sql`with ${using ? sql`${using},` : sql``} counted as materialized (select (${totalOf(ctx, list, selection)}) as total),
        sortable as (select ${table.id} as sorted_id, iif(${isShort}, ${within ?? sql`null`}, null) as "within",
            iif(${isShort}, ${by}, null) as value
          from ${table} where ${selection.conditions} order by ${table.id} desc
          limit iif(${isShort}, ${literal(MOST_SORTED)}, ${offset + limit})),
        chosen as (select * from sortable order by ${order} limit ${literal(limit)} offset ${offset})
        select total, object from counted left join (select "within", value, sorted_id, ${isFile ? sql`sorted_id` : row} as object
          from chosen left join ${table} on ${table.id} = sorted_id) on true order by ${order}`,
    ),
  );
  const total = found[0]?.total ?? 0;
  const texts = found.flatMap(({ object }) => object ?? []);
  const isUnsorted = total > MOST_SORTED ? ({ isUnsorted: true } as const) : undefined;
  if (!isFile) return { texts, total, page, per_page, next_cursor: null, ...isUnsorted };
  return isUnsorted
    ? readPage(ctx, list, { ...request, sort: undefined, order: "newest" }, selection)
    : readIds(ctx, list, request, texts);
}

/** The first of these rows, in the order of the ids; the cursor has the others, so that a file is sorted once. */
async function readIds<View extends { id: string }>(
  ctx: Reader,
  { table, row }: PagedList<View>,
  { page, per_page }: PageRequest,
  ids: readonly string[],
): Promise<PageOfTexts<View>> {
  const wanted = JSON.stringify(ids.slice(0, per_page));
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      { object: textOf<JsonText<View>>() },
      sql`select ${row} as object from (select key as place, value as wanted_id from json_each(${wanted})) cross join ${table}
        on ${table.id} = wanted_id and +program_id = ${ctx.programId} order by place`,
    ),
  );
  const next_cursor = ids.length > per_page ? JSON.stringify(ids.slice(per_page)) : null;
  return { texts: rows.map(({ object }) => object), total: ids.length, page, per_page, next_cursor };
}

/** Sorts by the name of the row's partner, as lists show it. */
export function byPartner(partner_id: SQL | SQLiteColumn): Sort {
  return { by: sql`(select ${PARTNER_NAME} from partners where partners.id = ${partner_id})` };
}

/** The name of a partner that lists show, folded. */
export const PARTNER_NAME = sql.raw(
  "lower(coalesce(nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), ''), email))",
);

/** Sorts by state in the order of the domain, which filters offer too; rows without a state are before the first. */
export function byState(state: SQLiteColumn, states: readonly string[]): Sort {
  return { by: sql`instr(${` ${states.join(" ")} `}, ' ' || ${state} || ' ')` };
}

/** Sorts by amount within each currency; the program's currency is first. */
export function byAmount({ programId }: Reader, amount: SQLiteColumn, currency: SQLiteColumn): Sort {
  return {
    by: sql`${amount}`,
    within: sql`nullif(${currency}, (select p.currency from programs p where p.id = ${programId}))`,
  };
}

/** The objects themselves. */
export function parsePage<T>({ texts, ...page }: PageOfTexts<T>): Page<T> {
  return { ...page, data: JSON.parse(`[${texts.join(",")}]`) as T[] };
}

/** The page as JSON, without parsing its objects. */
export function textOfPage<T>({ texts, ...page }: PageOfTexts<T>): JsonText<Page<T>> {
  return `{"data":[${texts.join(",")}],${JSON.stringify(page).slice(1)}`;
}

export function isTimed({ from, to }: { from?: number | undefined; to?: number | undefined }): boolean {
  return from !== undefined || to !== undefined;
}

function totalOf(ctx: Reader, { name, table }: PagedList<unknown>, selection: Selection): SQL {
  const { conditions, state, narrowed } = selection;
  return narrowed ? sql`select count(*) from ${table} where ${conditions}` : countedTotal(ctx, name, state);
}

/** A list's number of rows, in one state or all, from the kept counts: one row for each state. */
function countedTotal(ctx: Reader, list: PagedList<unknown>["name"], state: string | undefined): SQL {
  return sql`select coalesce(sum(count), 0) from list_counts
    where program_id = ${ctx.programId} and list = ${list} ${state === undefined ? sql`` : sql`and state = ${state}`}`;
}
