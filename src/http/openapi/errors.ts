import type { ErrorCode } from "../../lib/errors.ts";
import { statusOf } from "../errors.ts";
import type { Route } from "./route.ts";

/** What each error code says; the status is that of `http/errors.ts`. */
export const ERROR_MEANINGS: Record<ErrorCode, string> = {
  invalid_json: "The body is not valid JSON.",
  unauthorized: "The bearer is missing, unknown or no longer valid.",
  invalid_signature: "The signature is missing, wrong, or older than five minutes; nothing was stored.",
  forbidden: "This is not allowed.",
  not_found: "There is no such thing in this program.",
  method_not_allowed: "The address takes other methods: see the header `Allow`.",
  already_exists:
    "Something else has this value already, or the same was reported differently before: `details` names the fields.",
  invalid_transition: "The thing is in a state that does not allow this; nothing was changed.",
  idempotency_conflict: "A request with this `Idempotency-Key` is still running.",
  provider_not_configured: "The program lacks a secret or key of this provider.",
  payload_too_large: "The body is too large.",
  unsupported_media_type: "The body is of another media type.",
  validation_failed: "Something in the request is not valid: `details` names each field.",
  rate_limited: "Too many requests: try again after `Retry-After` seconds.",
  internal_error: "Something went wrong on the service's side.",
  storage_unavailable:
    "The storage did not answer. Try again after `Retry-After` seconds, a POST under the same `Idempotency-Key`.",
  not_configured: "The deployment lacks a setting that this needs, such as `PUBLIC_URL`; its operator mends that.",
  provider_unavailable: "The provider did not answer as it should; try again.",
};

/** Every error code that a route can answer with: those of its kind and its own. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  const security = securityOf(route);
  const isRead = route.method === "GET";
  if (security !== null) add("unauthorized", "rate_limited");
  if (security === "operator_token") add("not_found");
  if (security !== null && !isRead) add("payload_too_large");
  if (takesIdempotencyKey(route)) add("idempotency_conflict", "validation_failed");
  if (route.body) {
    add("invalid_json", "payload_too_large", "validation_failed");
    if (route.tag !== "Inbound") add("unsupported_media_type");
  }
  if (takesBookmark(route) || (route.query && security !== null)) add("validation_failed");
  if (security !== null || route.body) add("internal_error", "storage_unavailable");
  return [...codes].toSorted((a, b) => statusOf(a) - statusOf(b) || (a < b ? -1 : 1));
}

/** The name of the security scheme that a route asks for, null where anybody may call it. */
export function securityOf({ path }: Pick<Route, "path">): "api_key" | "operator_token" | null {
  if (path.startsWith("/api/v1/")) return "api_key";
  return path.startsWith("/admin/") ? "operator_token" : null;
}

/** Whether it takes `X-D1-Bookmark`, and may answer with one. */
export function takesBookmark(route: Pick<Route, "path">): boolean {
  return securityOf(route) === "api_key";
}

/** On every POST under /api/v1 (HTTP-10). */
export function takesIdempotencyKey({ method, path }: Pick<Route, "method" | "path">): boolean {
  return method === "POST" && path.startsWith("/api/v1/");
}
