import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { buildDocument, type OpenApiDocument } from "./openapi/document.ts";

/** `GET /openapi.json`: OpenAPI 3.1, "made from the same zod schemas that validate" (contract §2). */
export const openapi = new Hono<AppEnv>().get("/openapi.json", (c) => {
  text ??= JSON.stringify(openApiDocument());
  return c.body(text, 200, { "Content-Type": "application/json" });
});

/** The document, made on the first demand and kept for as long as the isolate lives. */
export function openApiDocument(): OpenApiDocument {
  document ??= buildDocument();
  return document;
}

let document: OpenApiDocument | undefined;
let text: string | undefined;
