import type { Child } from "../../jsx.ts";
import { addressOf } from "../filters.ts";
import { classes } from "../page.tsx";
import { countText } from "./figures.tsx";

export interface Column {
  label: string;
  /** Numbers and amounts are aligned to the end of their cell. */
  align?: "end";
  /** Read by screen readers only: for a column of buttons or boxes. */
  hidden?: boolean;
  /** Takes the remaining width. */
  grow?: boolean;
  /** Its card shows the column name even in the last place. */
  named?: boolean;
  /** The amount at the top of the card. */
  sum?: boolean;
  /** Its cells are grey: they distinguish the rows least. */
  quiet?: boolean;
  /** The address of the list sorted by it, and its present direction. */
  sort?: { href: string; now: "ascending" | "descending" | undefined } | undefined;
}

interface TableProps {
  /** The title for screen readers. */
  label: string;
  columns: readonly Column[];
  rows: readonly (readonly Child[])[];
}

/** A table that turns into a list of cards on a phone, with the roles of a table. */
export function Table({ label, columns, rows }: TableProps) {
  const places = columns.map((_, i) => placeOf(columns, i));
  return (
    <table class="list" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th
              role="columnheader"
              scope="col"
              class={classes(column.align, column.grow && "grow")}
              aria-sort={column.sort?.now}
            >
              <Head column={column} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((cells) => (
          <tr role="row">
            {cells.map((cell, i) => (
              <td
                role="cell"
                class={classes(
                  columns[i]?.align,
                  places[i],
                  columns[i]?.quiet && "quiet",
                  columns[i]?.sum && "main-sum",
                )}
                data-label={places[i] === undefined ? columns[i]?.label : undefined}
              >
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head({ column: { label, hidden, sort } }: { column: Column }) {
  if (hidden) return <span class="visually-hidden">{label}</span>;
  if (!sort) return label;
  return (
    <a href={sort.href}>
      {label}
      {sort.now === undefined ? null : <span aria-hidden="true">{sort.now === "descending" ? " ↓" : " ↑"}</span>}
    </a>
  );
}

/** Chooses all rows of a page that have a box. The script shows it. */
export function ChooseAll({ children }: { children?: Child }) {
  return (
    <span class="check" hidden>
      <input type="checkbox" id="choose-all" data-all="ids" />
      <label for="choose-all">All on this page{children}</label>
    </span>
  );
}

/** A cell's place in its card: the box, the row's name, the sum after it, buttons below; others between, named. */
function placeOf(columns: readonly Column[], i: number): "at-pick" | "at-lead" | "at-sum" | "at-act" | undefined {
  if (columns[i]?.hidden) return i === 0 ? "at-pick" : "at-act";
  if (i === columns.findIndex(({ hidden }) => !hidden)) return "at-lead";
  if (columns.some(({ sum }) => sum)) return columns[i]?.sum && !columns[i].named ? "at-sum" : undefined;
  if (columns[i]?.align !== "end" || columns[i].named) return undefined;
  return i === columns.findLastIndex(({ hidden }) => !hidden) ? "at-sum" : undefined;
}

export interface ListPage {
  data: readonly unknown[];
  total: number;
  /** True if there are more than `total`. */
  isMore?: true;
  page: number;
  per_page: number;
  next_cursor: string | null;
}

interface PagerProps {
  page: ListPage;
  path: string;
  query: Record<string, string>;
  /** Null if it is sorted by another column than its date. */
  order?: "newest" | "oldest" | null;
  /** Further actions on the whole list. */
  children?: Child;
}

const DIRECTIONS = {
  newest: ["Newer", "Older"],
  oldest: ["Older", "Newer"],
  other: ["Previous", "Next"],
} as const;

/** "21–40 of 1,234" and the links to the next and previous pages; keeps the filter in the address. */
export function Pager({ page, path, query, order = "newest", children }: PagerProps) {
  const { total, isMore, per_page } = page;
  const first = (page.page - 1) * per_page + 1;
  const end = first + page.data.length - 1;
  const last = Math.max(1, Math.ceil(total / per_page));
  const hasNext = isMore ? page.next_cursor !== null : page.page < last;
  const href = (number: number) => addressOf(path, number === 1 ? query : { ...query, page: String(number) });
  const [before, after] = DIRECTIONS[order ?? "other"];
  return (
    <nav class="pager" aria-label="Pages">
      <p>
        {page.data.length === 0
          ? `Nothing on page ${countText(page.page)}${isMore ? "" : ` of ${countText(last)}`}`
          : `${countText(first)}–${countText(end)} of ${isMore && hasNext ? "more than " : ""}${countText(isMore ? Math.max(total, end) : total)}`}
      </p>
      {page.page > 1 || hasNext || children ? (
        <p class="pager-links">
          {children}
          {page.page > 1 ? (
            <a rel="prev" href={href(isMore ? page.page - 1 : Math.min(page.page - 1, last))}>
              ← {before}
            </a>
          ) : null}
          {hasNext ? (
            <a rel="next" href={href(page.page + 1)}>
              {after} →
            </a>
          ) : null}
        </p>
      ) : null}
    </nav>
  );
}

/** The note below a table that shows only the first rows. */
export function FirstOf({ shown, count }: { shown: number; count: number }) {
  if (count <= shown) return null;
  return (
    <p class="table-note">
      The first {shown} of {countText(count)}.
    </p>
  );
}

export interface EmptyProps {
  title: string;
  children?: Child;
  action?: Child;
}

/** Replaces an empty list: the reason, and the next step. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children ? <div>{children}</div> : null}
      {action ? <p class="actions">{action}</p> : null}
    </div>
  );
}

/** Names and values, for the facts of one object. */
export function Facts({ rows }: { rows: readonly (readonly [Child, Child] | null)[] }) {
  return (
    <dl class="facts">
      {rows.map((row) =>
        row === null ? null : (
          <div>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
