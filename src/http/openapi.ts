import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { readPublicUrl } from "../lib/public-url.ts";
import { buildDocument, type OpenApiDocument } from "./openapi/document.ts";

/**
 * `GET /openapi.json`: OpenAPI 3.1, made from the same zod schemas that validate (HTTP-17). It names the server by
 * `PUBLIC_URL`, or where that is not set by the address that it was read from.
 */
export const openapi = new Hono<AppEnv>().get("/openapi.json", (c) => {
  const base = readPublicUrl(c.env);
  const server = "origin" in base ? base.origin : "/";
  if (served?.server !== server) {
    served = { server, text: JSON.stringify({ ...openApiDocument(), servers: [{ url: server }] }) };
  }
  return c.body(served.text, 200, { "Content-Type": "application/json" });
});

/** The document, made on the first demand and kept for as long as the isolate lives. */
export function openApiDocument(): OpenApiDocument {
  document ??= buildDocument();
  return document;
}

let document: OpenApiDocument | undefined;
let served: { server: string; text: string } | undefined;
