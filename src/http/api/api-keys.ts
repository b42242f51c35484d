import {
  createApiKey,
  deleteApiKey,
  listApiKeys,
  type ApiKeyInput,
  type MadeApiKey,
} from "../../core/programs/api-keys.ts";
import { viewApiKey } from "../../core/kernel/views.ts";
import { createShape } from "../../resources/field.ts";
import { API_KEY } from "../../resources/team.ts";
import { created, deleted, json, ok, route } from "../route.ts";
import { takes, timeRange } from "../validate.ts";

const EXPIRY = "ISO 8601 date or time, in the future; null or left out: the key never expires.";

export const apiKeyCreate = takes<ApiKeyInput>()({
  ...createShape(API_KEY),
  expires_at: timeRange.shape.from.unwrap().meta({ description: EXPIRY }).nullish().describe(EXPIRY),
});

/** The only reply that shows the key (ACCESS-8). */
function viewMade({ key, api_key }: MadeApiKey) {
  return { ...viewApiKey(key), api_key };
}

export const apiKeys = [
  route("GET /api/v1/api-keys", {
    operation: "listApiKeys",
    tag: "Program",
    scope: ["keys"],
    summary: "List API keys",
    description: "All keys but the program's first, oldest first.",
    reply: ok("ApiKeyList", "The keys."),
    handle: async ({ ctx }) => ({ data: (await listApiKeys(ctx)).map(viewApiKey) }),
  }),
  route("POST /api/v1/api-keys", {
    operation: "createApiKey",
    tag: "Program",
    scope: ["keys"],
    summary: "Create an API key",
    description:
      "The new key works at once, alongside the others, so a key can be replaced without a gap. A key cannot create one that may do more than itself or that expires later. At most 50, not counting the program's first.",
    body: json("ApiKeyCreate", apiKeyCreate),
    reply: created("ApiKeyWithText", "The key; no other reply shows it."),
    view: viewMade,
    handle: ({ ctx, body }) => createApiKey(ctx, body),
  }),
  route("DELETE /api/v1/api-keys/:id", {
    operation: "deleteApiKey",
    tag: "Program",
    scope: ["keys"],
    summary: "Delete an API key",
    description: "It stops working with the next request. The program's first key cannot be deleted, only replaced.",
    reply: ok("Deleted", "It is deleted."),
    errors: ["not_found"],
    view: deleted,
    handle: ({ ctx, params }) => deleteApiKey(ctx, params.id),
  }),
];
