import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import { SCOPES, type Scope } from "../domain/scope.ts";
import type { AppEnv } from "../env.ts";

/** The scopes that a key needs for each route under /api/v1, all of a route's (ACCESS-11). `test/integration/scopes.test.ts` walks it. */
export const ROUTE_SCOPES: Readonly<Record<string, readonly Scope[]>> = {
  "GET /api/v1/programs/me": ["read"],
  // Secrets among the settings need `keys` as well.
  // So does approval by time need `payouts`, and in every route whatever has an `apply_from`.
  "PATCH /api/v1/programs/me": ["write"],

  "GET /api/v1/api-keys": ["keys"],
  "POST /api/v1/api-keys": ["keys"],
  "DELETE /api/v1/api-keys/:id": ["keys"],

  // An owner does in the dashboard what no scope limits: a key that makes one must have all (ACCESS-12).
  "GET /api/v1/members": ["read"],
  "POST /api/v1/members": SCOPES,
  "PATCH /api/v1/members/:id": SCOPES,
  "DELETE /api/v1/members/:id": SCOPES,

  "GET /api/v1/integrations/status": ["read"],
  "GET /api/v1/integrations/script": ["read"],
  "POST /api/v1/integrations/:provider/reconcile": ["write"],
  // It uses one secret and stores another.
  "POST /api/v1/integrations/:provider/destination": ["keys"],

  // Payout details among the fields of a partner need `payouts` as well, and so does another address of one who is there.
  "POST /api/v1/partners": ["write"],
  "GET /api/v1/partners": ["read"],
  "GET /api/v1/partners/:id": ["read"],
  "GET /api/v1/partners/:id/balance": ["read"],
  "GET /api/v1/partners/:id/entries": ["read"],
  "PATCH /api/v1/partners/:id": ["write"],
  "DELETE /api/v1/partners/:id": ["write"],
  // The vendor's page asks where to pay.
  "POST /api/v1/partners/:id/provider-a-account": ["payouts"],
  "POST /api/v1/partners/:id/provider-a-account/forget": ["payouts"],
  // Whoever has the link reads what the partner reads.
  "POST /api/v1/partners/:id/portal-links": ["write", "read"],
  "POST /api/v1/partners/:id/invite": ["write"],
  // A file may have payout details of many.
  "POST /api/v1/imports": ["write", "payouts"],

  "GET /api/v1/applications": ["read"],
  "POST /api/v1/applications/bulk": ["write"],
  "GET /api/v1/applications/:id": ["read"],
  "POST /api/v1/applications/:id/approve": ["write"],
  "POST /api/v1/applications/:id/decline": ["write"],

  "GET /api/v1/partners/:id/codes": ["read"],
  "POST /api/v1/partners/:id/codes": ["write"],
  "GET /api/v1/codes/summary": ["read"],
  "GET /api/v1/codes/export.csv": ["read"],
  "GET /api/v1/codes/:id": ["read"],
  "DELETE /api/v1/codes/:id": ["write"],

  "POST /api/v1/flows": ["write"],
  "GET /api/v1/flows": ["read"],
  // It writes nothing, and shows payments.
  "POST /api/v1/flows/simulate": ["read"],
  "GET /api/v1/flows/:id": ["read"],
  "PATCH /api/v1/flows/:id": ["write"],
  "DELETE /api/v1/flows/:id": ["write"],

  "GET /api/v1/payments": ["read"],
  "GET /api/v1/payments/:id": ["read"],
  // It credits one payment by hand.
  "POST /api/v1/payments/:id/reprocess": ["write", "payouts"],

  "POST /api/v1/track/lead": ["write"],
  "POST /api/v1/track/sale": ["write"],
  "POST /api/v1/track/refund": ["write"],

  "GET /api/v1/commissions": ["read"],
  // A bonus needs `payouts` as well, and so does a change in the partner's favor (`favorsPartner`).
  "POST /api/v1/commissions": ["write"],
  "POST /api/v1/commissions/bulk": ["write"],
  "GET /api/v1/commissions/:id": ["read"],
  "PATCH /api/v1/commissions/:id": ["write"],

  "GET /api/v1/claims": ["read"],
  "GET /api/v1/claims/:id": ["read"],
  // It credits one payment by hand.
  "POST /api/v1/claims/:id/grant": ["write", "payouts"],
  "POST /api/v1/claims/:id/decline": ["write"],

  "GET /api/v1/payouts": ["read"],
  "POST /api/v1/payouts/generate": ["write"],
  "GET /api/v1/payouts/export.csv": ["payouts"],
  "GET /api/v1/payouts/:id": ["read"],
  "POST /api/v1/payouts/:id/pay": ["payouts"],
  "POST /api/v1/payouts/:id/mark-paid": ["payouts"],
  "POST /api/v1/payouts/:id/conclude": ["payouts"],
  "POST /api/v1/payouts/:id/cancel": ["payouts"],

  "POST /api/v1/customers/erase": ["write"],
  "GET /api/v1/clicks/summary": ["read"],
  "GET /api/v1/events": ["read"],
  "GET /api/v1/events/:id": ["read"],

  // An endpoint has a secret, and is sent all that changes, payout details in full.
  "POST /api/v1/webhooks": ["keys", "payouts", "read"],
  "GET /api/v1/webhooks": ["read"],
  "GET /api/v1/webhooks/:id": ["read"],
  "PATCH /api/v1/webhooks/:id": ["keys", "payouts", "read"],
  "DELETE /api/v1/webhooks/:id": ["keys"],
  "GET /api/v1/webhooks/:id/deliveries": ["read"],
  "POST /api/v1/webhooks/:id/rotate-secret": ["keys"],
  "POST /api/v1/webhooks/:id/test": ["write"],
  "POST /api/v1/webhooks/:id/deliveries/:delivery_id/redeliver": ["write"],
  "POST /api/v1/webhooks/:id/recover": ["write"],
};

/** The scopes of a route; all of them where none are declared. */
export function scopesOf(method: string, path: string): readonly Scope[] {
  return ROUTE_SCOPES[`${method} ${path}`] ?? SCOPES;
}

/** What the request needs: nothing where no route takes it, for then it is not found. */
export function scopesNeeded(c: Context<AppEnv>): readonly Scope[] {
  // Of several routes with one address the first answers.
  const route = matchedRoutes(c).find(({ method }) => method !== "ALL");
  return route ? scopesOf(route.method, route.path) : [];
}
