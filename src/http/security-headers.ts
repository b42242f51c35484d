import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";

/** The part of a policy that keeps a page out of every frame. */
export const NO_FRAME = "frame-ancestors 'none'";

/** Headers of every reply. */
export const ALWAYS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
} as const;

/** Headers of every reply that has not set its own: no caching, no framing, no scripts. */
export const UNLESS_SET = {
  ...ALWAYS,
  "Cache-Control": "no-store",
  "Content-Security-Policy": `default-src 'none'; ${NO_FRAME}`,
  "Referrer-Policy": "no-referrer",
  "X-Frame-Options": "DENY",
} as const;

const LIST = Object.entries(UNLESS_SET);

/** Puts `UNLESS_SET` on the replies of the routes behind it; those before it (`http/track.ts`) set their own. */
export function securityHeaders(): MiddlewareHandler<AppEnv> {
  return async function securityHeaders(c, next) {
    await next();
    // On the response itself: the context would make a new one for every header.
    const { headers } = c.res;
    for (const [name, value] of LIST) if (!headers.has(name)) headers.set(name, value);
    // If a policy names who may frame the page, the older header would forbid that.
    if (!headers.get("Content-Security-Policy")?.includes(NO_FRAME)) headers.delete("X-Frame-Options");
  };
}
