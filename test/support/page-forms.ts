/** The forms that the pages post, by route: `pages-walk.test.ts` fails for a missing one. */

/** Forms that make a thing, and forms that change one: the tests of forms try each of them. */
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
  "/portal/details",
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
  "/dashboard/settings": { same: ["default_commission_pct", "22", "23"], other: ["name", "Another name"] },
  "/portal/details": {
    same: ["payout_email", "one@wallet.example", "two@wallet.example"],
    other: ["last_name", "Quast"],
  },
};

/** Other posted forms, by kind. */
export const OTHERS: Record<string, string[]> = {
  "a button, or the page that asks before it acts": [
    "/dashboard/claims/:id/grant",
    "/dashboard/customers/:id/erase",
    "/dashboard/payments/codes/give",
    "/dashboard/partners/:id/codes/:code_id/remove",
    "/dashboard/integration/check",
    "/dashboard/integration/:provider/destination",
    "/dashboard/integration/:provider/reconcile",
    "/dashboard/partners/groups/:id/default",
    "/dashboard/partners/groups/:id/delete",
    "/dashboard/flows/order",
    "/dashboard/flows/:id/delete",
    "/dashboard/flows/:id/switch",
    "/dashboard/partners/:id/activate",
    "/dashboard/partners/:id/invite",
    "/dashboard/partners/applications/:id/approve",
    "/dashboard/partners/:id/deactivate",
    "/dashboard/partners/:id/forget-account",
    "/dashboard/payments/:id/reprocess",
    "/dashboard/payouts/:id/cancel",
    "/dashboard/payouts/:id/was-not-made",
    "/dashboard/payouts/:id/pay",
    "/dashboard/settings/api-key",
    "/dashboard/settings/keys/:id/delete",
    "/dashboard/settings/keys/:id/rotate",
    "/dashboard/settings/secrets/:name/remove",
    "/dashboard/settings/mails",
    "/dashboard/settings/mails/:id/send-again",
    "/dashboard/settings/sessions/passkeys",
    "/dashboard/settings/sessions/passkeys/remove",
    "/dashboard/settings/sessions/end",
    "/dashboard/settings/sessions/end-all",
    "/dashboard/settings/team",
    "/dashboard/settings/team/:id",
    "/dashboard/settings/team/:id/remove",
    "/dashboard/webhooks/:id/delete",
    "/dashboard/webhooks/:id/deliveries/:delivery_id/redeliver",
    "/dashboard/webhooks/:id/recover",
    "/dashboard/webhooks/:id/rotate-secret",
    "/dashboard/webhooks/:id/switch",
    "/dashboard/webhooks/:id/test",
    "/portal/details/provider-a-account",
    "/portal/details/mails",
    "/portal/details/sessions/end",
    "/portal/details/sessions/end-all",
  ],
  "a decision, of one or of many at once, with a text about it": [
    "/dashboard/partners/applications/:id/decline",
    "/dashboard/partners/applications/chosen",
    "/dashboard/partners/applications/chosen/confirmed",
    "/dashboard/commissions/:id",
    "/dashboard/commissions/bulk",
    "/dashboard/commissions/matching",
    "/dashboard/claims/:id/decline",
    "/dashboard/payouts/:id/mark-paid",
    "/dashboard/payouts/:id/returned",
    "/dashboard/payouts/:id/was-made",
    "/dashboard/payouts/chosen",
    "/dashboard/payouts/chosen/confirmed",
    "/dashboard/payouts/new",
  ],
  "a group, with a rate and a hold": ["/dashboard/partners/groups/new"],
  "a name, given or taken away": ["/dashboard/partners/:id/codes"],
  "a sale, which is decided on": ["/portal/claims"],
  "a key with what it may do, which is shown once": ["/dashboard/settings/keys"],
  "a file": ["/dashboard/partners/import"],
  "a secret, which no form shows": ["/dashboard/settings/secrets"],
};
