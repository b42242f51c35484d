import type { ErrorCode } from "../../lib/errors.ts";
import { statusOf } from "../errors.ts";
import type { Documented } from "../route.ts";

/** The cause of each error code and the caller's remedy; `http/errors.ts` has its status. */
export const ERRORS: Record<ErrorCode, { cause: string; cure: string }> = {
  invalid_json: {
    cause: "The body is not valid JSON.",
    cure: "Send a complete JSON document as the body, written by a JSON library.",
  },
  unauthorized: {
    cause: "The bearer token is missing, unknown or no longer valid.",
    cure: "Send `Authorization: Bearer <API_KEY>` with a valid key.",
  },
  invalid_signature: {
    cause: "The signature is missing, wrong or more than five minutes old. Nothing was stored.",
    cure: "In the settings, store the signing secret that the provider shows for this URL; the provider will send the event again.",
  },
  forbidden: {
    cause: "The API key lacks a scope, which the message names. Nothing was done.",
    cure: "Use a key with that scope; an owner can create one in the settings.",
  },
  not_found: {
    cause: "There is no such object in this program, or no such path.",
    cure: "Look the id up in the list of such objects, and check that the key belongs to the right program and deployment.",
  },
  method_not_allowed: {
    cause: "The path does not take this method.",
    cure: "Use one of the methods in the header `Allow`.",
  },
  already_exists: {
    cause:
      "Another object already has this value, or the same report was sent before with other values. `details` names the fields.",
    cure: "Send another value, or change the object that has it.",
  },
  invalid_transition: {
    cause: "The object is in a state that does not allow this. Nothing was changed.",
    cure: "Get the object again: it may already be done. If not, first bring it into a state that the operation allows.",
  },
  payout_held: {
    cause:
      "The partner's payout destination changed, so the payout is held until the time in the message. Nothing was changed.",
    cure: "Check with the partner that the change is right. Then wait, or release the hold with `releasePartnerHold`.",
  },
  idempotency_conflict: {
    cause: "A request with this `Idempotency-Key` is still running.",
    cure: "Wait a moment and send the same request again; you then get the reply to the first one.",
  },
  provider_not_configured: {
    cause:
      "The program has no secret or API key for this provider; or money is to be paid, the API key is of test mode, and the program is `live_only`.",
    cure: "Store it in the settings, or with the operation `updateProgram`.",
  },
  payload_too_large: {
    cause: "The body is too large.",
    cure: "Send less at a time: at most 64 KiB, 1 MiB to imports and provider webhooks, 4 KiB to `/click`.",
  },
  unsupported_media_type: {
    cause: "The body has another media type than the operation takes.",
    cure: "Send `Content-Type: application/json`, or the media type that the operation names.",
  },
  validation_failed: {
    cause:
      "Something in the request is not valid, or its `Idempotency-Key` was used for another request. `details` names each field.",
    cure: "Correct these fields, or send a new key; the same request would be refused again.",
  },
  rate_limited: {
    cause: "There were too many requests in a short time.",
    cure: "Wait for the seconds in `Retry-After`, then send requests more slowly.",
  },
  internal_error: {
    cause: "Something went wrong in the service.",
    cure: "Try again, with the same `Idempotency-Key` for a POST. If it fails again, give the operator the `request_id`.",
  },
  storage_unavailable: {
    cause: "The database did not answer. It is not known whether a change was made.",
    cure: "Try again after the seconds in `Retry-After`, with the same `Idempotency-Key` for a POST.",
  },
  not_configured: {
    cause: "The deployment lacks a setting that this operation needs, such as `PUBLIC_URL`.",
    cure: "Ask the operator to set it; `/healthz` says when it is done.",
  },
  provider_unavailable: {
    cause: "The payment provider did not answer as expected.",
    cure: "Try again after the seconds in `Retry-After`, and look at the provider's status page.",
  },
};

/** Every error code of a route: those of its kind and its own. */
export function errorsOf(route: Documented): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  const security = securityOf(route);
  const isRead = route.method === "GET";
  // Each of these routes refuses a parameter that it does not have.
  if (security !== null) add("unauthorized", "rate_limited", "validation_failed");
  if (security === "api_key") add("forbidden");
  if (security === "operator_token") add("not_found");
  if (security !== null && !isRead) add("payload_too_large");
  if (takesIdempotencyKey(route)) add("idempotency_conflict");
  if (route.body) {
    add("invalid_json", "payload_too_large", "validation_failed");
    if (route.tag !== "Inbound") add("unsupported_media_type");
  }
  if (security !== null || route.body) add("internal_error", "storage_unavailable");
  return [...codes].toSorted((a, b) => statusOf(a) - statusOf(b) || (a < b ? -1 : 1));
}

/** The security scheme of a route; null if it is public. */
export function securityOf({ path }: Pick<Documented, "path">): "api_key" | "operator_token" | null {
  if (path.startsWith("/api/v1/")) return "api_key";
  return path.startsWith("/admin/") ? "operator_token" : null;
}

/** Whether it accepts `X-D1-Bookmark`, and may reply with one. */
export function takesBookmark(route: Pick<Documented, "path">): boolean {
  return securityOf(route) === "api_key";
}

/** On every POST under /api/v1 (HTTP-10). */
export function takesIdempotencyKey({ method, path }: Pick<Documented, "method" | "path">): boolean {
  return method === "POST" && path.startsWith("/api/v1/");
}
