/** The common features of the dashboard's lists (PAGE-20): the address has the filter, order, columns and size. */
import type { Context } from "hono";
import type { Child } from "../jsx.ts";
import type * as z from "zod";
import { ORDERS, type Order, type Page } from "../../core/kernel/list-page.ts";
import { amountOf } from "../../domain/amount.ts";
import { decimalAmount } from "../../domain/currency.ts";
import { findPartnerId, readPartnerNames, type PartnerName } from "../../core/partners/display-names.ts";
import type { CsvCell } from "../../domain/csv.ts";
import type { Cents } from "../../domain/money.ts";
import { ID_PREFIXES } from "../../lib/id.ts";
import type { PageEnv } from "../session.ts";
import { DEFAULT_PER_PAGE, MAX_PER_PAGE, type pageQuery } from "../validate.ts";
import { filterOf, leaveOut, leaveOutUnknown, type Filter } from "./filters.ts";
import { Badge, Money, When } from "./parts/figures.tsx";
import { Checkbox, Field, FieldsOf, SelectField } from "./parts/form.tsx";
import { PartnerLink, partnerText } from "./parts/partner.tsx";
import { Pager, Table, type Column } from "./parts/table.tsx";
import { ActionLink } from "./rights.tsx";

export type Names = ReadonlyMap<string, PartnerName>;

export interface ListColumn<Row> extends Pick<Column, "label" | "align" | "grow" | "named"> {
  /** Its name in the address. */
  key: string;
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
  /** False if it is always newest first. */
  reversible?: false;
  read: (c: Context<PageEnv>, filter: ListRequest<Query>) => Promise<Page<Row>>;
  /** The partner of a row, if the list names partners. */
  partnerOf?: (row: Row) => string | null;
  columns: readonly ListColumn<Row>[];
}

export type ListQuery = typeof pageQuery & z.ZodObject;
export type ListRequest<Query extends ListQuery> = z.output<Query> & { order: Order; counted?: boolean };

