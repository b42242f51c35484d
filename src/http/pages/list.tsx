/** The common features of the dashboard's lists (PAGE-20): the address has the filter, sort, columns and size. */
import type { Context } from "hono";
import type { Child } from "../jsx.ts";
import type * as z from "zod";
import type { Order, Page } from "../../core/kernel/list-page.ts";
import { amountOf, type Amount, type Amounts } from "../../domain/amount.ts";
import { decimalAmount } from "../../domain/currency.ts";
import { findPartnerId, readPartnerNames, type PartnerName } from "../../core/partners/display-names.ts";
import type { CsvCell } from "../../domain/csv.ts";
import type { Cents } from "../../domain/money.ts";
import { ID_PREFIXES } from "../../lib/id.ts";
import { pathOf } from "../request-path.ts";
import type { PageEnv } from "../session.ts";
import { DEFAULT_PER_PAGE, pageQuery } from "../validate.ts";
import { addressOf, filterOf, leaveOut, leaveOutUnknown, type Filter } from "./filters.ts";
import { Badge, Money, Sums, When } from "./parts/figures.tsx";
import { PartnerLink, partnerText } from "./parts/partner.tsx";
import { Pager, Table, type Column } from "./parts/table.tsx";
import { ActionLink } from "./rights.tsx";

export type Names = ReadonlyMap<string, PartnerName>;

export interface ListColumn<Row> extends Pick<Column, "label" | "align" | "grow" | "named" | "sum" | "quiet"> {
  /** Its name in the address. */
  key: string;
  /** The list can be sorted by it; the first click on its head sorts in this direction. */
  sort?: "ascending" | "descending";
  /** The state of a row, which is quiet if all rows have the same. */
  state?: (row: Row) => string;
  /** Hidden by default. */
  extra?: boolean;
  cell: (row: Row, names: Names) => Child;
  /** Its cells in the file, by column name there: a field of the row, or a function of it. */
  csv: Record<string, CsvKey<Row> | ((row: Row, names: Names) => CsvCell)>;
}

/** The fields of a row that a file contains unchanged. */
type CsvKey<Row> = { [Key in keyof Row & string]: Row[Key] extends CsvCell ? Key : never }[keyof Row & string];

/** A list of the dashboard: its query, its rows and its columns. */
export interface ListOf<Query extends ListQuery, Row extends { id: string }> {
  /** Its name in the audit log, and of its file. */
  name: string;
  /** The title of its table. */
  label: string;
  query: Query;
  /** The key of the column of its default sort, which is descending. Without it the list is always newest first. */
  sort?: string;
  read: (c: Context<PageEnv>, filter: ListRequest<Query>) => Promise<Page<Row>>;
  /** The partner of a row, if the list names partners. */
  partnerOf?: (row: Row) => string | null;
  columns: readonly ListColumn<Row>[];
}

export type ListQuery = typeof pageQuery & z.ZodObject;
export type ListRequest<Query extends ListQuery> = z.output<Query> & {
  order: Order;
  /** The key of the column to sort by, descending if the order is `newest`; undefined for the list's default column. */
  sort?: string | undefined;
  counted?: boolean;
};

/** The parsed address of a list. */
export interface Asked<Query extends ListQuery> {
  filter: Filter<z.output<Query>>;
  order: Order;
  /** As in `ListRequest`. */
  sort: string | undefined;
  /** The keys of the columns to show. */
  columns: readonly string[];
  /** The parameters that differ from the default: the filter and the display. */
  query: Record<string, string>;
  isFiltered: boolean;
}

/** A page of a list for its address. */
export interface Shown<Query extends ListQuery, Row> extends Asked<Query> {
  page: Page<Row>;
  names: Names;
}

/** Accepts a slug or an e-mail address in place of a partner's id, because people type these. */
async function partnerAsked(c: Context<PageEnv>): Promise<Record<string, string>> {
  const name = c.req.query("partner_id")?.trim() ?? "";
  if (name === "" || name.startsWith(`${ID_PREFIXES.partner}_`)) return {};
  // An unknown name is kept, so that no row matches.
  return { partner_id: (await findPartnerId(c.var.ctx, name)) ?? name.slice(0, 64) };
}

