import { Hono, type Context } from "hono";
import type { Child } from "../jsx.ts";
import type { PageEnv } from "../session.ts";
import { framed, type FramedOptions } from "./framed.tsx";
import type { PageHeadProps } from "./layout.tsx";
import { csvOf } from "./list-csv.ts";
import { ListFoot, ListTable, readList, shorterAddress, type ListOf, type ListQuery, type Shown } from "./list.tsx";
import { ListFilter, type Preset } from "./list-filter.tsx";
import type { FilterField } from "./parts/filter-fields.tsx";
import { Empty, type EmptyProps } from "./parts/table.tsx";

interface ListPage<Query extends ListQuery, Row extends { id: string }> extends Pick<FramedOptions, "at" | "done"> {
  /** Its address, if the navigation does not lead to it. */
  path?: string;
  head?: Partial<PageHeadProps> | ((shown: Shown<Query, Row>) => Partial<PageHeadProps>);
  /** A notice above the head. */
  notice?: (c: Context<PageEnv>) => Child | Promise<Child>;
  filter: readonly FilterField[] | ((c: Context<PageEnv>) => Promise<readonly FilterField[]>);
  /** Filters that are one click away; a list with times also has this month and the last one. */
  presets?: readonly Preset[];
  /** Shown if the list has no rows yet. */
  empty: EmptyProps | ((c: Context<PageEnv>) => EmptyProps);
  /** Shown if no row matches the filter. */
  hint?: Child;
  /** The rows, if they need more than the list's table. */
  rows?: (shown: Shown<Query, Row>, c: Context<PageEnv>) => Child;
}

/** The routes of a list: its page at `/`, and its file at `/list.csv`. */
export function listPage<Query extends ListQuery, Row extends { id: string }>(
  list: ListOf<Query, Row>,
  { at, path = at, done, head = {}, notice, filter, presets, empty, hint, rows }: ListPage<Query, Row>,
): Hono<PageEnv> {
  return new Hono<PageEnv>()
    .get("/", async (c) => {
      const shorter = shorterAddress(c, list);
      if (shorter !== null) return c.redirect(shorter, 303);
      const shown = await readList(c, list);
      const fields = typeof filter === "function" ? await filter(c) : filter;
      const zone = c.var.session.program.time_zone;
      return framed(
        c,
        {
          ...{ title: list.label, at, done, notice: await notice?.(c) },
          head: typeof head === "function" ? head(shown) : head,
        },
        <>
          <ListFilter {...{ list, shown, path, fields, presets, zone }} now={c.var.now} />
          <ListCard
            label={list.label}
            path={path}
            {...{ ...shown, hint }}
            empty={typeof empty === "function" ? empty(c) : empty}
          >
            {rows ? rows(shown, c) : <ListTable list={list} shown={shown} path={path} />}
            <ListFoot shown={shown} path={path} />
          </ListCard>
        </>,
      );
    })
    .get("/list.csv", (c) => csvOf(c, list));
}

interface ListCardProps {
  label: string;
  path: string;
  page: { total: number };
  isFiltered?: boolean;
  empty: EmptyProps;
  hint?: Child;
  children: Child;
}

/** The rows of a list and its foot, or the reason why it is empty. */
export function ListCard({ label, path, page, isFiltered, empty, hint, children }: ListCardProps) {
  const noun = label.toLowerCase();
  return (
    <section class="card flush">
      {page.total > 0 ? (
        children
      ) : isFiltered ? (
        <Empty title={`No ${noun.slice(0, -1)} matches`}>
          {hint}
          <a href={path}>Show all {noun}</a>
        </Empty>
      ) : (
        <Empty {...empty} />
      )}
    </section>
  );
}
