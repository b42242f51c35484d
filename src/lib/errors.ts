/** The closed union of error codes (HTTP-3); `http/errors.ts` maps each to its status. */
export type ErrorCode =
  | "invalid_json"
  | "unauthorized"
  | "invalid_signature"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "already_exists"
  | "invalid_transition"
  | "payout_held"
  | "idempotency_conflict"
  | "provider_not_configured"
  | "payload_too_large"
  | "unsupported_media_type"
  | "validation_failed"
  | "rate_limited"
  | "storage_unavailable"
  | "not_configured"
  | "provider_unavailable"
  | "internal_error";

export interface ErrorDetail {
  /** The place in the input, with dots between the steps: `conditions.0.value`. */
  path: string;
  message: string;
}

/** An error whose message the caller sees, so it must never contain another exception's text. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  /** Seconds for the `Retry-After` header. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: ErrorDetail[]; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.details = options.details;
    this.retryAfter = options.retryAfter;
  }
}

/** The storage was away, overloaded or too slow: a retry is right. Whether a write took effect is unknown. */
export class StorageUnavailable extends Error {
  constructor(cause: unknown) {
    super("the storage did not answer", { cause });
    this.name = "StorageUnavailable";
  }
}

/** Whether the error is, or was caused by, unavailable storage. */
export function isUnavailable(thrown: unknown): boolean {
  for (let at: unknown = thrown; at instanceof Error; at = at.cause) if (at instanceof StorageUnavailable) return true;
  return false;
}

/** The error for a missing object, and for another program's: the answer never shows whether it exists. */
export function notFound(noun: string): AppError {
  return new AppError("not_found", `No such ${noun}.`);
}

export function invalidField(path: string, message: string): AppError {
  return new AppError("validation_failed", "The request is not valid.", { details: [{ path, message }] });
}
