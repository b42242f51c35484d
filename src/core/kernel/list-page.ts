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
}

/** A page of a list in the requested order, with its exact total, in one statement together with the program's key. */
export async function readPage<View extends { id: string }>(
  ctx: Reader,
  list: PagedList<View>,
  request: PageRequest,
  { conditions, state, narrowed }: Selection,
): Promise<PageOfTexts<View>> {
  const { table, row } = list;
  const after = cursorId(request, list.kind);
  const { limit, offset } = window(request);
  const isOldest = request.order === "oldest";
  const [direction, beyond] = isOldest ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const wanted = after === null ? conditions : sql`${conditions} and ${table.id} ${beyond} ${after}`;
  const { total, texts } = await ctx.readPage<View>({
    total:
      request.counted === false
        ? sql`select 0`
        : narrowed
          ? sql`select count(*) from ${table} where ${conditions}`
          : countedTotal(ctx, list.name, state),
    rows: sql`select ${row} as object from ${table} where ${wanted}
      order by ${table.id} ${direction} limit ${literal(limit)} offset ${offset}`,
  });
  return pageOfTexts(request, isOldest ? texts.toReversed() : texts, total);
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

/** A list's number of rows, in one state or all, from the kept counts: one row for each state. */
function countedTotal(ctx: Reader, list: PagedList<unknown>["name"], state: string | undefined): SQL {
  return sql`select coalesce(sum(count), 0) from list_counts
    where program_id = ${ctx.programId} and list = ${list} ${state === undefined ? sql`` : sql`and state = ${state}`}`;
}