export async function requestOf<Query extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  { query, columns, sort: usualSort }: ListOf<Query, Row>,
): Promise<Asked<Query>> {
  const filter = filterOf(c, query, {
    ...("partner_id" in query.shape ? await partnerAsked(c) : {}),
    ...("currency" in query.shape ? { currency: (c.req.query("currency") ?? "").toUpperCase() } : {}),
  });
  const { per_page, ...texts } = filter.texts;
  leaveOutUnknown(c, [...Object.keys(query.shape), "sort", "columns"]);
  const sorted = c.req.query("sort")?.trim() ?? "";
  const by = sorted.replace("-", "");
  const isSorted = columns.some(({ key, sort }) => sort !== undefined && (sorted === key || sorted === `-${key}`));
  if (sorted !== "" && !isSorted) leaveOut(c, ["sort"]);
  const order = isSorted && sorted === by ? "oldest" : "newest";
  const sort = isSorted && by !== usualSort ? by : undefined;
  const wanted = new Set((c.req.queries("columns") ?? []).flatMap((text) => text.split(",")).filter(Boolean));
  if ([...wanted].some((name) => !columns.some(({ key }) => key === name))) leaveOut(c, ["columns"]);
  const usual = columns.flatMap(({ key, extra }) => (extra ? [] : [key]));
  const chosen = columns.map(({ key }) => key).filter((key) => wanted.has(key));
  const shown = chosen.length === 0 ? usual : chosen;
  return {
    filter: { ...filter, texts },
    ...{ order, sort },
    columns: shown,
    query: {
      ...texts,
      ...(per_page === undefined || per_page === String(DEFAULT_PER_PAGE) ? {} : { per_page }),
      ...(order === "newest" && sort === undefined ? {} : { sort: sorted }),
      ...(shown.join() === usual.join() ? {} : { columns: shown.join(",") }),
    },
    isFiltered: Object.keys(texts).length > 0,
  };
}

/** A page of the list with the names of its partners, and of the partner in its filter. */
export async function readList<Query extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  list: ListOf<Query, Row>,
): Promise<Shown<Query, Row>> {
  const asked = await requestOf(c, list);
  const page = await list.read(c, { ...asked.filter.value, order: asked.order, sort: asked.sort });
  return {
    ...asked,
    ...(page.isUnsorted ? { sort: undefined, order: "newest" } : {}),
    ...{ page, names: await namesOf(c, list, page.data, asked) },
  };
}

/** Suggests a filter that the list has and the address does not use; a range of dates can always be narrowed. */
export function adviceOf<Query extends ListQuery>({ query }: { query: Query }, { filter }: Asked<Query>): string {
  const filters = Object.keys(query.shape).filter((name) => !(name in pageQuery.shape));
  const by = filters.includes("from") ? "dates" : filters.find((name) => !(name in filter.texts));
  return by === undefined ? "" : `: narrow the list, by ${by.replace(/_id$/, "")} for example`;
}

export async function namesOf<Query extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  { partnerOf }: ListOf<Query, Row>,
  rows: readonly Row[],
  asked?: Asked<Query>,
): Promise<Names> {
  const ids = partnerOf ? rows.map(partnerOf) : [];
  return readPartnerNames(c.var.ctx, [asked?.filter.texts["partner_id"] ?? null, ...ids]);
}

/** The title of a list, which may be limited to one partner. */
export function titleOf(label: string, partner_id: string | undefined, names: Names): string {
  const only = partner_id === undefined ? undefined : names.get(partner_id);
  return only ? `${label} of ${partnerText(only)}` : label;
}

/** The chosen columns in the list's order. */
export function columnsShown<Query extends ListQuery, Row extends { id: string }>(
  list: ListOf<Query, Row>,
  { columns }: Asked<Query>,
): readonly ListColumn<Row>[] {
  return list.columns.filter(({ key }) => columns.includes(key));
}

interface ListTableProps<Query extends ListQuery, Row extends { id: string }> {
  list: ListOf<Query, Row>;
  shown: Shown<Query, Row>;
  /** Its own address. */
  path: string;
  /** A box to choose a row. */
  pick?: (row: Row) => Child;
  /** A column of links or buttons. */
  act?: { label: string; cell: (row: Row) => Child } | undefined;
}

