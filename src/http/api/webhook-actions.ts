import type { MiddlewareHandler } from "hono";
import * as z from "zod";
import {
  recover,
  redeliver,
  rotateSecret,
  sendPing,
  untilClaimsEnded,
  type Recovered,
} from "../../core/webhooks/actions.ts";
import { viewDelivery } from "../../core/webhooks/history.ts";
import { viewEndpoint } from "../../core/kernel/views.ts";
import type { EndpointWithSecret } from "../../core/webhooks/endpoints.ts";
import type { AppEnv } from "../../env.ts";
import { asIs, created, json, NOTHING, ok, route } from "../route.ts";
import { timeRange } from "../validate.ts";

export const recoverBody = z.strictObject({ since: timeRange.shape.from.unwrap() });

/** This reply and that of the creation are the only ones that show a secret (HOOK-8). */
function viewRotated({ endpoint, secret }: EndpointWithSecret) {
  return { ...viewEndpoint(endpoint), secret, previous_secret_valid_until: endpoint.secret_previous_until };
}

/** Makes a repeated request wait: the stored reply is shown no earlier than the first one's (HOOK-8). */
export const waitWhereRepeated: MiddlewareHandler<AppEnv> = async (c, next) => {
  const id = c.req.param("id") ?? "";
  await next();
  if (c.res.ok && c.res.headers.has("Idempotent-Replayed")) await untilClaimsEnded(c.var.ctx, id, pause);
};

function pause(ms: number): Promise<void> {
  return scheduler.wait(ms);
}

/** Actions on `/api/v1/webhooks/:id` (HOOK-8, HOOK-10). */
export const webhookActions = [
  route("POST /api/v1/webhooks/:id/rotate-secret", {
    operation: "rotateWebhookSecret",
    tag: "Webhooks",
    scope: ["keys"],
    summary: "Rotate an endpoint's signing secret",
    description:
      "For 24 hours `webhook-signature` has the signatures of both secrets; `X-Service-Signature` is of the new one at once. Another rotation within that time ends the oldest secret: send an `Idempotency-Key`, so that a retry does not rotate again.",
    body: NOTHING,
    reply: ok("EndpointWithNewSecret", "The endpoint with its new secret, which is shown only here."),
    errors: ["not_found"],
    view: viewRotated,
    handle: ({ ctx, params }) => rotateSecret(ctx, params.id, pause),
  }),
  route("POST /api/v1/webhooks/:id/test", {
    operation: "testWebhook",
    tag: "Webhooks",
    scope: ["write"],
    summary: "Send a ping to an endpoint",
    body: NOTHING,
    reply: created("Delivery", "The new delivery."),
    errors: ["not_found", "invalid_transition"],
    view: viewDelivery,
    handle: ({ ctx, params }) => sendPing(ctx, params.id),
  }),
  route("POST /api/v1/webhooks/:id/deliveries/:delivery_id/redeliver", {
    operation: "redeliverWebhookDelivery",
    tag: "Webhooks",
    scope: ["write"],
    summary: "Redeliver an event",
    description:
      "Sends the same event id and the same bytes in a new delivery. A delivery that is still waiting is attempted at once instead; during an attempt, the answer is 409.",
    body: NOTHING,
    reply: created("Delivery", "The new delivery."),
    errors: ["not_found", "invalid_transition"],
    view: viewDelivery,
    handle: ({ ctx, params }) => redeliver(ctx, params.id, params.delivery_id),
  }),
  route("POST /api/v1/webhooks/:id/recover", {
    operation: "recoverWebhook",
    tag: "Webhooks",
    scope: ["write"],
    summary: "Recover failed and missed deliveries",
    description:
      "Sends again what failed or was missed since a time, also deliveries made up to 5 days before it. Those that wait for another attempt are attempted at once, and count too.",
    body: json("Recover", recoverBody),
    reply: ok("Recovered", "How many are sent again; if `has_more` is true, call it again for the rest."),
    errors: ["not_found", "invalid_transition"],
    view: asIs<Recovered>,
    handle: ({ ctx, params, body }) => recover(ctx, params.id, body.since),
  }),
];
