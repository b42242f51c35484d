import type { Hono, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { AppError } from "../lib/errors.ts";

/**
 * The path and query of the request. The sender chooses the host and the scheme, so links are never built from them
 * (`lib/public-url.ts`), and only this file of the folder reads a request's address (test/lint).
 */
export function pathOf({ url }: Pick<Request, "url">): { pathname: string; search: string } {
  const { pathname, search } = new URL(url);
  return { pathname, search };
}

/** The query with its question mark, or an empty text. Reads the text, as parsing an address is slow. */
export function searchOf({ url }: Pick<Request, "url">): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at);
}

export function queryOf(request: Pick<Request, "url">): URLSearchParams | null {
  const search = searchOf(request);
  return search === "" ? null : new URLSearchParams(search);
}

const CLICK_ADDRESS = /^[a-z]+:\/\/[^/]+\/click(?:[?#]|$)/;

/** Whether `takeClick` handles the request, decided without a router: a click costs little more than reading it. */
export function isClick(request: Request): boolean {
  return request.method === "POST" && CLICK_ADDRESS.test(request.url);
}

/** The folders of pages. Addresses for programs have one spelling only. */
const PAGES = /^\/(dashboard|portal|sign-in|switch|join|confirm-payout-details|embed|unsubscribe|dev)\//;

/** Redirects an address with a final slash to the page without it, if it exists (PAGE-28). */
export function withoutLastSlash(app: Hono<AppEnv>): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { method, path } = c.req;
    if (!path.endsWith("/") || !PAGES.test(path) || (method !== "GET" && method !== "HEAD")) return next();
    const isPage = app.router
      .match("GET", path.slice(0, -1))[0]
      .some(([[, route]]) => route.method === "GET" && !route.path.endsWith("*"));
    if (!isPage) return next();
    const { pathname, search } = pathOf(c.req.raw);
    return c.redirect(pathname.slice(0, -1) + search, 308);
  };
}

/** Far more than any route has. */
const MAX_PARAMETERS = 200;

/**
 * Refuses more parameters than any route has: parsing time grows with number times length. @throws `validation_failed`
 */
export const limitParameters: MiddlewareHandler<AppEnv> = async (c, next) => {
  const search = searchOf(c.req);
  let parameters = 1;
  for (let at = search.indexOf("&"); at >= 0; at = search.indexOf("&", at + 1)) parameters++;
  if (parameters > MAX_PARAMETERS) {
    throw new AppError("validation_failed", `An address has at most ${MAX_PARAMETERS} parameters.`);
  }
  await next();
};
