import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { AppError, type ErrorDetail } from "../lib/errors.ts";
import { searchOf } from "./request-path.ts";
import { routeOf } from "./route.ts";

/**
 * Refuses parameters that the API route does not have: a misspelled filter would return every object (HTTP-6). A
 * parameter may occur once. An address without a route is not found.
 * @throws `validation_failed`, with the name of each parameter
 */
export const refuseUnknownParameters: MiddlewareHandler<AppEnv> = async (c, next) => {
  const search = searchOf(c.req);
  if (search.length > 1) {
    const route = routeOf(c);
    const given = [...new URLSearchParams(search).keys()];
    const details = [...new Set(given)].flatMap((path): ErrorDetail[] => {
      if (!route?.parameters.has(path)) return [{ path, message: "This parameter is not known." }];
      const isRepeated = given.indexOf(path) !== given.lastIndexOf(path);
      return isRepeated ? [{ path, message: "This is given more than once." }] : [];
    });
    if (route && details.length > 0) {
      throw new AppError("validation_failed", "The request is not valid.", { details });
    }
  }
  await next();
};
