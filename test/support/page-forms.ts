/** What the pages post, by route: `pages-found.test.ts` fails for one that is not here. */

/** Forms that make a thing, and forms that change one: the tests of forms try each of them. */
export const MAKING = [
  "/dashboard/partners/new",
  "/dashboard/flows/new",
  "/dashboard/webhooks/new",
  "/dashboard/commissions/new",
] as const;
export const CHANGING = [
  "/dashboard/partners/:id/edit",
  "/dashboard/flows/:id",
  "/dashboard/webhooks/:id/edit",
  "/dashboard/settings",
  "/portal/details",
] as const;

/** What else is posted, by what it is. */
export const OTHERS: Record<string, string[]> = {
  "a button, or the page that asks before it acts": [
    "/dashboard/claims/:id/grant",
    "/dashboard/payments/codes/give",
    "/dashboard/partners/:id/codes/:code_id/remove",
    "/dashboard/integration/:provider/destination",
    "/dashboard/integration/:provider/reconcile",
    "/dashboard/flows/:id/delete",
    "/dashboard/flows/:id/switch",
    "/dashboard/partners/:id/activate",
    "/dashboard/partners/:id/invite",
    "/dashboard/partners/applications/:id/approve",
    "/dashboard/partners/:id/deactivate",
    "/dashboard/payments/:id/reprocess",
    "/dashboard/payouts/:id/cancel",
    "/dashboard/payouts/:id/pay",
    "/dashboard/settings/api-key",
    "/dashboard/settings/secrets/:name/remove",
    "/dashboard/settings/mails",
    "/dashboard/settings/mails/:id/send-again",
    "/dashboard/settings/sessions/end",
    "/dashboard/settings/sessions/end-all",
    "/dashboard/webhooks/:id/delete",
    "/dashboard/webhooks/:id/deliveries/:delivery_id/redeliver",
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
    "/dashboard/payouts/chosen",
    "/dashboard/payouts/chosen/confirmed",
    "/dashboard/payouts/new",
  ],
  "a name, given or taken away": ["/dashboard/partners/:id/codes"],
  "a sale, which is decided on": ["/portal/claims"],
  "a file": ["/dashboard/partners/import"],
  "a secret, which no form shows": ["/dashboard/settings/secrets"],
};
