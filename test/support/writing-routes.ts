/** The routes that write. */
import { app } from "../../src/app.ts";

export const WRITING = [
  ...new Set(
    app.routes.flatMap(({ method, path }) =>
      ["POST", "PUT", "PATCH", "DELETE"].includes(method) && !path.includes("*") ? [`${method} ${path}`] : [],
    ),
  ),
];

/** The route of a call; if several match, the route with the fewest parameters. */
export function routeOf(call: string): string | undefined {
  const fit = WRITING.filter((route) => new RegExp(`^${route.replaceAll(/:[a-z_]+/g, "[^/]+")}$`).test(call));
  return fit.toSorted((a, b) => a.split(":").length - b.split(":").length)[0];
}
