import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { AppError } from "../lib/errors.ts";
import { searchOf } from "./request-path.ts";

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
