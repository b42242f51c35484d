import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";

/** Headers that every answer carries unless the route has set its own: nothing is cached, framed or sniffed. */
export function securityHeaders(): MiddlewareHandler<AppEnv> {
  return async function securityHeaders(c, next) {
    await next();
    const defaults = {
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "X-Frame-Options": "DENY",
      "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    };
    for (const [name, value] of Object.entries(defaults)) {
      if (!c.res.headers.has(name)) c.header(name, value);
    }
  };
}
