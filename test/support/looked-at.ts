/** The pages in the browser suite, by their routes: `test/browser/pages-seed.ts` has the addresses of those with parameters. */
import { ROUTES_OF } from "../../src/http/pages/route-rights.ts";

/** A route that answers with a file. */
export const isFile = (route: string): boolean => /\.csv$|\/file$/.test(route);

const OF_DASHBOARD = Object.values(ROUTES_OF)
  .flat()
  .filter((route) => route.startsWith("GET ") && !route.endsWith("*"))
  .map((route) => `/dashboard${route.slice("GET ".length)}`);

const OF_PORTAL = [
  "/portal",
  "/portal/assets",
  "/portal/claims",
  "/portal/commissions",
  "/portal/details",
  "/portal/details/mails",
  "/portal/details/sessions",
  "/portal/details/tax-data",
  "/portal/payouts",
  "/portal/payouts/:id",
  "/portal/statistics",
];

export const LOOKED_AT: string[] = [...OF_DASHBOARD, ...OF_PORTAL].filter((route) => !isFile(route));

/** The pages below an area with one address each. */
export function addressesIn(area: "/dashboard" | "/portal"): Record<string, string> {
  const routes = LOOKED_AT.filter((route) => route.startsWith(area) && !route.includes(":"));
  return Object.fromEntries(routes.map((route) => [route, route]));
}

/** The targets of the owner's navigation. */
export const PLACES: string[] = LOOKED_AT.filter((route) => /^\/dashboard(?:\/[^/]+)?$/.test(route));

/** The routes of which no page has the address: for a route without parameters the very address. */
export function withoutPage(addresses: readonly string[]): string[] {
  const paths = addresses.map((address) => address.split("?")[0]!);
  return LOOKED_AT.filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll(/:[a-z_]+/g, "[^/]+")}$`);
    return !paths.some((path) => path === route || (pattern.test(path) && !LOOKED_AT.includes(path)));
  });
}
