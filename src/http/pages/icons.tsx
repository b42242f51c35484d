/** The icons of the dashboard's places: strokes on a grid of 16, drawn for this service. */
const PATHS: Readonly<Record<string, string>> = {
  "/dashboard": "M2 8.5 8 3l6 5.5M4 7v6h8V7",
  "/dashboard/partners":
    "M8.5 5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM1.5 13.5c0-5 9-5 9 0M10.5 2.8a2.3 2.3 0 0 1 0 4.4M12.5 10c1.3.7 2 1.8 2 3.5",
  "/dashboard/commissions":
    "M4 12 12 4M7 4.5a1.9 1.9 0 1 1-3.8 0 1.9 1.9 0 0 1 3.8 0zM12.8 11.5a1.9 1.9 0 1 1-3.8 0 1.9 1.9 0 0 1 3.8 0z",
  "/dashboard/payouts": "M2 5.5h12v7H2zM2 5.5 10.5 2.500v3M11 9h.5",
  "/dashboard/payments": "M2 4h12v8.500H2zM2 7h12M4.5 10h2.5",
  "/dashboard/customers": "M10.5 5.5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM3 14c0-6 10-6 10 0",
  "/dashboard/claims": "M3.5 14V2.5h8L9.5 5.500l2 3h-8",
  "/dashboard/flows":
    "M5 3.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM14 12.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM5 3.5h3v9h3",
  "/dashboard/events": "M5 4h9M5 8h9M5 12h9M2 4h.1M2 8h.1M2 12h.1",
  "/dashboard/integration": "M5.5 4.5 2 8l3.5 3.500M10.5 4.5 14 8l-3.5 3.5",
  "/dashboard/partners/import": "M8 2v7.500M5 6.500l3 3 3-3M2.5 10.500v3h11v-3",
  "/dashboard/webhooks": "M2 8h3l2-5 2.5 10 2-5H14",
  "/dashboard/settings/keys": "M8 10.5a2.8 2.8 0 1 1-5.6 0 2.8 2.8 0 0 1 5.6 0zM7.2 8.5 13 2.700M10.5 5.200l2 2",
  "/dashboard/settings":
    "M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M12 4.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM8 11.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
};

/** The icon of a place; null without one. */
export function PlaceIcon({ href }: { href: string }) {
  const path = PATHS[href];
  if (path === undefined) return null;
  return (
    <svg class="place-icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
