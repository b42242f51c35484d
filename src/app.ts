import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { customers } from "./http/api/customers.ts";
import { partners } from "./http/api/partners.ts";
import { payments } from "./http/api/payments.ts";
import { authenticate } from "./http/authenticate.ts";
import { requestContext } from "./http/context.ts";
import { idempotency } from "./http/idempotency.ts";
import { methodNotAllowedOrNotFound, renderError } from "./http/errors.ts";
import { securityHeaders } from "./http/security-headers.ts";
import { inbound } from "./http/inbound.ts";
import { health } from "./http/health.ts";
import type { AppEnv } from "./env.ts";
import { AppError } from "./lib/errors.ts";

const API_BODY_LIMIT = 64 * 1024;

export const app = new Hono<AppEnv>();

app.onError(renderError);
app.notFound((c) => methodNotAllowedOrNotFound(app, c));

app.use(requestContext());
app.use(securityHeaders());

app.use(
  "/api/v1/*",
  authenticate(),
  bodyLimit({
    maxSize: API_BODY_LIMIT,
    onError: () => {
      throw new AppError("payload_too_large", "The body is at most 64 KiB.");
    },
  }),
  idempotency(),
);
app.route("/api/v1/partners", partners);
app.route("/api/v1/payments", payments);
app.route("/api/v1/customers", customers);
app.route("/webhooks", inbound);
app.route("/", health);
