import { Hono, type MiddlewareHandler } from "hono";
import * as z from "zod";
import { recover, redeliver, rotateSecret, sendPing, untilClaimsEnded } from "../../core/webhooks/actions.ts";
import { viewDelivery } from "../../core/webhooks/history.ts";
import { viewEndpoint } from "../../core/kernel/views.ts";
import type { EndpointWithSecret } from "../../core/webhooks/endpoints.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { nothing, optionalJson } from "../optional-json.ts";
import { jsonBody, requireJson, timeRange } from "../validate.ts";

export const recoverBody = z.strictObject({ since: timeRange.shape.from.unwrap() });

/** This reply and that of the creation are the only ones that show a secret (HOOK-8). */
function viewRotated({ endpoint, secret }: EndpointWithSecret) {
  return { ...viewEndpoint(endpoint), secret, previous_secret_valid_until: endpoint.secret_previous_until };
}

function asIs<T>(result: T): T {
  return result;
}

/**
 * Around the idempotency step: a repeated request has the stored reply as soon as the first has committed, and shows it no
 * earlier than the first does (HOOK-8).
 */
export const waitWhereRepeated: MiddlewareHandler<AppEnv> = async (c, next) => {
  const id = c.req.param("id") ?? "";
  await next();
  if (c.res.ok && c.res.headers.has("Idempotent-Replayed")) await untilClaimsEnded(c.var.ctx, id, pause);
};

function pause(ms: number): Promise<void> {
  return scheduler.wait(ms);
}

/** Actions on `/api/v1/webhooks/:id` (HOOK-8, HOOK-10). */
export const webhookActions = new Hono<AppEnv>()
  .post("/:id/rotate-secret", optionalJson(nothing), replies(viewRotated, 200), async (c) => {
    const rotated = await rotateSecret(c.var.ctx, c.req.param("id"), pause);
    return c.json(viewRotated(rotated), 200);
  })
  .post("/:id/test", optionalJson(nothing), replies(viewDelivery, 201), async (c) => {
    return c.json(viewDelivery(await sendPing(c.var.ctx, c.req.param("id")), c.var.ctx), 201);
  })
  .post("/:id/deliveries/:delivery_id/redeliver", optionalJson(nothing), replies(viewDelivery, 201), async (c) => {
    const { id, delivery_id } = c.req.param();
    return c.json(viewDelivery(await redeliver(c.var.ctx, id, delivery_id), c.var.ctx), 201);
  })
  .post("/:id/recover", requireJson, jsonBody(recoverBody), replies(asIs, 200), async (c) => {
    return c.json(await recover(c.var.ctx, c.req.param("id"), c.req.valid("json").since), 200);
  });
