import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { readPublicUrl } from "../lib/public-url.ts";
import { notFound } from "../lib/errors.ts";
import { buildDocument, dataSchema } from "./openapi/document.ts";
import type { OpenApiDocument } from "./openapi/types.ts";

/**
 * `GET /openapi.json`: OpenAPI 3.1, made from the same zod schemas that validate (HTTP-17). It names the server by
 * `PUBLIC_URL`, or where that is not set by the address that it was read from.
 */
export const openapi = new Hono<AppEnv>()
  .get("/openapi.json", (c) => {
    const base = readPublicUrl(c.env);
    const server = "origin" in base ? base.origin : "/";
    if (served?.server !== server) {
      served = { server, text: JSON.stringify({ ...openApiDocument(), servers: [{ url: server }] }) };
    }
    return c.body(served.text, 200, { "Content-Type": "application/json" });
  })
  // Each outbound event has a published JSON Schema of its `data` (HOOK-21).
  .get("/docs/events/:file", (c) => {
    const schema = dataSchema(c.req.param("file").replace(/\.json$/, ""));
    if (!schema || !c.req.path.endsWith(".json")) throw notFound("event type");
    return c.json(schema);
  });

/** The document, made on the first demand and kept for as long as the isolate lives. */
export function openApiDocument(): OpenApiDocument {
  document ??= buildDocument();
  return document;
}

let document: OpenApiDocument | undefined;
let served: { server: string; text: string } | undefined;
