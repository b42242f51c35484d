import type { Context } from "hono";
import { recordExport } from "../../core/events/exported.ts";
import type { Page } from "../../core/kernel/list-page.ts";
import { csvRecord, type CsvCell } from "../../domain/csv.ts";
import { AppError } from "../../lib/errors.ts";
import { streamOf } from "../api/payouts.ts";
import type { PageEnv } from "../session.ts";
import { pageQuery } from "../validate.ts";
import { refuseLeftOut } from "./filters.ts";
import {
  askedOf,
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
/** So many can be read within what the platform lets one request ask its database for. */
const MAX_ROWS = 100_000;

/**
 * The rows of a list and the columns that its address shows, as CSV (RFC 4180): of all pages, in the same order, in
 * pieces of at most 500 rows of which only one is held. The event of it is written, and the first piece read, before
 * the answer begins, so that a refusal is no broken file.
 * @throws `validation_failed` for more than 100,000 rows, and for a filter that is not understood.
 */
export async function csvOf<Q extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  list: ListOf<Q, Row>,
): Promise<Response> {
  const asked = await askedOf(c, list);
  refuseLeftOut(c);
  const first = await list.read(c, requestFor(asked));
  if (first.total > MAX_ROWS) {
    throw new AppError(
      "validation_failed",
      `These are ${countText(first.total)} rows, and a file has at most ${countText(MAX_ROWS)}${adviceOf(list, asked)}.`,
    );
  }
  await recordExport(c.var.ctx, { list: list.name, count: first.total });
  return c.body(streamOf(pieces(c, list, asked, first)), 200, {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${list.name}.csv"`,
  });
}

/** Names a filter that the list has and the address does not use; dates, where it has them, can be closer in any case. */
function adviceOf<Q extends ListQuery>({ query }: { query: Q }, { filter }: Asked<Q>): string {
  const filters = Object.keys(query.shape).filter((name) => !(name in pageQuery.shape));
  const by = filters.includes("from") ? "dates" : filters.find((name) => !(name in filter.texts));
  return by === undefined ? "" : `: narrow the list, by ${by.replace(/_id$/, "")} for example`;
}

async function* pieces<Q extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  list: ListOf<Q, Row>,
  asked: Asked<Q>,
  first: Page<Row>,
): AsyncGenerator<string, void, undefined> {
  const columns = cellsOf(columnsShown(list, asked));
  yield csvRecord(columns.map(([name]) => name));
  for (let page = first; ; page = await list.read(c, requestFor(asked, page.next_cursor))) {
    const names = await namesOf(c, list, page.data);
    if (page.data.length > 0) {
      yield page.data.map((row) => csvRecord(columns.map(([, cell]) => cell(row, names)))).join("");
    }
    if (page.next_cursor === null) return;
  }
}

function requestFor<Q extends ListQuery>(asked: Asked<Q>, cursor: string | null = null): ListRequest<Q> {
  const { filter, order } = asked;
  const walk = cursor === null ? { counted: true } : { cursor, counted: false };
  return { ...filter.value, order, page: 1, per_page: ROWS_PER_READ, ...walk };
}

/** Columns that share one, such as a currency, have it once. */
function cellsOf<Row>(columns: readonly ListColumn<Row>[]) {
  const all = Object.assign({}, ...columns.map(({ csv }) => csv)) as ListColumn<Row>["csv"];
  return Object.entries(all).map(([name, cell]) => {
    return [name, typeof cell === "function" ? cell : (row: Row) => row[cell] as CsvCell] as const;
  });
}
