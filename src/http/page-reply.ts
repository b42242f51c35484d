import type { Context, TypedResponse } from "hono";
import type { JSONParsed } from "hono/utils/types";
import { textOfPage, type Page, type PageOfTexts } from "../core/kernel/list-page.ts";
import type { AppEnv } from "../env.ts";

/** Replies with a page of a list; its objects are sent as the database wrote them. */
export function pageReply<T>(
  c: Context<AppEnv>,
  page: PageOfTexts<T>,
): TypedResponse<JSONParsed<Page<T>>, 200, "json"> {
  return c.body(textOfPage(page), 200, { "Content-Type": "application/json" }) as never;
}
