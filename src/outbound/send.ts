import type { AttemptError } from "../domain/delivery.ts";
import type { OwnHosts } from "../domain/own-host.ts";
import { checkTargetUrl } from "../domain/target-url.ts";
import { EXPIRED, fetchWithin, startDeadline, type Deadline, type Fetch } from "../lib/deadline.ts";
import { readAtMost, type BodyStart } from "../lib/http-body.ts";
import { iso } from "../lib/time.ts";
import { signatureHeaders } from "./sign.ts";
import { resolveTarget, type Resolve } from "../core/kernel/target.ts";

/** One event to one endpoint, as it is stored. */
export interface OutgoingDelivery {
  delivery_id: string;
  event_id: string;
  event: string;
  url: string;
  /** The stored text; its UTF-8 bytes are signed and sent. */
  body: string;
  /** The endpoint's current secret first, then the previous one while it is valid. */
  secrets: readonly [string, ...string[]];
}

export interface SendDeps {
  fetch: Fetch;
  /** Defaults to `resolveTarget`. */
  resolve?: Resolve;
  resolverUrl: string;
  ownHosts: OwnHosts;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Covers lookup, connection, headers and body. */
  budgetMs?: number;
}

/** One attempt as stored in the delivery record (HOOK-14), without its number. */
export interface AttemptResult {
  started_at: string;
  duration_ms: number;
  /** Null without an answer. */
  status_code: number | null;
  error: AttemptError | null;
  /** The start of the receiver's answer, at most 1 KiB of UTF-8, without NUL; null if it is empty. */
  response_excerpt: string | null;
  /** The cause of a failure for operators; for the log, not for the record. */
  reason: string | null;
}

/** The 5 seconds cover the connection, the headers and the body (HOOK-4); the lookup counts as well. */
export const ATTEMPT_BUDGET_MS = 5_000;

/** Bytes of a body that are read (HOOK-4). */
export const MAX_RESPONSE_BYTES = 16 * 1024;

/** Bytes of a body that the record keeps (HOOK-14). */
export const MAX_EXCERPT_BYTES = 1024;

const USER_AGENT = "Service-Webhooks/1.0";

/**
 * Makes one attempt: checks the URL, resolves its name, signs and POSTs. Never throws and never exceeds its budget.
 *
 * Succeeds if the endpoint answers 2xx and its body ends, or reaches 16 KiB, within the budget; a 2xx whose body is too
 * slow is a `timeout`, one whose body breaks off is a `connection` failure. Any other status is the failure, whatever
 * happens to its body: a 3xx is a failure, and redirects are never followed (HOOK-4). For `blocked` and `dns` no
 * request is sent.
 */
export async function sendAttempt(delivery: OutgoingDelivery, deps: SendDeps): Promise<AttemptResult> {
  const startedAt = deps.now();
  const budgetMs = deps.budgetMs ?? ATTEMPT_BUDGET_MS;
  const deadline = startDeadline(budgetMs);
  let outcome: Outcome;
  try {
    outcome = await guardAndPost(delivery, { ...deps, budgetMs, startedAt, deadline });
  } catch (error) {
    outcome = failed("connection", error instanceof Error ? error.message : "unknown failure");
  } finally {
    deadline.clear();
  }
  return { started_at: iso(startedAt), duration_ms: Math.max(0, Math.round(deps.now() - startedAt)), ...outcome };
}

type Outcome = Pick<AttemptResult, "status_code" | "error" | "response_excerpt" | "reason">;

interface Attempt extends SendDeps {
  budgetMs: number;
  startedAt: number;
  deadline: Deadline;
}

const TIMED_OUT = "no answer in time";

async function guardAndPost(delivery: OutgoingDelivery, attempt: Attempt): Promise<Outcome> {
  const { fetch, resolve = resolveTarget, resolverUrl, ownHosts, budgetMs, startedAt, deadline } = attempt;
  const target = checkTargetUrl(delivery.url);
  if (!target.ok) return failed("blocked", target.reason);
  const resolution = await resolve(target.url.hostname, { fetch, resolverUrl, ownHosts, timeoutMs: budgetMs });
  if (resolution.kind !== "public") return failed(resolution.kind, resolution.reason);

  const body = new TextEncoder().encode(delivery.body);
  const timestamp = Math.floor(startedAt / 1000);
  const { event_id, secrets } = delivery;
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": USER_AGENT,
    "X-Service-Event": delivery.event,
    "X-Service-Event-Id": event_id,
    "X-Service-Delivery-Id": delivery.delivery_id,
    ...(await signatureHeaders({ event_id, timestamp, body, secrets })),
  };
  if (deadline.signal.aborted) return failed("timeout", TIMED_OUT);
  const init: RequestInit = { method: "POST", headers, body, redirect: "manual" };
  const response = await fetchWithin(deadline, fetch, target.url.href, init);
  if (response === EXPIRED) return failed("timeout", TIMED_OUT);
  return outcomeOf(response.status, await readAtMost(response.body, MAX_RESPONSE_BYTES, deadline));
}

function outcomeOf(status_code: number, body: BodyStart): Outcome {
  const answered = { status_code, response_excerpt: excerptOf(body.bytes) };
  if (status_code >= 300 && status_code < 400) return { ...answered, error: "redirect", reason: "answered a redirect" };
  if (status_code < 200 || status_code > 299) {
    return { ...answered, error: "http", reason: `answered ${status_code}` };
  }
  if (body.ended === "expired") return { ...answered, error: "timeout", reason: "the body did not end in time" };
  if (body.ended === "broken") return { ...answered, error: "connection", reason: "the body broke off" };
  return { ...answered, error: null, reason: null };
}

/** The first KiB as text, cut between characters; invalid UTF-8 and every NUL become U+FFFD. */
function excerptOf(bytes: Uint8Array): string | null {
  if (bytes.length === 0) return null;
  // A character in stream mode that the cut splits is left out; at the real end it is shown as broken.
  const start = bytes.subarray(0, MAX_EXCERPT_BYTES);
  const text = new TextDecoder().decode(start, { stream: bytes.length > start.length }).replaceAll("\0", "\uFFFD");
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_EXCERPT_BYTES));
  return text.slice(0, read);
}

function failed(error: AttemptError, reason: string): Outcome {
  return { status_code: null, error, response_excerpt: null, reason };
}
