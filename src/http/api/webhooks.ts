import { Hono } from "hono";
import * as z from "zod";
import { getEndpoint, listDeliveries, viewDelivery } from "../../core/webhooks/history.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  updateEndpoint,
  type EndpointInput,
  type EndpointWithSecret,
} from "../../core/webhooks/endpoints.ts";
import { viewEndpoint } from "../../core/kernel/views.ts";
import { SUBSCRIPTIONS } from "../../domain/event.ts";
import { checkTargetUrl, MAX_TARGET_URL_LENGTH } from "../../domain/target-url.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { deliveryQuery } from "../queries.ts";
import { jsonBody, query, requireJson, takes, text } from "../validate.ts";

/** Judged at create and at PATCH alike (HOOK-7); the resolver is asked before every attempt. */
const url = text(MAX_TARGET_URL_LENGTH).superRefine((value, issues) => {
  const checked = checkTargetUrl(value);
  if (!checked.ok) issues.addIssue({ code: "custom", message: `The URL ${checked.reason}.` });
});

export const endpointCreate = takes<EndpointInput>()({
  url,
  events: z.array(z.enum(SUBSCRIPTIONS)).min(1),
  description: text(500, 0).nullish(),
});

export const endpointPatch = endpointCreate.extend({ active: z.boolean() }).partial();

/** The only reply that shows the secret (HOOK-8). */
function viewWithSecret({ endpoint, secret }: EndpointWithSecret) {
  return { ...viewEndpoint(endpoint), secret };
}

/** `/api/v1/webhooks` (HOOK-11, HOOK-13, HOOK-14). */
export const webhooks = new Hono<AppEnv>()
  .post("/", requireJson, jsonBody(endpointCreate), replies(viewWithSecret, 201), async (c) => {
    const made = await createEndpoint(c.var.ctx, c.req.valid("json"));
    return c.json(viewWithSecret(made), 201);
  })
  .get("/", async (c) => c.json({ data: (await listEndpoints(c.var.ctx)).map(viewEndpoint) }))
  .get("/:id", async (c) => {
    const { endpoint, deliveries } = await getEndpoint(c.var.ctx, c.req.param("id"));
    return c.json({ ...viewEndpoint(endpoint), deliveries: deliveries.map((one) => viewDelivery(one, c.var.ctx)) });
  })
  .get("/:id/deliveries", query(deliveryQuery), async (c) => {
    const page = await listDeliveries(c.var.ctx, c.req.param("id"), c.req.valid("query"));
    return c.json({ ...page, data: page.data.map((one) => viewDelivery(one, c.var.ctx)) });
  })
  .patch("/:id", requireJson, jsonBody(endpointPatch), async (c) => {
    const endpoint = await updateEndpoint(c.var.ctx, c.req.param("id"), c.req.valid("json"));
    return c.json(viewEndpoint(endpoint));
  })
  .delete("/:id", async (c) => {
    const { id } = await deleteEndpoint(c.var.ctx, c.req.param("id"));
    return c.json({ id, deleted: true });
  });
