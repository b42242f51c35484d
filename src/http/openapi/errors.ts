import type { ErrorCode } from "../../lib/errors.ts";
import { statusOf } from "../errors.ts";
import type { Route } from "./route.ts";

/** Why each error code is answered, and what its caller does about it; the status is that of `http/errors.ts`. */
export const ERRORS: Record<ErrorCode, { cause: string; cure: string }> = {
  invalid_json: {
    cause: "The body is not valid JSON.",
    cure: "Send the whole body, as a JSON serializer writes it.",
  },
  unauthorized: {
    cause: "The bearer is missing, unknown or no longer valid.",
    cure: "Send `Authorization: Bearer <API_KEY>` with a key that is in use.",
  },
  invalid_signature: {
    cause: "The signature is missing, wrong, or older than five minutes; nothing was stored.",
    cure: "Store the secret that the provider shows for this address; the provider sends the event again.",
  },
  forbidden: {
    cause: "The API key lacks a scope, which the message names; nothing was done.",
    cure: "Use a key that has it: the owner makes one in the settings.",
  },
  not_found: {
    cause: "There is no such thing in this program.",
    cure: "Compare the id with the list; keys of other programs and of test deployments have objects of their own.",
  },
  method_not_allowed: {
    cause: "The address takes other methods: see the header `Allow`.",
    cure: "Use one of those.",
  },
  already_exists: {
    cause:
      "Something else has this value already, or the same was reported differently before: `details` names the fields.",
    cure: "Look for what has it, and change that; or send another value.",
  },
  invalid_transition: {
    cause: "The thing is in a state that does not allow this; nothing was changed.",
    cure: "Read it again: it may be done already. If not, bring it to a state that the route names first.",
  },
  idempotency_conflict: {
    cause: "A request with this `Idempotency-Key` is still running.",
    cure: "Wait a moment and send the same again: the reply is then that of the first.",
  },
  provider_not_configured: {
    cause: "The program lacks a secret or key of this provider.",
    cure: "Store it in the settings, or with `updateProgram`.",
  },
  payload_too_large: { cause: "The body is too large.", cure: "Send less at a time." },
  unsupported_media_type: {
    cause: "The body is of another media type.",
    cure: "Send `Content-Type: application/json`, or what the route names.",
  },
  validation_failed: {
    cause: "Something in the request is not valid: `details` names each field.",
    cure: "Correct these fields; the same request again is refused again.",
  },
  rate_limited: {
    cause: "Too many requests: try again after `Retry-After` seconds.",
    cure: "Wait so long, then go on more slowly.",
  },
  internal_error: {
    cause: "Something went wrong on the service's side.",
    cure: "Try again, a POST under the same `Idempotency-Key`; then give the operator the `request_id`.",
  },
  storage_unavailable: {
    cause: "The storage did not answer. Whether a change was made is not known.",
    cure: "Try again after `Retry-After` seconds, a POST under the same `Idempotency-Key`.",
  },
  not_configured: {
    cause: "The deployment lacks a setting that this needs, such as `PUBLIC_URL`.",
    cure: "The operator mends that; `/healthz` says whether it is done.",
  },
  provider_unavailable: {
    cause: "The provider did not answer as it should.",
    cure: "Try again after `Retry-After` seconds; the provider's status page says more.",
  },
};

/** Every error code that a route can answer with: those of its kind and its own. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  const security = securityOf(route);
  const isRead = route.method === "GET";
  if (security !== null) add("unauthorized", "rate_limited");
  if (security === "api_key") add("forbidden");
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
