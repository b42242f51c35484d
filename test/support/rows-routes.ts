/** The routes of the API and of the operator that read no more rows as data grows. */
import { newId } from "../../src/lib/id.ts";
import { DAY, iso } from "../../src/lib/time.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { run } from "./grown-program.ts";
import { newKey } from "./keys.ts";
import { API_KEY_A, sealedForWallet } from "./payouts.ts";
import { makeProgram } from "./program.ts";
import { openDestinations, withVendors } from "./vendor-destinations.ts";
import { admin, api, fresh, type Operation, type Subject } from "./rows-world.ts";

const now = Date.now();
const RECENT = `from=${iso(now - 7 * DAY).slice(0, 10)}&to=${iso(now).slice(0, 10)}`;

const partnerFile = ({ partner }: Subject) => {
  const name = fresh();
  return `email,token,paypal_email\n${name}@old.example,${name},\n${partner.email},${name}-too,p@pay.example\n`;
};

/**
 * A rule that is applied to the subject's payment only: the number of settled payments does not depend on the program.
 */
function applied(method: string, path: string, rule: (subject: Subject) => Record<string, unknown>): Operation {
  return api(method, path, (subject) => ({ ...rule(subject), apply_from: subject.paid_at }));
}

/** A pending payout to a wallet. */
async function pendingWallet({ program, partner }: Subject): Promise<string> {
  const id = newId("payout", now);
  await run(
    `insert into payouts (id, program_id, partner_id, amount_cents, currency, status, method, period_end, due_at,
      commission_count, attempt, created_at, updated_at, recipient_sealed, recipient)
    values (?1, ?2, ?3, 2000, 'USD', 'pending', 'wallet', ?4, ?4, 0, 0, ?4, ?4, ?5, 'w****@pay.example')`,
    ...[id, program.id, partner.id, iso(now), await sealedForWallet(id)],
  );
  return id;
}

/** An open file of one payout. */
export async function openFile(subject: Subject): Promise<{ id: string; payout: string }> {
  const [id, payout] = [newId("export", now), await pendingWallet(subject)];
  await run(
    `insert into payout_exports (id, program_id, format, currency, count, amount_cents, status, created_at, updated_at)
    values (?1, ?2, 'wallet', 'USD', 1, 2000, 'open', ?3, ?3)`,
    ...[id, subject.program.id, iso(now)],
  );
  await run("insert into export_items (export_id, payout_id, status) values (?, ?, 'open')", id, payout);
  await run("update payouts set status = 'processing' where id = ?", payout);
  return { id, payout };
}

/** A call about such a file. */
function exported(method: string, path: string, bodyOf?: (payout_id: string) => string): Operation {
  return async (subject) => {
    const { id, payout } = await openFile(subject);
    await api(method, `/api/v1/payouts/exports/${id}${path}`, bodyOf?.(payout))(subject);
  };
}

