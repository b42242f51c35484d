import type { Context, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { CommitConflict } from "../core/kernel/conflict.ts";
import type { AppEnv } from "../env.ts";
import { logLine, reasonOf } from "../lib/log.ts";
import { AppError, isUnavailable, type ErrorCode } from "../lib/errors.ts";

const STATUS = {
  invalid_json: 400,
  unauthorized: 401,
  invalid_signature: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  already_exists: 409,
  invalid_transition: 409,
  payout_held: 409,
  idempotency_conflict: 409,
  provider_not_configured: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  rate_limited: 429,
  internal_error: 500,
  storage_unavailable: 503,
  not_configured: 503,
  provider_unavailable: 503,
} as const satisfies Record<ErrorCode, ContentfulStatusCode>;

export const ERROR_CODES = Object.keys(STATUS) as ErrorCode[];

export type ErrorStatus = (typeof STATUS)[ErrorCode];

export function statusOf(code: ErrorCode): ContentfulStatusCode {
  return STATUS[code];
}

/** Renders any thrown value; the only place that does. An unknown one becomes a constant text and a log line. */
export function renderError(thrown: unknown, c: Context<AppEnv>): Response {
  const error = reported(thrown, c);
  return c.json(errorBody(error, c.var.request_id), STATUS[error.code], headersOf(error));
}

/** Replaces the reply of a route with an error and drops all its headers. */
export function replaceWithError(thrown: unknown, c: Context<AppEnv>): void {
  const error = reported(thrown, c);
  c.res = undefined;
  c.res = Response.json(errorBody(error, c.var.request_id), { status: STATUS[error.code], headers: headersOf(error) });
}

function reported(thrown: unknown, c: Context<AppEnv>): AppError {
  const error = toAppError(thrown);
  if (error.code === "internal_error" || error.code === "storage_unavailable") logFailure(thrown, requestOf(c));
  return error;
}

function headersOf(error: AppError): Record<string, string> {
  const retryAfter = retryAfterOf(error);
  return {
    ...(retryAfter === null ? {} : { "Retry-After": String(retryAfter) }),
    ...(error.code === "unauthorized" ? { "WWW-Authenticate": "Bearer" } : {}),
  };
}

/** The body of every error (HTTP-2). */
export function errorBody({ code, message, details }: AppError, request_id: string) {
  return { error: { code, message, ...(details ? { details } : {}), request_id } };
}

/** Seconds for the `Retry-After` header; null if a retry does not help. */
export function retryAfterOf(error: AppError): number | null {
  return error.retryAfter ?? (STATUS[error.code] === 503 ? RETRY_AFTER_SECONDS : null);
}

/** The default of a 503. */
const RETRY_AFTER_SECONDS = 5;

/** The error to show to the caller for any thrown value. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  if (thrown instanceof CommitConflict) {
    // Other writers changed the same rows until this request ran out of attempts; it wrote no change.
    return new AppError("storage_unavailable", "Too many changes at the same time; try again.", {
      retryAfter: 1,
      cause: thrown,
    });
  }
  if (isUnavailable(thrown)) {
    return new AppError("storage_unavailable", "The storage does not answer at the moment; try again.", {
      cause: thrown,
    });
  }
  if (thrown instanceof Error && thrown.message === CUT_OFF) {
    return new AppError("invalid_json", "The body is incomplete.", { cause: thrown });
  }
  if (thrown instanceof HTTPException) {
    if (thrown.status === 400) return new AppError("invalid_json", "The body is not valid JSON.");
    if (thrown.status === 413) return new AppError("payload_too_large", "The body is too large.");
  }
  return new AppError("internal_error", "Something went wrong on our side.");
}

/** The runtime's message for a body whose sender stopped in the middle; storage failures are matched before. */
const CUT_OFF = "Network connection lost.";

/** Logs a failure of the service, without the values in a query's message. */
export function logFailure(thrown: unknown, request: FailedRequest): void {
  logLine("error", {
    what: "request failed",
    ...request,
    error: thrown instanceof Error ? thrown.name : typeof thrown,
    reason: reasonOf(thrown),
    frames: thrown instanceof Error ? (thrown.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [],
  });
}

export interface FailedRequest {
  request_id: string;
  method: string;
  path: string;
}

/** The request's fields for the log. */
export function requestOf(c: Pick<Context<AppEnv>, "req" | "var">): FailedRequest {
  return { request_id: c.var.request_id, method: c.req.method, path: c.req.path };
}

const METHODS = ["GET", "POST", "PATCH", "DELETE", "PUT"];

/** 405 with `Allow` if the path exists under another method, else 404 (HTTP-24). */
export function methodNotAllowedOrNotFound(app: Hono<AppEnv>, c: Context<AppEnv>): AppError {
  const allowed = METHODS.filter((method) =>
    app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method === method),
  );
  if (allowed.length === 0 || allowed.includes(c.req.method)) {
    return new AppError("not_found", "There is nothing at this address.");
  }
  c.header("Allow", allowed.join(", "));
  return new AppError("method_not_allowed", `This address takes ${allowed.join(", ")}.`);
}
