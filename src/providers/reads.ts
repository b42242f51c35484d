/**
 * Reading what a vendor keeps, with a program's API key. Implementations know the vendor's wire format; nothing outside
 * `providers/` does. None of these functions throws: what went wrong is their answer.
 */
import type { ReadTrouble } from "../domain/read-trouble.ts";
import type { Answer } from "./api-call.ts";

/** The vendor did not give what was asked for. */
export interface ReadFailure {
  outcome: "failed";
  reason: Exclude<ReadTrouble, "not_stored">;
  /** How long the vendor asks to wait; null when it says nothing. */
  retry_after_ms: number | null;
}

export interface EventsAsked {
  /** The vendor's events since then are wanted (ms). */
  from: number;
  /** Where the page before ended, as it said; null for the first. */
  cursor: string | null;
}

export type EventsAnswer =
  | {
      outcome: "read";
      /** Bodies as webhooks bring them, of every type that something is read of; some may be older than asked for. */
      events: unknown[];
      /** They are of the vendor's test mode, whether or not they say so. */
      test: boolean;
      /** For the next page; null after the last. */
      next: string | null;
    }
  | ReadFailure;

export interface VendorReads {
  /** So long the vendor keeps its events, ms. */
  kept_ms: number;
  /**
   * A page of the vendor's list of events, newest first: one that comes while the list is read moves no other across the
   * end of a page.
   */
  listEvents(api_key: string, asked: EventsAsked): Promise<EventsAnswer>;
}

/** What an answer that is not the expected one says. */
export function failureOf({ status, retry_after_ms, is_too_long }: Answer): ReadFailure {
  return { outcome: "failed", reason: is_too_long ? "unreadable" : reasonOf(status), retry_after_ms };
}

function reasonOf(status: number | null): ReadFailure["reason"] {
  if (status === 200) return "unreadable";
  if (status === 401) return "api_key_refused";
  if (status === 403) return "permission_missing";
  if (status === 429) return "rate_limited";
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 409
    ? "refused"
    : "unavailable";
}