export function ListTable<Query extends ListQuery, Row extends { id: string }>(props: ListTableProps<Query, Row>) {
  const { list, shown, path, pick, act } = props;
  const { data } = shown.page;
  const columns = columnsShown(list, shown);
  return (
    <>
      {shown.page.isUnsorted ? (
        <p class="table-note">
          Too many {list.label.toLowerCase()} to sort{adviceOf(list, shown)}. It shows the newest first.
        </p>
      ) : null}
      <Table
        label={list.label}
        columns={[
          ...(pick ? [{ label: "Choose", hidden: true }] : []),
          ...columns.map((column) => ({
            ...column,
            quiet: column.quiet ?? isAlike(data, column),
            sort: sortLink(list, shown, path, column),
          })),
          ...(act ? [{ label: act.label, hidden: true }] : []),
        ]}
        rows={data.map((row) => [
          ...(pick ? [pick(row)] : []),
          ...columns.map(({ cell }) => cell(row, shown.names)),
          ...(act ? [act.cell(row)] : []),
        ])}
      />
    </>
  );
}

/** Whether several rows all have the same state. */
function isAlike<Row>(rows: readonly Row[], { state }: ListColumn<Row>): boolean {
  return state !== undefined && rows.length > 1 && new Set(rows.map(state)).size === 1;
}

/** The address of the list sorted by a column: in its first direction, or if it is sorted by it, in the other one. */
function sortLink<Query extends ListQuery, Row extends { id: string }>(
  list: ListOf<Query, Row>,
  { query: { sort: _sort, ...query }, sort = list.sort, order }: Asked<Query>,
  path: string,
  { key, sort: first }: ListColumn<Row>,
): Column["sort"] {
  if (first === undefined) return undefined;
  const now = sort === key ? (order === "newest" ? "descending" : "ascending") : undefined;
  const next = now === undefined ? first : now === "ascending" ? "descending" : "ascending";
  const text = `${next === "descending" ? "-" : ""}${key}`;
  return { href: addressOf(path, text === `-${list.sort}` ? query : { ...query, sort: text }), now };
}

/**
 * The address of a list without the empty and default parameters that a form sends (PAGE-20); null if it has only
 * others.
 */
export function shorterAddress<Query extends ListQuery, Row extends { id: string }>(
  c: Context<PageEnv>,
  { columns, sort }: ListOf<Query, Row>,
): string | null {
  const { pathname, search } = pathOf(c.req.raw);
  const given = [...new URLSearchParams(search)];
  const chosen = [...new Set(given.flatMap(([name, text]) => (name === "columns" ? text.split(",") : [])))].join();
  const first = given.findIndex(([name]) => name === "columns");
  const usual: Record<string, string> = {
    ...{ per_page: String(DEFAULT_PER_PAGE), sort: `-${sort}` },
    columns: columns.flatMap(({ key, extra }) => (extra ? [] : [key])).join(),
  };
  const wanted = given.flatMap(([name, value], i): [string, string][] =>
    name === "columns" ? (i === first ? [[name, chosen]] : []) : [[name, value]],
  );
  const kept = wanted.filter(([name, value]) => value.trim() !== "" && usual[name] !== value);
  return kept.length === given.length ? null : addressOf(pathname, kept);
}

/** The links to the other pages, and to the list's file. */
export function ListFoot<Query extends ListQuery, Row extends { id: string }>(props: {
  shown: Shown<Query, Row>;
  path: string;
  /** The address of its file, if it is not below the list's own. */
  file?: string;
}) {
  const { shown, path, file = `${path}/list.csv` } = props;
  return (
    <Pager page={shown.page} path={path} query={shown.query} order={shown.sort === undefined ? shown.order : null}>
      {/* The page depends only on its address, so the file is the same list. */}
      <ActionLink class="file" href={addressOf(file, shown.query)}>
        CSV of all pages
      </ActionLink>
    </Pager>
  );
}

interface Owned {
  partner_id: string | null;
}

interface RowLink<Row> {
  /** The page of the row, which the name then leads to instead of the partner's page. */
  href: (row: Row) => string;
  /** The line below the name, instead of the slug. */
  second?: (row: Row) => Child;
  csv: ListColumn<Row>["csv"];
}

/** The partner of a row; with `link` it names the row, and leads to its page. */
export function partnerColumn<Row extends Owned>(link?: RowLink<Row>): ListColumn<Row> {
  const of = (row: Row, names: Names) => (row.partner_id === null ? undefined : names.get(row.partner_id));
  return {
    key: "partner",
    label: "Partner",
    cell: (row, names) => <PartnerLink partner={of(row, names)} href={link?.href(row)} second={link?.second?.(row)} />,
    csv: {
      ...link?.csv,
      partner_id: (row) => row.partner_id,
      partner_slug: (row, names) => of(row, names)?.slug ?? null,
      partner_email: (row, names) => of(row, names)?.email ?? null,
    },
  };
}

