/** One call of a vendor's API over HTTP, as the clients of all vendors make it. */
import { maskAccount, maskedApart } from "../domain/mask.ts";
import { retryAfterMs } from "../domain/retry-after.ts";
import { EXPIRED, fetchWithin, startDeadline } from "../lib/deadline.ts";
import { readAtMost } from "../lib/http-body.ts";
import type { Reach } from "./reach.ts";

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 256 * 1024;

export interface ApiReach extends Reach {
  timeoutMs?: number;
}

export interface ApiRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** Of a longer answer nothing is taken; 256 KiB unless given. */
  most_bytes?: number;
}

/** What came back; `status` null when no complete answer did. */
export interface Answer {
  status: number | null;
  /** The answer was longer than it may be; then `status` is null. */
  is_too_long: boolean;
  /** Null for what is no JSON. */
  json: unknown;
  /** How long the vendor asks to wait; null when it says nothing. */
  retry_after_ms: number | null;
  headers: Headers;
}

const MAX_WORDS = 500;

/** What a vendor says of a refusal, without any part of a key in it, and with the ids of accounts masked. */
export function vendorWords(text: string): string {
  return withMaskedAccounts(text.replaceAll(/\b(?:[rs]k|pdl)_[\w*]+/g, "(key)")).slice(0, MAX_WORDS);
}

/** A text with the ids of vendors' accounts masked, each different one differently; those that are masked already stay. */
export function withMaskedAccounts(text: string): string {
  return text.replaceAll(/\bacct_\w+/g, maskedApart(maskAccount));
}

/** Calls once, follows no redirect, and gives up after 20 s. Never throws: what went wrong is the answer. */
export async function callApi(
  { fetch, baseUrl, now, timeoutMs = TIMEOUT_MS }: ApiReach,
  { method, path, headers, body, most_bytes = MAX_ANSWER_BYTES }: ApiRequest,
): Promise<Answer> {
  const deadline = startDeadline(timeoutMs);
  const silence: Answer = {
    status: null,
    is_too_long: false,
    json: null,
    retry_after_ms: null,
    headers: new Headers(),
  };
  try {
    const response = await fetchWithin(deadline, fetch, new URL(path, baseUrl).href, {
      method,
      redirect: "manual",
      headers: { Accept: "application/json", ...headers },
      ...(body === undefined ? {} : { body }),
    });
    if (response === EXPIRED) return silence;
    const { bytes, ended } = await readAtMost(response.body, most_bytes, deadline);
    if (ended !== "complete") return { ...silence, is_too_long: ended === "cut" };
    return {
      status: response.status,
      is_too_long: false,
      json: parsed(new TextDecoder().decode(bytes)),
      retry_after_ms: retryAfterMs(response.headers.get("retry-after"), now()),
      headers: response.headers,
    };
  } catch {
    return silence;
  } finally {
    deadline.clear();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
