import { addressOf } from "./filters.ts";
import { dateText, dayText } from "./locale.ts";
import type { ListOf, ListQuery, Shown } from "./list.tsx";
import { Checkbox, Field, FieldsOf, SelectField } from "./parts/form.tsx";
import { FilterInput, type FilterField } from "./parts/filter-fields.tsx";
import { partnerText } from "./parts/partner.tsx";
import { isDate, monthIn } from "../../domain/time-zone.ts";
import { iso } from "../../lib/time.ts";
import { DEFAULT_PER_PAGE, MAX_PER_PAGE } from "../validate.ts";

/** A filter that is one click away. */
export interface Preset {
  label: string;
  query: Record<string, string>;
}

interface ListFilterProps<Query extends ListQuery, Row extends { id: string }> {
  list: ListOf<Query, Row>;
  shown: Shown<Query, Row>;
  /** Its own address. */
  path: string;
  fields: readonly FilterField[];
  presets?: readonly Preset[] | undefined;
  now: number;
  zone: string;
}

/** The search, the active filters and offered ones as links, and the forms that make the list's address (PAGE-20). */
export function ListFilter<Query extends ListQuery, Row extends { id: string }>(props: ListFilterProps<Query, Row>) {
  const { list, shown, path, fields } = props;
  const noun = list.label.toLowerCase();
  const search = fields.find(({ isSearch }) => isSearch);
  const others = fields.filter(({ isSearch }) => !isSearch);
  return (
    <form
      method="get"
      action={path}
      class="filter"
      role={search ? "search" : undefined}
      aria-label={search ? list.label : `Filter ${noun}`}
    >
      <FieldsOf values={shown.filter.texts}>
        {search ? <FilterInput field={search} /> : null}
        {search ? <button type="submit">Search</button> : null}
        {shown.query["sort"] === undefined ? null : <input type="hidden" name="sort" value={shown.query["sort"]} />}
        <details class="drop">
          <summary class="button">+ Filter</summary>
          <div class="drop-body stack">
            {others.map((field) => (
              <FilterInput field={field} />
            ))}
            {"partner_id" in list.query.shape ? <PartnerField shown={shown} /> : null}
            <button type="submit">Apply</button>
          </div>
        </details>
      </FieldsOf>
      <Chips {...props} />
      <View list={list} shown={shown} />
    </form>
  );
}

/** The rows on a page, and the columns. */
function View<Query extends ListQuery, Row extends { id: string }>({
  list,
  shown,
}: Pick<ListFilterProps<Query, Row>, "list" | "shown">) {
  return (
    <details class="drop view">
      <summary class="button">View</summary>
      <div class="drop-body stack">
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

interface Chip {
  text: string;
  /** The parameters that it sets. */
  names: readonly string[];
}

function Chips<Query extends ListQuery, Row extends { id: string }>(props: ListFilterProps<Query, Row>) {
  const { list, shown, path, fields, presets = [], now, zone } = props;
  const { texts } = shown.filter;
  const months =
    "from" in list.query.shape ? MONTHS.map(({ label, ago }) => ({ label, query: monthIn(zone, now, ago) })) : [];
  const chips = [
    ...chipsOf(shown, fields),
    ...spanChips(texts, zone, months.find((month) => isActive(month.query, texts))?.label),
  ];
  const offered = [...presets, ...months].filter(({ query }) => !isActive(query, texts));
  const display = Object.fromEntries(Object.entries(shown.query).filter(([name]) => !(name in texts)));
  if (chips.length + offered.length === 0) return null;
  return (
    <div class="chips">
      {chips.map(({ text, names }) => (
        <a class="chip on" href={addressOf(path, without(shown.query, names))}>
          <span class="visually-hidden">Remove the filter </span>
          <bdi>{text}</bdi> <span aria-hidden="true">×</span>
        </a>
      ))}
      {chips.length > 1 ? (
        <a class="chip" href={addressOf(path, display)}>
          Clear all
        </a>
      ) : null}
      {offered.map(({ label, query }) => (
        <a class="chip" href={addressOf(path, { ...shown.query, ...query })}>
          {label}
        </a>
      ))}
    </div>
  );
}

const MONTHS = [
  { label: "This month", ago: 0 },
  { label: "Last month", ago: 1 },
] as const;

function isActive(query: Record<string, string>, texts: Record<string, string>): boolean {
  return Object.entries(query).every(([name, value]) => texts[name] === value);
}

function without(query: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)));
}

/** "Status: pending" for each active field, and the partner. */
function chipsOf<Query extends ListQuery, Row>(
  { filter: { texts }, names }: Shown<Query, Row>,
  fields: readonly FilterField[],
): Chip[] {
  const chips = fields.flatMap(({ name, label, chip = label, text = (value) => value }): Chip[] => {
    const value = texts[name];
    return value === undefined || name === "from" || name === "to"
      ? []
      : [{ text: `${chip}: ${text(value)}`, names: [name] }];
  });
  const id = texts["partner_id"];
  if (id === undefined) return chips;
  const partner = names.get(id);
  return [...chips, { text: `Partner: ${partner ? partnerText(partner) : id}`, names: ["partner_id"] }];
}

function spanChips({ from, to }: Record<string, string>, zone: string, month: string | undefined): Chip[] {
  const first = (text: string) => (isDate(text) ? dayText(text) : dateText(text, zone));
  // An instant is the first after the range, a date its last day.
  const last = (text: string) => (isDate(text) ? dayText(text) : dateText(iso(Date.parse(text) - 1), zone));
  if (from !== undefined && to !== undefined) {
    return [{ text: month ?? `${first(from)} – ${last(to)}`, names: ["from", "to"] }];
  }
  if (from !== undefined) return [{ text: `Since ${first(from)}`, names: ["from"] }];
  return to === undefined ? [] : [{ text: `Until ${last(to)}`, names: ["to"] }];
}
