/** The forms that make a thing or change one, by route: `pages-walk.test.ts` fails for a missing one. */

export const MAKING = [
  "/dashboard/partners/new",
  "/dashboard/flows/new",
  "/dashboard/webhooks/new",
  "/dashboard/commissions/new",
] as const;
export const CHANGING = [
  "/dashboard/partners/:id/edit",
  "/dashboard/partners/groups/:id",
  "/dashboard/flows/:id",
  "/dashboard/webhooks/:id/edit",
  "/dashboard/settings",
  "/dashboard/settings/commissions",
  "/dashboard/settings/payouts",
  "/dashboard/settings/portal",
  "/dashboard/partners/:id/tax-data",
  "/portal/details",
  "/portal/details/tax-data",
] as const;

/**
 * The edits of each form that changes an object: a field that one person changes to this or that, as typed and as shown,
 * and a field that another person changes. A form does not compile without its edits.
 */
export const EDITED: Record<
  (typeof CHANGING)[number],
  { same: [name: string, one: string, two: string]; other: [string, string] }
> = {
  "/dashboard/partners/:id/edit": { same: ["commission_pct", "33", "34"], other: ["first_name", "Renate"] },
  "/dashboard/partners/groups/:id": { same: ["commission_pct", "33", "34"], other: ["name", "Friends"] },
  "/dashboard/flows/:id": { same: ["priority", "7", "8"], other: ["name", "Very large orders"] },
  "/dashboard/webhooks/:id/edit": {
    same: ["url", "https://one.example.com/", "https://two.example.com/"],
    other: ["description", "The one of the shop"],
  },
  "/dashboard/settings": { same: ["name", "One name", "Two names"], other: ["brand_color", "#123456"] },
  "/dashboard/settings/commissions": { same: ["default_commission_pct", "22", "23"], other: ["cookie_days", "45"] },
  "/dashboard/settings/payouts": { same: ["payer_name", "One Ltd", "Two Ltd"], other: ["payer_country", "FR"] },
  "/dashboard/settings/portal": { same: ["terms", "Be nice.", "Be kind."], other: ["questions", "Why?"] },
  "/portal/details": {
    same: ["first_name", "Renate", "Renata"],
    other: ["last_name", "Quast"],
  },
  "/dashboard/partners/:id/tax-data": { same: ["legal_name", "One Ltd", "Two Ltd"], other: ["country", "FR"] },
  "/portal/details/tax-data": { same: ["country", "FR", "IE"], other: ["legal_name", "One Ltd"] },
};
