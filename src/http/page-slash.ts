import type { Hono, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { pathOf } from "./request-path.ts";

/** The folders of pages. Addresses for programs have one spelling only. */
const PAGES = /^\/(dashboard|portal|sign-in|switch|join|embed|unsubscribe|dev)\//;

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
