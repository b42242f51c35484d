import { buildDocument } from "../http/openapi/document.ts";

/** The OpenAPI document, without the address of a deployment. */
export const DOCUMENT = buildDocument();
