import { matchedRoutes } from "hono/route";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { AppError, type ErrorDetail } from "../lib/errors.ts";
import { searchOf } from "./request-path.ts";

const PARAMETERS = Symbol("parameters");

/** Marks a validator with the parameters that it reads; a route without such a validator takes none. */
export function takesParameters<Validator extends object>(validator: Validator, names: Iterable<string>): Validator {
  return Object.assign(validator, { [PARAMETERS]: new Set(names) });
}

function parametersOf(handler: object): ReadonlySet<string> | undefined {
  return (handler as { [PARAMETERS]?: ReadonlySet<string> })[PARAMETERS];
}

/**
 * Refuses what the route of the API does not take: a misspelled filter would answer with everything (HTTP-6). A parameter is
 * given once. An address that no route has is not found.
 * @throws `validation_failed`, with the name of each parameter
 */
export const refuseUnknownParameters: MiddlewareHandler<AppEnv> = async (c, next) => {
  const search = searchOf(c.req);
  if (search.length > 1) {
    const routes = matchedRoutes(c).filter(({ method }) => method !== "ALL");
    // Of several routes with one address the first answers.
    const own = routes.filter(({ method, path }) => method === routes[0]?.method && path === routes[0].path);
    const known = own.map(({ handler }) => parametersOf(handler)).find((names) => names !== undefined);
    const given = [...new URLSearchParams(search).keys()];
    const details = [...new Set(given)].flatMap((path): ErrorDetail[] => {
      if (!known?.has(path)) return [{ path, message: "This parameter is not known." }];
      const isRepeated = given.indexOf(path) !== given.lastIndexOf(path);
      return isRepeated ? [{ path, message: "This is given more than once." }] : [];
    });
    if (own.length > 0 && details.length > 0) {
      throw new AppError("validation_failed", "The request is not valid.", { details });
    }
  }
  await next();
};
