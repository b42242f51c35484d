import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";

/** On every answer, whatever it is. */
export const ALWAYS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
} as const;

/** On every answer that has not set its own: nothing is cached, framed, or runs anything. */
export const UNLESS_SET = {
  ...ALWAYS,
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Frame-Options": "DENY",
} as const;

const LIST = Object.entries(UNLESS_SET);

/** Puts `UNLESS_SET` on the answers of the routes behind it; those before it (`http/track.ts`) set theirs themselves. */
export function securityHeaders(): MiddlewareHandler<AppEnv> {
  return async function securityHeaders(c, next) {
    await next();
    // On the response itself: the context would make a new one for every header.
    const { headers } = c.res;
    for (const [name, value] of LIST) if (!headers.has(name)) headers.set(name, value);
  };
}
