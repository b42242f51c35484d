import { Hono, type Context } from "hono";
import { IMPORT_BODY_LIMIT } from "./http/api/imports.ts";
import { limitBodyTo } from "./http/limit-body.ts";
import { isResultsPath, RESULTS_BODY_LIMIT } from "./http/api/payout-results.ts";
import { waitWhereRepeated } from "./http/api/webhook-actions.ts";
import { authenticate, authenticateOperator } from "./http/authenticate.ts";
import { requireBookmarkForm } from "./http/bookmark.ts";
import { requestContext } from "./http/context.ts";
import { idempotency } from "./http/idempotency.ts";
import { refuseUnknownParameters } from "./http/known-parameters.ts";
import { methodNotAllowedOrNotFound, renderError } from "./http/errors.ts";
import { renderPageError } from "./http/pages/errors.tsx";
import { pages } from "./http/pages/index.ts";
import { limitParameters, withoutLastSlash } from "./http/request-path.ts";
import { securityHeaders } from "./http/security-headers.ts";
import { inbound } from "./http/inbound.ts";
import { docsSearch } from "./http/docs-search.tsx";
import { track } from "./http/track.ts";
import { health } from "./http/health.ts";
import { ROUTES } from "./http/routes.ts";
import type { PageEnv } from "./http/session.ts";
import type { AppEnv } from "./env.ts";

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

const limitBody = limitBodyTo(API_BODY_LIMIT, "The body is at most 64 KiB.");

const limitImport = limitBodyTo(IMPORT_BODY_LIMIT, "A file to import is at most 1 MiB.");

const limitResults = limitBodyTo(RESULTS_BODY_LIMIT, "A result file is at most 4 MiB.");

function limitOf(path: string) {
  if (isResultsPath(path)) return limitResults;
  return path === "/api/v1/imports" ? limitImport : limitBody;
}

app.use("/api/v1/*", authenticate(), refuseUnknownParameters, requireBookmarkForm, (c, next) =>
  limitOf(c.req.path)(c, next),
);
app.use("/api/v1/webhooks/:id/rotate-secret", waitWhereRepeated);
app.use("/api/v1/*", idempotency());
app.use("/admin/*", authenticateOperator(), refuseUnknownParameters, limitBody);
for (const { method, path, respond } of ROUTES) app.on(method, path, respond);

app.route("/webhooks", inbound);
app.route("/", health);
app.route("/", docsSearch);
app.route("/", pages);
