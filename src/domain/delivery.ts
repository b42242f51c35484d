import { HOUR_MS, MINUTE_MS } from "./duration.ts";

export const DELIVERY_STATUSES = ["pending", "delivering", "succeeded", "failed", "blocked"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Why an attempt failed (HOOK-14); `secret`: the signing secret could not be read, so the request was not sent. */
export const ATTEMPT_ERRORS = ["timeout", "connection", "dns", "blocked", "http", "redirect", "secret"] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/**
 * `DELIVERY_DELAYS_MS[n - 1]` is the delay before attempt `n`: 0, 5 min, 30 min, 2 h, 12 h (HOOK-5). Each delay
 * counts from the start of the attempt before it, so the starts follow the table however long an attempt takes.
 */
export const DELIVERY_DELAYS_MS: readonly number[] = [0, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 12 * HOUR_MS];

export const MAX_DELIVERY_ATTEMPTS = DELIVERY_DELAYS_MS.length;

export interface FinishedAttempt {
  /** 1 for the first attempt. */
  attempt_number: number;
  /** When the attempt started, ms since the epoch. */
  started_at_ms: number;
  /** Null when the endpoint answered 2xx in time. */
  error: AttemptError | null;
}

export type AfterAttempt =
  | { status: "pending"; next_attempt_at_ms: number }
  | { status: "succeeded" | "failed" | "blocked"; next_attempt_at_ms: null };

/**
 * The state of a delivery after an attempt: success if the endpoint answers 2xx in time (HOOK-4), else a retry, and
 * `failed` after the final attempt (HOOK-5). A failed lookup is a failed attempt (HOOK-19). A refused address ends the
 * delivery as `blocked` (HOOK-7).
 */
export function afterAttempt({ attempt_number, started_at_ms, error }: FinishedAttempt): AfterAttempt {
  if (error === null) return { status: "succeeded", next_attempt_at_ms: null };
  if (error === "blocked") return { status: "blocked", next_attempt_at_ms: null };
  const delay = DELIVERY_DELAYS_MS[attempt_number];
  if (attempt_number < 1 || delay === undefined) return { status: "failed", next_attempt_at_ms: null };
  return { status: "pending", next_attempt_at_ms: started_at_ms + delay };
}

/** A queue message that wakes one delivery. The row decides the action. */
export interface WakeUpMessage {
  delivery_id: string;
  /** The database that contains the row. */
  shard: number;
}

/** Parses a queue message; null if it is not a delivery's wake-up. */
export function readWakeUp(body: unknown): WakeUpMessage | null {
  if (typeof body !== "object" || body === null || !("delivery_id" in body && "shard" in body)) return null;
  const { delivery_id, shard } = body;
  return typeof delivery_id === "string" && typeof shard === "number" ? { delivery_id, shard } : null;
}

/** A queue message that wakes the e-mails of one program. */
export interface MailWakeUp {
  mails_of: string;
}

/** Parses a queue message; null if it is not a wake-up for e-mails. */
export function readMailWakeUp(body: unknown): MailWakeUp | null {
  if (typeof body !== "object" || body === null || !("mails_of" in body)) return null;
  return typeof body.mails_of === "string" ? { mails_of: body.mails_of } : null;
}