/** Operations by route; the text after a comma is another way to call it. */
export const ROUTES: Record<string, Operation> = {
  "GET /api/v1/programs/me": api("GET", "/api/v1/programs/me"),
  "PATCH /api/v1/programs/me": api("PATCH", "/api/v1/programs/me", () => ({ name: fresh() })),
  "PATCH /api/v1/programs/me, applied": applied("PATCH", "/api/v1/programs/me", () => ({ default_commission_pct: 21 })),
  "GET /api/v1/api-keys": api("GET", "/api/v1/api-keys"),
  "POST /api/v1/api-keys": api("POST", "/api/v1/api-keys", () => ({ name: fresh(), scopes: ["read"] })),
  "DELETE /api/v1/api-keys/:id": async (subject) => {
    const { id } = await newKey(subject.program);
    await api("DELETE", `/api/v1/api-keys/${id}`)(subject);
  },
  "GET /api/v1/integrations/status": api("GET", "/api/v1/integrations/status"),
  "GET /api/v1/products": api("GET", "/api/v1/products"),
  "GET /api/v1/integrations/script": api("GET", "/api/v1/integrations/script?url=https://localhost/"),
  "POST /api/v1/integrations/:provider/reconcile": api("POST", "/api/v1/integrations/provider_a/reconcile"),
  "POST /api/v1/integrations/:provider/destination": async (subject) => {
    const program = await makeProgram({ provider_a_webhook_secret: null, provider_a_api_key: API_KEY_A });
    const call = api("POST", "/api/v1/integrations/provider_a/destination");
    await withVendors(openDestinations([API_KEY_A]), () => call({ ...subject, program }));
  },

  "POST /api/v1/members": api("POST", "/api/v1/members", () => ({ email: `${fresh()}@team.example`, role: "viewer" })),
  "GET /api/v1/members": api("GET", "/api/v1/members"),
  "PATCH /api/v1/members/:id": api("PATCH", "/api/v1/members/{member}", { role: "finance" }),
  "DELETE /api/v1/members/:id": api("DELETE", "/api/v1/members/{member}"),

  "POST /api/v1/partners": api("POST", "/api/v1/partners", () => ({ slug: fresh(), email: `${fresh()}@p.example` })),
  "GET /api/v1/partners": api("GET", "/api/v1/partners"),
  "GET /api/v1/partners, searched": async (subject) => {
    for (const search of ["nobody", "zq"]) await api("GET", `/api/v1/partners?search=${search}`)(subject);
  },
  "GET /api/v1/partners, of a status": api("GET", "/api/v1/partners?status=active"),
  "GET /api/v1/partners/:id": api("GET", "/api/v1/partners/{partner}"),
  "GET /api/v1/partners/:id/balance": api("GET", "/api/v1/partners/{partner}/balance"),
  "GET /api/v1/partners/:id/entries": api("GET", "/api/v1/partners/{partner}/entries"),
  "GET /api/v1/partners/:id/payout-details": api("GET", "/api/v1/partners/{partner}/payout-details"),
  "PUT /api/v1/partners/:id/payout-details": api("PUT", "/api/v1/partners/{partner}/payout-details", () => ({
    ...{ method: "crypto", network: "bitcoin", address: `bc1q${fresh().replaceAll(/\W/g, "")}xxxxxxxx` },
  })),
  "POST /api/v1/partners/ask-payout-details": api("POST", "/api/v1/partners/ask-payout-details", ({ partner }) => ({
    ids: [partner.id],
  })),
  "GET /api/v1/rates": api("GET", "/api/v1/rates"),
  "PUT /api/v1/rates": api("PUT", "/api/v1/rates", () => ({ base: "EUR", rates: { USD: 1.0853 } })),
  "GET /api/v1/partners/:id/tax-data": api("GET", "/api/v1/partners/{partner}/tax-data"),
  "PUT /api/v1/partners/:id/tax-data": api("PUT", "/api/v1/partners/{partner}/tax-data", () => ({
    ...{ legal_name: fresh(), address: "Main St. 1", country: "DE", kind: "private" },
  })),
  "PATCH /api/v1/partners/:id": api("PATCH", "/api/v1/partners/{partner}", () => ({ first_name: fresh() })),
  "PATCH /api/v1/partners/:id, its slug": api("PATCH", "/api/v1/partners/{partner}", () => ({ slug: fresh() })),
  "PATCH /api/v1/partners/:id, its rate, applied": applied("PATCH", "/api/v1/partners/{partner}", () => ({
    commission_pct: 23,
  })),
  "DELETE /api/v1/partners/:id": api("DELETE", "/api/v1/partners/{partner}"),
  "PATCH /api/v1/partners/:id, active again": api("PATCH", "/api/v1/partners/{partner}", { status: "active" }),
  "POST /api/v1/partners/:id/provider-a-account": api("POST", "/api/v1/partners/{partner}/provider-a-account"),
  "POST /api/v1/partners/:id/provider-a-account/forget": api(
    "POST",
    "/api/v1/partners/{partner}/provider-a-account/forget",
    ({ partner }) => ({ account_id: `acct_${partner.slug}` }),
  ),
  "POST /api/v1/partners/:id/release-hold": async (subject) => {
    await subject.program.api("PATCH", `/api/v1/partners/${subject.partner.id}`, { payout_method: "crypto" });
    await api("POST", "/api/v1/partners/{partner}/release-hold")(subject);
  },
  "POST /api/v1/partners/:id/portal-links": api("POST", "/api/v1/partners/{partner}/portal-links"),
  "POST /api/v1/partners/:id/invite": api("POST", "/api/v1/partners/{invited}/invite"),
  "GET /api/v1/applications": api("GET", "/api/v1/applications"),
  "GET /api/v1/applications, of a status": api("GET", "/api/v1/applications?status=pending"),
  "GET /api/v1/applications/:id": api("GET", "/api/v1/applications/{applications.0}"),
  "POST /api/v1/applications/:id/approve": api("POST", "/api/v1/applications/{applications.0}/approve"),
  "POST /api/v1/applications/:id/decline": api("POST", "/api/v1/applications/{applications.1}/decline"),
  "POST /api/v1/applications/bulk": api("POST", "/api/v1/applications/bulk", ({ applications }) => ({
    ids: applications.slice(2),
    status: "approved",
  })),
  "GET /api/v1/partners/:id/codes": api("GET", "/api/v1/partners/{partner}/codes"),
  "POST /api/v1/partners/:id/codes": api("POST", "/api/v1/partners/{partner}/codes", () => ({
    code: fresh(),
    provider: VENDOR_NAMES[0],
  })),
  "POST /api/v1/partners/:id/codes, moved": api("POST", "/api/v1/partners/{partner}/codes", ({ other_code }) => ({
    code: other_code,
    provider: VENDOR_NAMES[0],
    move: true,
  })),
  "GET /api/v1/codes/summary": api("GET", "/api/v1/codes/summary?from=2026-01-01&to=2026-12-31"),
  "GET /api/v1/codes/summary, of a partner": api("GET", "/api/v1/codes/summary?partner_id={partner}"),
  "GET /api/v1/codes/:id": api("GET", "/api/v1/codes/{code}"),
  "DELETE /api/v1/codes/:id": api("DELETE", "/api/v1/codes/{code}"),
  "POST /api/v1/imports, partners": api("POST", "/api/v1/imports?kind=partners&product=rewardful", partnerFile),

  "POST /api/v1/groups": api("POST", "/api/v1/groups", () => ({ name: fresh(), slug: fresh() })),
  "GET /api/v1/groups": api("GET", "/api/v1/groups"),
  "GET /api/v1/groups/:id": api("GET", "/api/v1/groups/{group}"),
  "PATCH /api/v1/groups/:id": api("PATCH", "/api/v1/groups/{group}", () => ({ name: fresh() })),
  "PATCH /api/v1/groups/:id, applied": applied("PATCH", "/api/v1/groups/{group}", () => ({ commission_pct: 24 })),
  "DELETE /api/v1/groups/:id": api("DELETE", "/api/v1/groups/{group}"),

  "POST /api/v1/flows": api("POST", "/api/v1/flows", { name: "Flat", action_type: "flat", action_value: 5 }),
  "POST /api/v1/flows/simulate": api("POST", "/api/v1/flows/simulate", ({ flow }) => ({ flow_id: flow, last: 10 })),
  "POST /api/v1/flows/simulate, applied": applied("POST", "/api/v1/flows/simulate", ({ flow }) => ({
    flow_id: flow,
    last: 100,
  })),
  "GET /api/v1/flows": api("GET", "/api/v1/flows"),
  "GET /api/v1/flows/:id": api("GET", "/api/v1/flows/{flow}"),
  "PATCH /api/v1/flows/:id": api("PATCH", "/api/v1/flows/{flow}", { priority: 2 }),
  "PATCH /api/v1/flows/:id, applied": applied("PATCH", "/api/v1/flows/{flow}", () => ({ priority: 3 })),
  "DELETE /api/v1/flows/:id": api("DELETE", "/api/v1/flows/{flow}"),

  "GET /api/v1/payments": api("GET", "/api/v1/payments"),
  "GET /api/v1/payments, of an outcome": api("GET", "/api/v1/payments?outcome=no_ref"),
  "GET /api/v1/payments, of a partner": api("GET", "/api/v1/payments?partner_id={partner}"),
  "GET /api/v1/payments, of both": api("GET", "/api/v1/payments?partner_id={partner}&outcome=commission"),
  "GET /api/v1/payments, of a partner and a time": api("GET", `/api/v1/payments?partner_id={partner}&${RECENT}`),
  "GET /api/v1/payments/:id": api("GET", "/api/v1/payments/{payment}"),
  "POST /api/v1/payments/:id/reprocess": api("POST", "/api/v1/payments/{payment}/reprocess"),

  "POST /api/v1/track/lead": api("POST", "/api/v1/track/lead", ({ partner }) => ({
    ...{ external_id: fresh(), ref: partner.slug, customer: { id: fresh(), email: `${fresh()}@c.example` } },
  })),
  "POST /api/v1/track/sale": api("POST", "/api/v1/track/sale", ({ partner }) => ({
    ...{ external_id: fresh(), ref: partner.slug, customer: { id: fresh(), email: `${fresh()}@c.example` } },
    ...{ amount_cents: 100, currency: "USD", net_of_tax: true },
  })),
  "POST /api/v1/track/refund": api("POST", "/api/v1/track/refund", () => ({
    ...{ external_id: fresh(), sale_external_id: fresh(), amount_cents: 100 },
  })),

  "GET /api/v1/commissions": api("GET", "/api/v1/commissions"),
  "GET /api/v1/commissions, of a status": api("GET", "/api/v1/commissions?status=pending"),
  "GET /api/v1/commissions, to review": api("GET", "/api/v1/commissions?status=pending&flagged=true"),
  "GET /api/v1/commissions, of a partner": api("GET", "/api/v1/commissions?partner_id={partner}"),
  "GET /api/v1/commissions, of both": api("GET", "/api/v1/commissions?partner_id={partner}&status=pending"),
  "GET /api/v1/commissions, of a payout": api("GET", "/api/v1/commissions?payout_id={payouts.0}"),
  "GET /api/v1/commissions, of a paid payout": api("GET", "/api/v1/commissions?payout_id={payouts.1}&status=approved"),
  "POST /api/v1/commissions": api("POST", "/api/v1/commissions", ({ partner }) => ({
    partner_id: partner.id,
    amount_cents: 5,
    note: "a bonus",
  })),
  "POST /api/v1/commissions/bulk": api("POST", "/api/v1/commissions/bulk", ({ commissions }) => ({
    ids: commissions,
    status: "approved",
  })),
  "GET /api/v1/commissions/:id": api("GET", "/api/v1/commissions/{commissions.0}"),
  "PATCH /api/v1/commissions/:id": api("PATCH", "/api/v1/commissions/{commissions.0}", { status: "rejected" }),
  "POST /api/v1/commissions/bulk, of a filter": api("POST", "/api/v1/commissions/bulk", ({ partner }) => ({
    filter: { partner_id: partner.id, status: "approved" },
    status: "rejected",
  })),

  "GET /api/v1/claims": api("GET", "/api/v1/claims"),
  "GET /api/v1/claims, open": api("GET", "/api/v1/claims?status=open"),
  "GET /api/v1/claims, of a partner": api("GET", "/api/v1/claims?partner_id={partner}"),
  "GET /api/v1/claims/:id": api("GET", "/api/v1/claims/{claims.0}"),
  "POST /api/v1/claims/:id/grant": api("POST", "/api/v1/claims/{claims.1}/grant", ({ payment }) => ({
    payment_id: payment,
  })),
  "POST /api/v1/claims/:id/decline": api("POST", "/api/v1/claims/{claims.2}/decline"),

  "GET /api/v1/payouts": api("GET", "/api/v1/payouts"),
  "GET /api/v1/payouts, of a status": api("GET", "/api/v1/payouts?status=paid"),
  "GET /api/v1/payouts, of a partner": api("GET", "/api/v1/payouts?partner_id={partner}"),
  "GET /api/v1/payouts, of both": api("GET", "/api/v1/payouts?partner_id={partner}&status=paid"),
  "GET /api/v1/payouts/exports": api("GET", "/api/v1/payouts/exports"),
  "GET /api/v1/payouts/exports, of a status": api("GET", "/api/v1/payouts/exports?status=open"),
  "POST /api/v1/payouts/exports": async (subject) => {
    await pendingWallet(subject);
    await api("POST", "/api/v1/payouts/exports", { format: "wallet", currency: "USD" })(subject);
  },
  "GET /api/v1/payouts/exports/:id": exported("GET", ""),
  "GET /api/v1/payouts/exports/:id/file": exported("GET", "/file"),
  "POST /api/v1/payouts/exports/:id/paid": exported("POST", "/paid"),
  "POST /api/v1/payouts/exports/:id/cancel": exported("POST", "/cancel"),
  "POST /api/v1/payouts/exports/:id/results": exported("POST", "/results", (id) => `payout_id,status\n${id},paid\n`),
  "POST /api/v1/payouts/exports/:id/results, failed": exported(
    "POST",
    "/results",
    (id) => `payout_id,status\n${id},failed\n`,
  ),
  "GET /api/v1/payouts/:id": api("GET", "/api/v1/payouts/{payouts.0}"),
  "GET /api/v1/payouts/:id/statement": api("GET", "/api/v1/payouts/{payouts.0}/statement"),
  "POST /api/v1/payouts/:id/pay": api("POST", "/api/v1/payouts/{payouts.0}/pay"),
  "POST /api/v1/payouts/:id/mark-paid": api("POST", "/api/v1/payouts/{payouts.1}/mark-paid"),
  // The payout that the route before has paid.
  "POST /api/v1/payouts/:id/returned": api("POST", "/api/v1/payouts/{payouts.1}/returned", { reason: "Closed" }),
  "POST /api/v1/payouts/:id/cancel": api("POST", "/api/v1/payouts/{payouts.2}/cancel"),
  "POST /api/v1/payouts/:id/conclude": async (subject) => {
    await run(
      `update payouts set status = 'processing', failure_code = 'other_account', attempt = 1, reconcile_at = ?,
        attempt_params = '{"request": "", "key_mark": "", "account": "acct_other (test)"}' where id = ?`,
      ...[iso(now - DAY), subject.payouts[2]],
    );
    await api("POST", "/api/v1/payouts/{payouts.2}/conclude", { made: false })(subject);
  },

  "GET /api/v1/clicks/summary": api("GET", `/api/v1/clicks/summary?${RECENT}`),
  "GET /api/v1/clicks/summary, of a partner": api("GET", `/api/v1/clicks/summary?${RECENT}&partner_id={partner}`),
  "GET /api/v1/events": api("GET", "/api/v1/events"),
  "GET /api/v1/events, of a type": api("GET", "/api/v1/events?type=commission.created"),
  "GET /api/v1/events, of a time": api("GET", `/api/v1/events?${RECENT}`),
  "GET /api/v1/events/:id": api("GET", "/api/v1/events/{event}"),

  "POST /api/v1/webhooks": api("POST", "/api/v1/webhooks", {
    url: "https://subject-two.example.com/",
    events: ["payout.paid"],
  }),
  "GET /api/v1/webhooks": api("GET", "/api/v1/webhooks"),
  "GET /api/v1/webhooks/:id": api("GET", "/api/v1/webhooks/{endpoint}"),
  "PATCH /api/v1/webhooks/:id": api("PATCH", "/api/v1/webhooks/{endpoint}", () => ({ description: fresh() })),
  "POST /api/v1/webhooks/:id/rotate-secret": api("POST", "/api/v1/webhooks/{endpoint}/rotate-secret"),
  "POST /api/v1/webhooks/:id/test": api("POST", "/api/v1/webhooks/{endpoint}/test"),
  "POST /api/v1/webhooks/:id/deliveries/:delivery_id/redeliver": api(
    "POST",
    "/api/v1/webhooks/{endpoint}/deliveries/{delivery}/redeliver",
  ),
  "DELETE /api/v1/webhooks/:id": api("DELETE", "/api/v1/webhooks/{endpoint}"),

  "POST /admin/sign-in-links": admin("POST", "/admin/sign-in-links", ({ program }) => ({
    email: program.program.owner_email,
  })),
  "POST /admin/programs": admin("POST", "/admin/programs", () => ({ name: "N", owner_email: `${fresh()}@o.example` })),
  "POST /admin/programs/:id/api-key": async (subject) => {
    const { id } = await makeProgram();
    await admin("POST", `/admin/programs/${id}/api-key`)(subject);
  },
};
