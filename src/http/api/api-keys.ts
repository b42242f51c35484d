import { Hono } from "hono";
import * as z from "zod";
import {
  createApiKey,
  deleteApiKey,
  listApiKeys,
  type ApiKeyInput,
  type MadeApiKey,
} from "../../core/programs/api-keys.ts";
import { viewApiKey } from "../../core/kernel/views.ts";
import { MAX_API_KEY_NAME, SCOPES } from "../../domain/scope.ts";
import type { AppEnv } from "../../env.ts";
import { replies } from "../idempotency.ts";
import { jsonBody, requireJson, takes, text, timeRange } from "../validate.ts";

const EXPIRY = "ISO 8601 date or time, in the future; null or left out: the key never expires.";

export const apiKeyCreate = takes<ApiKeyInput>()({
  name: text(MAX_API_KEY_NAME).describe("What the key is for; the audit log shows this name."),
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .max(SCOPES.length)
    .refine((given) => new Set(given).size === given.length, "Name each scope once.")
    .describe("What the key may do: nothing that the calling key may not do."),
  expires_at: timeRange.shape.from.unwrap().meta({ description: EXPIRY }).nullish().describe(EXPIRY),
});

/** The only reply that shows the key (ACCESS-8). */
function viewMade({ key, api_key }: MadeApiKey) {
  return { ...viewApiKey(key), api_key };
}

/** `/api/v1/api-keys` (ACCESS-10). */
export const apiKeys = new Hono<AppEnv>()
  .get("/", async (c) => c.json({ data: (await listApiKeys(c.var.ctx)).map(viewApiKey) }))
  .post("/", requireJson, jsonBody(apiKeyCreate), replies(viewMade, 201), async (c) => {
    const made = await createApiKey(c.var.ctx, c.req.valid("json"));
    return c.json(viewMade(made), 201);
  })
  .delete("/:id", async (c) => {
    const { id } = await deleteApiKey(c.var.ctx, c.req.param("id"));
    return c.json({ id, deleted: true });
  });
