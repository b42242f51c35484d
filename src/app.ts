import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { admin } from "./http/admin.ts";
import { apiKeys } from "./http/api/api-keys.ts";
import { applications } from "./http/api/applications.ts";
import { claims } from "./http/api/claims.ts";
import { clicks } from "./http/api/clicks.ts";
import { codes, partnerCodes } from "./http/api/codes.ts";
import { commissions } from "./http/api/commissions.ts";
import { customers } from "./http/api/customers.ts";
import { events } from "./http/api/events.ts";
import { facts } from "./http/api/facts.ts";
import { flows } from "./http/api/flows.ts";
import { IMPORT_BODY_LIMIT, imports } from "./http/api/imports.ts";
import { integrations } from "./http/api/integrations.ts";
import { members } from "./http/api/members.ts";
import { onboarding } from "./http/api/onboarding.ts";
import { partners } from "./http/api/partners.ts";
import { payments } from "./http/api/payments.ts";
import { payouts } from "./http/api/payouts.ts";
import { portalLinks } from "./http/api/portal-links.ts";
import { programs } from "./http/api/programs.ts";
import { waitWhereRepeated, webhookActions } from "./http/api/webhook-actions.ts";
import { webhooks } from "./http/api/webhooks.ts";
import { authenticate, authenticateOperator } from "./http/authenticate.ts";
import { requireBookmarkForm } from "./http/bookmark.ts";
import { requestContext } from "./http/context.ts";
import { idempotency } from "./http/idempotency.ts";
import { refuseUnknownParameters } from "./http/known-parameters.ts";
import { methodNotAllowedOrNotFound, renderError } from "./http/errors.ts";
import { renderPageError } from "./http/pages/errors.tsx";
import { pages } from "./http/pages/index.ts";
import { withoutLastSlash } from "./http/page-slash.ts";
import { limitParameters } from "./http/query-limit.ts";
import { securityHeaders } from "./http/security-headers.ts";
import { inbound } from "./http/inbound.ts";
import { docs } from "./http/docs/index.tsx";
import { openapi } from "./http/openapi.ts";
import { track } from "./http/track.ts";
import { health } from "./http/health.ts";
import type { PageEnv } from "./http/session.ts";
import type { AppEnv } from "./env.ts";
import { AppError } from "./lib/errors.ts";

const API_BODY_LIMIT = 64 * 1024;

export const app = new Hono<AppEnv>();

const refuse = (error: unknown, c: Context<AppEnv>) =>
  isForPeople(c) ? renderPageError(error, c as unknown as Context<PageEnv>) : renderError(error, c);
app.onError(refuse);
// Answers instead of throwing, so that the middleware around it continues as after any answer.
app.notFound((c) => refuse(methodNotAllowedOrNotFound(app, c), c));

/** Whether a browser requests an address that programs do not use (HTTP-24). */
function isForPeople({ req }: Context): boolean {
  return !/^\/(api|admin|webhooks)(\/|$)/.test(req.path) && (req.header("accept") ?? "").includes("text/html");
}

// Before every middleware: a click costs little more than reading it, and each layer would cost as much again.
app.route("/", track);

app.use(requestContext());
app.use(securityHeaders());
app.use(limitParameters);
app.use(withoutLastSlash(app));

const limitBody = bodyLimit({
  maxSize: API_BODY_LIMIT,
  onError: () => {
    throw new AppError("payload_too_large", "The body is at most 64 KiB.");
  },
});

const limitImport = bodyLimit({
  maxSize: IMPORT_BODY_LIMIT,
  onError: () => {
    throw new AppError("payload_too_large", "A file to import is at most 1 MiB.");
  },
});

app.use("/api/v1/*", authenticate(), refuseUnknownParameters, requireBookmarkForm, (c, next) =>
  (c.req.path === "/api/v1/imports" ? limitImport : limitBody)(c, next),
);
app.use("/api/v1/webhooks/:id/rotate-secret", waitWhereRepeated);
app.use("/api/v1/*", idempotency());
const api = app
  .route("/api/v1/programs", programs)
  .route("/api/v1/api-keys", apiKeys)
  .route("/api/v1/members", members)
  .route("/api/v1/partners", partners)
  .route("/api/v1/partners", onboarding)
  .route("/api/v1/partners", partnerCodes)
  .route("/api/v1/partners", portalLinks)
  .route("/api/v1/applications", applications)
  .route("/api/v1/codes", codes)
  .route("/api/v1/flows", flows)
  .route("/api/v1/payments", payments)
  .route("/api/v1/commissions", commissions)
  .route("/api/v1/payouts", payouts)
  .route("/api/v1/claims", claims)
  .route("/api/v1/customers", customers)
  .route("/api/v1/imports", imports)
  .route("/api/v1/clicks", clicks)
  .route("/api/v1/track", facts)
  .route("/api/v1/events", events)
  .route("/api/v1/webhooks", webhooks)
  .route("/api/v1/webhooks", webhookActions)
  .route("/api/v1/integrations", integrations);

/** Inputs and replies of every route under /api/v1; the typed client is made from it (`src/dev/build-client.ts`). */
export type Api = typeof api;

app.use("/admin/*", authenticateOperator(), refuseUnknownParameters, limitBody);
app.route("/admin", admin);

app.route("/webhooks", inbound);
app.route("/", health);
app.route("/", openapi);
app.route("/", docs);
app.route("/", pages);
