/**
 * Reads of a vendor's data with a program's API key. Implementations contain the vendor's wire format, which the code
 * outside `providers/` never uses. These functions never throw: a failure is part of the answer.
 */
import type { VendorTrouble } from "../domain/read-trouble.ts";
import type { ObservedRate } from "../domain/exchange.ts";
import type { CodeFact, Fact, PaymentFact } from "../domain/fact.ts";
import type { Answer } from "./api-call.ts";
import type { KeyModes } from "./connect.ts";

/** The vendor did not return the requested data. */
export interface ReadFailure {
  outcome: "failed";
  reason: VendorTrouble;
  /** The vendor's requested delay, or null. */
  retry_after_ms: number | null;
}

export interface EventsAsked {
  /** The start of the requested period (ms). */
  from: number;
  /** The end of the page before, as that page returned it; null for the first page. */
  cursor: string | null;
}

export interface ListedEvent {
  id: string;
  /** The same body that a webhook delivers. */
  body: unknown;
}

export type EventsAnswer =
  | {
      outcome: "read";
      /** Events of every type with a reader, each with the vendor's id; some may be older than requested. */
      events: ListedEvent[];
      /** All are from the vendor's test mode, whether or not they are marked. */
      test: boolean;
      /** The cursor of the next page; null after the last. */
      next: string | null;
    }
  | ReadFailure;

/** An event that only references its object: its facts are read with the program's API key (IN-18). */
export interface ThinEvent {
  event_id: string;
  event_type: string;
  /** ISO 8601, milliseconds, UTC. */
  occurred_at: string;
  /** From the vendor's test mode. */
  test: boolean;
  /** The event with the same content in full, if the vendor made one. Either this or `object` is set. */
  snapshot_id: string | null;
  /** The referenced object. */
  object: { id: string | null; type: string; path: string } | null;
  /** The account in whose name both are read, if it is not the key's own. */
  context: string | null;
}

export type EventAnswer = { outcome: "read"; /** As a webhook brings it in full. */ body: unknown } | ReadFailure;

export type LinksAnswer =
  | {
      outcome: "read";
      /** Ids of one payment, the requested one first; only that one if no other is known. */ aliases: string[];
    }
  | ReadFailure;

export interface CodeAsked {
  id: string;
  /** The time as of which the answer counts. */
  occurred_at: string;
  /** Vendor ids of some of the payments and subscriptions that carry it. */
  carriers: readonly string[];
}

export type CodeAnswer =
  | {
      outcome: "read";
      /** The code's names at the vendor. */ facts: CodeFact[];
    }
  | ReadFailure;

export type LinesAnswer =
  | {
      outcome: "read";
      /** The facts in the lines. */ facts: Fact[];
    }
  | ReadFailure;

/** A rate at which the vendor converted one of the program's payments. */
export interface ConversionRate extends ObservedRate {
  /** The currency of the payment. */
  from: string;
}

export type RatesAnswer =
  | {
      outcome: "read";
      /** Newest first. */ rates: ConversionRate[];
    }
  | ReadFailure;

export interface VendorReads extends KeyModes {
  /** How long the vendor keeps its events, ms. */
  kept_ms: number;
  /** Reads a page of the event list, newest first, so that an arriving event does not move others across pages. */
  listEvents(api_key: string, asked: EventsAsked): Promise<EventsAnswer>;
  /** Reads the full event of a thin one, for vendors with `thinOf`. */
  readEvent?(api_key: string, thin: ThinEvent): Promise<EventAnswer>;
  /** Reads further ids of a payment, for vendors whose refunds use other ids than their events. */
  readLinks?(api_key: string, id: string): Promise<LinksAnswer>;
  /** Reads the lines of a payment, for vendors whose events omit some of an invoice's, or all of a session's. */
  readLines?(api_key: string, paid: PaymentFact): Promise<LinesAnswer>;
  /** Reads the name of a code, for vendors whose payments carry codes by id. */
  readCode?(api_key: string, code: CodeAsked): Promise<CodeAnswer>;
  /** Reads the newest conversions in one request, for vendors that settle payments in another currency. */
  readRates?(api_key: string): Promise<RatesAnswer>;
}

/** Requests pages of decreasing size until one is short enough. */
export async function requestFitting(
  sizes: readonly number[],
  ask: (size: number) => Promise<Answer>,
): Promise<Answer> {
  const [size = 1, ...smaller] = sizes;
  const answer = await ask(size);
  return answer.is_too_long && smaller.length > 0 ? requestFitting(smaller, ask) : answer;
}

/** The failure for an unexpected answer. */
export function failureOf({ status, retry_after_ms, is_too_long }: Answer): ReadFailure {
  return { outcome: "failed", reason: is_too_long ? "unreadable" : reasonOf(status), retry_after_ms };
}

function reasonOf(status: number | null): ReadFailure["reason"] {
  if (status !== null && status >= 200 && status < 300) return "unreadable";
  if (status === 401) return "api_key_refused";
  if (status === 403) return "permission_missing";
  if (status === 429) return "rate_limited";
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 409
    ? "refused"
    : "unavailable";
}