/** The parsed address of a list. */
export interface Asked<Query extends ListQuery> {
  filter: Filter<z.output<Query>>;
  order: Order;
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
  { query, columns, reversible }: ListOf<Query, Row>,
): Promise<Asked<Query>> {
  const filter = filterOf(c, query, "partner_id" in query.shape ? await partnerAsked(c) : {});
  const { per_page, ...texts } = filter.texts;
  leaveOutUnknown(c, [...Object.keys(query.shape), "order", "columns"]);
  const ordered = c.req.query("order")?.trim() ?? "";
  const order = reversible !== false && ordered === "oldest" ? "oldest" : "newest";
  if (ordered !== "" && ordered !== order) leaveOut(c, ["order"]);
  const wanted = new Set((c.req.queries("columns") ?? []).flatMap((text) => text.split(",")).filter(Boolean));
  if ([...wanted].some((name) => !columns.some(({ key }) => key === name))) leaveOut(c, ["columns"]);
  const usual = columns.flatMap(({ key, extra }) => (extra ? [] : [key]));
  const chosen = columns.map(({ key }) => key).filter((key) => wanted.has(key));
  const shown = chosen.length === 0 ? usual : chosen;
  return {
    filter: { ...filter, texts },
    order,
    columns: shown,
    query: {
      ...texts,
      ...(per_page === undefined || per_page === String(DEFAULT_PER_PAGE) ? {} : { per_page }),
      ...(order === "newest" ? {} : { order }),
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
  const page = await list.read(c, { ...asked.filter.value, order: asked.order });
  return { ...asked, page, names: await namesOf(c, list, page.data, asked) };
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
  /** A box to choose a row. */
  pick?: (row: Row) => Child;
  /** A column of links or buttons. */
  act?: { label: string; cell: (row: Row) => Child };
}

export function ListTable<Query extends ListQuery, Row extends { id: string }>(props: ListTableProps<Query, Row>) {
  const { list, shown, pick, act } = props;
  const columns = columnsShown(list, shown);
  return (
    <Table
      label={list.label}
      columns={[
        ...(pick ? [{ label: "Choose", hidden: true }] : []),
        ...columns,
        ...(act ? [{ label: act.label, hidden: true }] : []),
      ]}
      rows={shown.page.data.map((row) => [
        ...(pick ? [pick(row)] : []),
        ...columns.map(({ cell }) => cell(row, shown.names)),
        ...(act ? [act.cell(row)] : []),
      ])}
    />
  );
}

interface ListFilterProps<Query extends ListQuery, Row extends { id: string }> {
  list: ListOf<Query, Row>;
  shown: Shown<Query, Row>;
  /** Its own address. */
  path: string;
  /** The common filters. */
  children: Child;
  /** The other filters. */
  more?: Child;
  search?: boolean | undefined;
}

/** The form with filters and display settings, which makes the list's address. */
export function ListFilter<Query extends ListQuery, Row extends { id: string }>(props: ListFilterProps<Query, Row>) {
  const { list, shown, path, children, more, search } = props;
  const noun = list.label.toLowerCase();
  return (
    <form
      method="get"
      action={path}
      class="filter"
      role={search ? "search" : undefined}
      aria-label={search ? list.label : `Filter ${noun}`}
    >
      <FieldsOf values={shown.filter.texts}>{children}</FieldsOf>
      <button type="submit">{search ? "Search" : "Filter"}</button>
      {shown.isFiltered ? <a href={path}>Show all</a> : null}
      <details class="drop view">
        <summary class="button">View</summary>
        <div class="drop-body stack">
          {"partner_id" in list.query.shape ? <PartnerField shown={shown} /> : null}
          <FieldsOf values={shown.filter.texts}>{more}</FieldsOf>
          {list.reversible === false ? null : (
            <SelectField
              name="order"
              label="Order"
              value={shown.order}
              options={ORDERS.map((value) => ({ value, label: `${value} first` }))}
            />
          )}
          <SelectField
            name="per_page"
            label="Rows on a page"
            value={String(shown.page.per_page)}
            options={sizesWith(shown.page.per_page).map((size) => ({ value: String(size), label: String(size) }))}
          />
          <fieldset class="columns">
            <legend>Columns</legend>
            {list.columns.map(({ key, label }) => (
              <Checkbox name="columns" value={key} label={label} checked={shown.columns.includes(key)} />
            ))}
          </fieldset>
          <button type="submit">Apply</button>
        </div>
      </details>
    </form>
  );
}

/** The offered sizes and the address's own size. */
function sizesWith(size: number): number[] {
  return [...new Set([DEFAULT_PER_PAGE, 50, MAX_PER_PAGE, size])].toSorted((a, b) => a - b);
}

function PartnerField<Query extends ListQuery, Row>({ shown }: { shown: Shown<Query, Row> }) {
  const id = shown.filter.texts["partner_id"];
  return (
    <Field
      name="partner_id"
      label="Partner"
      value={id === undefined ? undefined : (shown.names.get(id)?.slug ?? id)}
      maxlength={254}
      hint="Slug, e-mail address or id."
    />
  );
}

/** The links to the other pages, and to the list's file. */
export function ListFoot<Query extends ListQuery, Row extends { id: string }>(props: {
  shown: Shown<Query, Row>;
  path: string;
  /** The address of its file, if it is not below the list's own. */
  file?: string;
}) {
  const { shown, path, file = `${path}/list.csv` } = props;
  const query = new URLSearchParams(shown.query).toString();
  return (
    <Pager page={shown.page} path={path} query={shown.query} order={shown.order}>
      {/* The page depends only on its address, so the file is the same list. */}
      <ActionLink class="file" href={query === "" ? file : `${file}?${query}`}>
        CSV of all pages
      </ActionLink>
    </Pager>
  );
}

interface Owned {
  partner_id: string | null;
}

export function partnerColumn<Row extends Owned>(): ListColumn<Row> {
  const of = (row: Row, names: Names) => (row.partner_id === null ? undefined : names.get(row.partner_id));
  return {
    key: "partner",
    label: "Partner",
    cell: (row, names) => <PartnerLink partner={of(row, names)} />,
    csv: {
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

/** A column at the end of the row: the day of an instant. */
export function dayColumn<Row extends Texts<Field>, Field extends string>(
  key: string,
  label: string,
  field: Field,
): ListColumn<Row> {
  return {
    ...{ key, label, align: "end", csv: { [field]: (row: Row) => row[field] } },
    cell: (row) => <When at={row[field]} only="day" />,
  };
}

export function statusColumn<Row extends { status: string }>(
  label = "Status",
  text: Partial<Record<Row["status"], string>> = {},
): ListColumn<Row> {
  return {
    ...{ key: "status", label, csv: { status: (row: Row) => row.status } },
    cell: ({ status }: Row) => <Badge state={status} label={text[status as Row["status"]]} />,
  };
}

interface AmountColumn<Row> {
  extra?: boolean;
  /** Whether a row has an amount. */
  isShown?: (row: Row) => boolean;
}

export function amountColumn<Row extends { currency: string }>(
  key: string,
  label: string,
  of: (row: Row) => Cents,
  { extra = false, isShown = () => true }: AmountColumn<Row> = {},
): ListColumn<Row> {
  return {
    ...{ key, label, extra, align: "end", csv: amountCells(key, of) },
    cell: (row) => (isShown(row) ? <Money of={amountOf(row, of(row))} /> : "–"),
  };
}

/** The cells of an amount in a file: with its currency's decimals and the currency, and in smallest units. */
function amountCells<Row extends { currency: string }>(name: string, of: (row: Row) => Cents): ListColumn<Row>["csv"] {
  return {
    [name]: (row) => decimalAmount(of(row), row.currency),
    currency: (row) => row.currency,
    [`${name}_cents`]: of,
  };
}
