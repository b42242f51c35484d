import { getEndpoint, listDeliveries, viewDelivery } from "../../core/webhooks/history.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  updateEndpoint,
  type EndpointInput,
  type EndpointPatch,
  type EndpointWithSecret,
} from "../../core/webhooks/endpoints.ts";
import { viewEndpoint } from "../../core/kernel/views.ts";
import { deliveryQuery } from "../queries.ts";
import { ENDPOINT } from "../../resources/endpoint.ts";
import { createShape, patchShape } from "../../resources/field.ts";
import { created, deleted, json, ok, route } from "../route.ts";
import { takes } from "../validate.ts";

export const endpointCreate = takes<EndpointInput>()(createShape(ENDPOINT));

export const endpointPatch = takes<EndpointPatch>()(patchShape(ENDPOINT));

/** The only reply that shows the secret (HOOK-8). */
function viewWithSecret({ endpoint, secret }: EndpointWithSecret) {
  return { ...viewEndpoint(endpoint), secret };
}

/** `/api/v1/webhooks` (HOOK-11, HOOK-13, HOOK-14). */
export const webhooks = [
  route("POST /api/v1/webhooks", {
    operation: "createWebhook",
    tag: "Webhooks",
    // An endpoint has a secret, and receives every change, with full payout details.
    scope: ["keys", "payouts", "read"],
    summary: "Create an endpoint",
    description: "The URL must be https and lead to a public address. At most 20 endpoints.",
    body: json("EndpointCreate", endpointCreate),
    reply: created("EndpointWithSecret", "The endpoint with its signing secret, which is shown only here."),
    view: viewWithSecret,
    handle: ({ ctx, body }) => createEndpoint(ctx, body),
  }),
  route("GET /api/v1/webhooks", {
    operation: "listWebhooks",
    tag: "Webhooks",
    scope: ["read"],
    summary: "List endpoints",
    reply: ok("EndpointList", "The endpoints."),
    handle: async ({ ctx }) => ({ data: (await listEndpoints(ctx)).map(viewEndpoint) }),
  }),
  route("GET /api/v1/webhooks/:id", {
    operation: "getWebhook",
    tag: "Webhooks",
    scope: ["read"],
    summary: "Get an endpoint with its deliveries",
    reply: ok("EndpointWithDeliveries", "The endpoint with its 100 newest deliveries."),
    errors: ["not_found"],
    handle: async ({ ctx, params }) => {
      const { endpoint, deliveries } = await getEndpoint(ctx, params.id);
      return { ...viewEndpoint(endpoint), deliveries: deliveries.map((one) => viewDelivery(one, ctx)) };
    },
  }),
  route("GET /api/v1/webhooks/:id/deliveries", {
    operation: "listWebhookDeliveries",
    tag: "Webhooks",
    scope: ["read"],
    summary: "List an endpoint's deliveries",
    query: deliveryQuery,
    reply: ok("DeliveryList", "A page of deliveries, newest first."),
    errors: ["not_found"],
    handle: async ({ ctx, params, query }) => {
      const page = await listDeliveries(ctx, params.id, query);
      return { ...page, data: page.data.map((one) => viewDelivery(one, ctx)) };
    },
  }),
  route("PATCH /api/v1/webhooks/:id", {
    operation: "updateWebhook",
    tag: "Webhooks",
    scope: ["keys", "payouts", "read"],
    summary: "Update an endpoint",
    description: "`active: true` also enables an endpoint that was disabled because deliveries failed.",
    body: json("EndpointUpdate", endpointPatch),
    reply: ok("Endpoint", "The endpoint as it is now."),
    errors: ["not_found"],
    view: viewEndpoint,
    handle: ({ ctx, params, body }) => updateEndpoint(ctx, params.id, body),
  }),
  route("DELETE /api/v1/webhooks/:id", {
    operation: "deleteWebhook",
    tag: "Webhooks",
    scope: ["keys"],
    summary: "Delete an endpoint",
    reply: ok("Deleted", "It is deleted."),
    errors: ["not_found"],
    view: deleted,
    handle: ({ ctx, params }) => deleteEndpoint(ctx, params.id),
  }),
];
