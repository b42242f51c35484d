/**
 * Reading what a vendor keeps, with a program's API key. Implementations know the vendor's wire format; nothing outside
 * `providers/` does. None of these functions throws: what went wrong is their answer.
 */
import type { VendorTrouble } from "../domain/read-trouble.ts";
import type { CodeFact, Fact, PaymentFact } from "../domain/fact.ts";
import type { Answer } from "./api-call.ts";
import type { KeyModes } from "./connect.ts";

/** The vendor did not give what was asked for. */
export interface ReadFailure {
  outcome: "failed";
  reason: VendorTrouble;
  /** How long the vendor asks to wait; null when it says nothing. */
  retry_after_ms: number | null;
}

export interface EventsAsked {
  /** The vendor's events since then are wanted (ms). */
  from: number;
  /** Where the page before ended, as it said; null for the first. */
  cursor: string | null;
}

export interface ListedEvent {
  id: string;
  /** As a webhook brings it. */
  body: unknown;
}

export type EventsAnswer =
  | {
      outcome: "read";
      /** By the vendor's id, of every type that something is read of; some may be older than asked for. */
      events: ListedEvent[];
      /** They are of the vendor's test mode, whether or not they say so. */
      test: boolean;
      /** For the next page; null after the last. */
      next: string | null;
    }
  | ReadFailure;

/** An event that says only what it is about: its facts are read with the program's API key (IN-18). */
export interface ThinEvent {
  event_id: string;
  event_type: string;
  /** ISO 8601, milliseconds, UTC. */
  occurred_at: string;
  /** Of the vendor's test mode. */
  test: boolean;
  /** The event that says the same in full, where the vendor made one. One of the two is there. */
  snapshot_id: string | null;
  /** What it is about. */
  object: { id: string | null; type: string; path: string } | null;
  /** In whose name both are read, where that is not the key's own account. */
  context: string | null;
}

export type EventAnswer = { outcome: "read"; /** As a webhook brings it in full. */ body: unknown } | ReadFailure;

export type LinksAnswer =
  | {
      outcome: "read";
      /** Ids of one payment, the one that was asked for first; it alone where no other is known. */ aliases: string[];
    }
  | ReadFailure;

export interface CodeAsked {
  id: string;
  /** As of when the answer counts. */
  occurred_at: string;
  /** Payments and subscriptions that carry it, by the vendor's ids, some of them. */
  carriers: readonly string[];
}

export type CodeAnswer =
  | {
      outcome: "read";
      /** What the code is called; none where the vendor gives it no name. */ facts: CodeFact[];
    }
  | ReadFailure;

export type LinesAnswer =
  | {
      outcome: "read";
      /** What the lines say; none where they say nothing. */ facts: Fact[];
    }
  | ReadFailure;

export interface VendorReads extends KeyModes {
  /** So long the vendor keeps its events, ms. */
  kept_ms: number;
  /**
   * A page of the vendor's list of events, newest first: one that comes while the list is read moves no other across the
   * end of a page.
   */
  listEvents(api_key: string, asked: EventsAsked): Promise<EventsAnswer>;
  /** An event in full of which a webhook only named what it is about: of a vendor with `thinOf`. */
  readEvent?(api_key: string, thin: ThinEvent): Promise<EventAnswer>;
  /** What else the payment goes by that a refund names: of a vendor whose refunds name it by other ids than its events do. */
  readLinks?(api_key: string, id: string): Promise<LinksAnswer>;
  /** What the lines of an invoice say that its event left out: of a vendor whose events have some of them. */
  readLines?(api_key: string, paid: PaymentFact): Promise<LinesAnswer>;
  /** What a code is called that payments carry by its id: of a vendor whose payments carry ids. */
  readCode?(api_key: string, code: CodeAsked): Promise<CodeAnswer>;
}

/** Asks for a page of each of these sizes until one is not too long. */
export async function firstThatFits(sizes: readonly number[], ask: (size: number) => Promise<Answer>): Promise<Answer> {
  const [size = 1, ...smaller] = sizes;
  const answer = await ask(size);
  return answer.is_too_long && smaller.length > 0 ? firstThatFits(smaller, ask) : answer;
}

/** What an answer that is not the expected one says. */
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