type Texts<Key extends string> = Record<Key, string | null>;

/** A text column; hidden by default, unless `extra` is false. A `null` is a dash. */
export function textColumn<Row extends Texts<Key>, Key extends string>(
  key: Key,
  label: string,
  extra = true,
): ListColumn<Row> {
  return {
    ...{ key, label, extra, csv: { [key]: (row: Row) => row[key] } },
    cell: (row) => (row[key] ? <span class="whole">{row[key]}</span> : <span class="muted">–</span>),
  };
}

/** A column of an instant, hidden by default. */
export function timeColumn<Row extends Texts<Key>, Key extends string>(key: Key, label: string): ListColumn<Row> {
  return {
    ...{ key, label, extra: true, csv: { [key]: (row: Row) => row[key] } },
    cell: (row) => <When at={row[key]} />,
  };
}

interface DateColumn {
  key?: string;
  extra?: boolean;
  /** Its day alone. */
  only?: "day";
  /** False for a list that cannot be sorted by it. */
  isSorted?: false;
}

/** The last column of a list: an instant, or its day. */
export function dateColumn<Row extends Texts<Field>, Field extends string>(
  label: string,
  field: Field,
  { key = field, extra = false, only, isSorted }: DateColumn = {},
): ListColumn<Row> {
  const sort = isSorted === false ? {} : ({ sort: "descending" } as const);
  return {
    ...{ key, label, extra, ...sort, align: "end", quiet: true, csv: { [field]: (row: Row) => row[field] } },
    cell: (row) => <When at={row[field]} only={only} />,
  };
}

export function statusColumn<Row extends { status: string }>(
  label = "Status",
  text: Partial<Record<Row["status"], string>> = {},
): ListColumn<Row> {
  return {
    ...{ key: "status", label, csv: { status: (row: Row) => row.status } },
    state: ({ status }) => status,
    cell: ({ status }: Row) => <Badge state={status} label={text[status as Row["status"]]} />,
  };
}

interface AmountColumn<Row> {
  extra?: boolean;
  /** The amount of the row, which is not one of several. */
  sum?: boolean;
  /** Whether a row has an amount. */
  isShown?: (row: Row) => boolean;
}

export function amountColumn<Row extends { currency: string }>(
  key: string,
  label: string,
  of: (row: Row) => Cents,
  { extra = false, sum = false, isShown = () => true }: AmountColumn<Row> = {},
): ListColumn<Row> {
  return {
    ...{ key, label, extra, sum, align: "end", csv: amountCells(key, of) },
    cell: (row) => (isShown(row) ? <Money of={amountOf(row, of(row))} /> : "–"),
  };
}

interface SumsColumn {
  /** How many currencies a cell shows; the file has all. */
  most?: number;
  sum?: boolean;
  /** The column of the currencies in the file. */
  currency?: string;
}

/** A column of sums, an amount for each currency; a cell of the file has all of them, in the same order. */
export function sumsColumn<Row>(
  key: string,
  label: string,
  of: (row: Row) => Amounts,
  { most, sum = false, currency = `${key}_currency` }: SumsColumn = {},
): ListColumn<Row> {
  const each = (row: Row, cell: (amount: Amount) => string) => of(row).map(cell).join("; ");
  return {
    ...{ key, label, sum, align: "end" },
    cell: (row) => (isNothing(of(row)) ? <span class="muted">–</span> : <Sums of={of(row)} most={most} />),
    csv: {
      [key]: (row) => each(row, (amount) => decimalAmount(amount.amount_cents, amount.currency)),
      [currency]: (row) => each(row, (amount) => amount.currency),
      [`${key}_cents`]: (row) => each(row, ({ amount_cents }) => String(amount_cents)),
    },
  };
}

function isNothing(of: Amounts): boolean {
  return of.every(({ amount_cents }) => amount_cents === 0);
}

/** The cells of an amount in a file: with its currency's decimals and the currency, and in smallest units. */
function amountCells<Row extends { currency: string }>(name: string, of: (row: Row) => Cents): ListColumn<Row>["csv"] {
  return {
    [name]: (row) => decimalAmount(of(row), row.currency),
    currency: (row) => row.currency,
    [`${name}_cents`]: of,
  };
}
