/** Which pages the browser's suite looks at, by their routes: `test/browser/pages-seed.ts` has an address for each. */
export const LOOKED_AT: string[] = [
  "/dashboard",
  "/dashboard/payments/codes",
  "/dashboard/claims",
  "/dashboard/claims/:id",
  "/dashboard/commissions",
  "/dashboard/commissions/:id",
  "/dashboard/commissions/matching",
  "/dashboard/commissions/new",
  "/dashboard/events",
  "/dashboard/flows",
  "/dashboard/flows/:id",
  "/dashboard/flows/:id/delete",
  "/dashboard/flows/new",
  "/dashboard/integration",
  "/dashboard/partners",
  "/dashboard/partners/:id",
  "/dashboard/partners/applications",
  "/dashboard/partners/applications/:id",
  "/dashboard/partners/:id/codes",
  "/dashboard/partners/:id/deactivate",
  "/dashboard/partners/:id/edit",
  "/dashboard/partners/import",
  "/dashboard/partners/new",
  "/dashboard/payments",
  "/dashboard/payments/:id",
  "/dashboard/payouts",
  "/dashboard/payouts/:id",
  "/dashboard/payouts/:id/cancel",
  "/dashboard/payouts/:id/mark-paid",
  "/dashboard/payouts/:id/pay",
  "/dashboard/payouts/new",
  "/dashboard/settings",
  "/dashboard/settings/api-key",
  "/dashboard/settings/mails",
  "/dashboard/settings/secrets/:name/remove",
  "/dashboard/settings/sessions",
  "/dashboard/webhooks",
  "/dashboard/webhooks/:id",
  "/dashboard/webhooks/:id/delete",
  "/dashboard/webhooks/:id/edit",
  "/dashboard/webhooks/:id/rotate-secret",
  "/dashboard/webhooks/new",
  "/portal",
  "/portal/assets",
  "/portal/claims",
  "/portal/commissions",
  "/portal/details",
  "/portal/details/mails",
  "/portal/details/sessions",
  "/portal/payouts",
  "/portal/payouts/:id",
  "/portal/statistics",
];

/** Where the owner's navigation leads. */
export const PLACES: string[] = LOOKED_AT.filter((route) => /^\/dashboard(?:\/[^/]+)?$/.test(route));

export const NOT_LOOKED_AT: Record<string, string> = {
  "/dashboard/payments/codes/export.csv": "a file",
  "/dashboard/payouts/export.csv": "a file",
  "/portal/payouts/:id/statement.csv": "a file",
};

/** The routes of which no page has the address: for a route without parameters the very address. */
export function withoutPage(addresses: readonly string[]): string[] {
  const paths = addresses.map((address) => address.split("?")[0]!);
  return LOOKED_AT.filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll(/:[a-z_]+/g, "[^/]+")}$`);
    return !paths.some((path) => path === route || (pattern.test(path) && !LOOKED_AT.includes(path)));
  });
}
