import type { Context } from "hono";
import type * as z from "zod";
import type { PageEnv } from "../session.ts";

/** A filter as the address says it: the values that were understood, and as texts for the form and for other pages. */
export interface Filter<T> {
  value: T;
  texts: Record<string, string>;
}

/** What cannot be understood is left out, so that no address of a list is a dead end. */
export function filterOf<T extends z.ZodObject>(c: Context<PageEnv>, schema: T): Filter<z.output<T>> {
  const given = Object.fromEntries(
    Object.entries(c.req.query())
      .map(([name, value]): [string, string] => [name, value.trim()])
      .filter(([name, value]) => value !== "" && name in schema.shape),
  );
  const first = schema.safeParse(given);
  for (const issue of first.error?.issues ?? []) delete given[String(issue.path[0])];
  const { page: _page, ...texts } = given;
  return { value: schema.parse(given), texts };
}
