import type { Context } from "hono";
import { recordExport } from "../../core/events/exported.ts";
import type { Page } from "../../core/kernel/list-page.ts";
import { csvRecord, type CsvCell } from "../../domain/csv.ts";
import { AppError } from "../../lib/errors.ts";
import { csvDownload } from "../download.ts";
import type { PageEnv } from "../session.ts";
import { refuseLeftOut } from "./filters.ts";
import {
  requestOf,
  adviceOf,
  columnsShown,
  namesOf,
  type Asked,
  type ListColumn,
  type ListOf,
  type ListQuery,
  type ListRequest,
} from "./list.tsx";
import { countText } from "./parts/figures.tsx";

const ROWS_PER_READ = 500;
/** The most rows that fit in the platform's limit of database calls per request. */
const MAX_ROWS = 100_000;

/**
 * The rows of all pages of a list as CSV (RFC 4180), with the columns and order of its address, in pieces of at most
 * 500 rows of which only one is held in memory. The event is written and the first piece is read before the reply
 * begins, so that a refusal does not become a broken file.
 * @throws `validation_failed` for more than 100,000 rows, and for an invalid filter.
 */
export async function csvOf<Q extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  list: ListOf<Q, Row>,
): Promise<Response> {
  const asked = await requestOf(c, list);
  refuseLeftOut(c);
  const first = await list.read(c, requestFor(asked));
  if (first.total > MAX_ROWS) {
    throw new AppError(
      "validation_failed",
      `These are ${countText(first.total)} rows, and a file has at most ${countText(MAX_ROWS)}${adviceOf(list, asked)}.`,
    );
  }
  await recordExport(c.var.ctx, { list: list.name, count: first.total });
  return c.body(...csvDownload(list.name, pieces(c, list, asked, first)));
}

async function* pieces<Q extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  list: ListOf<Q, Row>,
  asked: Asked<Q>,
  first: Page<Row>,
): AsyncGenerator<string, void, undefined> {
  const shown = columnsShown(list, asked);
  const columns = cellsOf(shown);
  const isNamed = shown.some(({ key }) => key === "partner");
  yield csvRecord(columns.map(([name]) => name));
  for (let page = first; ; page = await list.read(c, requestFor(asked, page.next_cursor))) {
    const names = isNamed ? await namesOf(c, list, page.data) : new Map<string, never>();
    if (page.data.length > 0) {
      yield page.data.map((row) => csvRecord(columns.map(([, cell]) => cell(row, names)))).join("");
    }
    if (page.next_cursor === null) return;
  }
}

function requestFor<Q extends ListQuery>(asked: Asked<Q>, cursor: string | null = null): ListRequest<Q> {
  const { filter, order, sort } = asked;
  const walk = cursor === null ? { counted: true } : { cursor, counted: false };
  return { ...filter.value, order, sort, page: 1, per_page: ROWS_PER_READ, ...walk };
}

/** Columns that share a field, such as a currency, write it once. */
function cellsOf<Row>(columns: readonly ListColumn<Row>[]) {
  const all = Object.assign({}, ...columns.map(({ csv }) => csv)) as ListColumn<Row>["csv"];
  return Object.entries(all).map(([name, cell]) => {
    return [name, typeof cell === "function" ? cell : (row: Row) => row[cell] as CsvCell] as const;
  });
}
