import type { Context, MiddlewareHandler } from "hono";
import { AppError } from "../../lib/errors.ts";
import { countCaller, isOverLimit, programKey, RETRY_AFTER_SECONDS } from "../rate-limit.ts";
import type { PageEnv } from "../session.ts";

/** Counts an attempt by network before a session; `at` has its own count. @throws `rate_limited` */
export async function limitByAddress(c: Context<PageEnv>, at?: "look" | "join" | "links"): Promise<void> {
  if ((await countCaller(c.env, "RATE_LIMIT_SIGN_IN", c.req.raw.headers, at)) === null) return;
  throw new AppError("rate_limited", "Too many attempts from your network. Please wait a minute.", {
    retryAfter: RETRY_AFTER_SECONDS,
  });
}

/** Counts list files by program: one reads every row. Behind `requireSession`. @throws `rate_limited` */
export function limitFiles(): MiddlewareHandler<PageEnv> {
  return async function limitFiles(c, next) {
    const key = programKey(c.var.session.program.id, "files");
    if (c.req.path.endsWith(".csv") && (await isOverLimit(c.env.RATE_LIMIT_SIGN_IN, key))) {
      throw new AppError(
        "rate_limited",
        "Your team has downloaded too many files. Please wait a minute, then download this one again.",
        { retryAfter: RETRY_AFTER_SECONDS },
      );
    }
    return next();
  };
}
