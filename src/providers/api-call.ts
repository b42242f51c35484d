/** One HTTP call of a vendor's API, shared by the clients of all vendors. */
import { maskAccount, maskDistinctly } from "../domain/mask.ts";
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
  /** A longer answer is discarded; the default is 256 KiB. */
  most_bytes?: number;
}

/** The result of a call; `status` is null unless a complete answer arrived. */
export interface Answer {
  status: number | null;
  /** The answer exceeded the limit; then `status` is null. */
  is_too_long: boolean;
  /** Null unless the answer is JSON. */
  json: unknown;
  /** The vendor's requested delay, or null. */
  retry_after_ms: number | null;
  headers: Headers;
}

const MAX_WORDS = 500;

/** A vendor's error message, without any part of a key and with account ids masked. */
export function vendorWords(text: string): string {
  return withMaskedAccounts(text.replaceAll(/\b(?:[rs]k|pdl)_[\w*]+/g, "(key)")).slice(0, MAX_WORDS);
}

/** Masks the ids of vendors' accounts in a text, different ones differently; masked ids stay as they are. */
export function withMaskedAccounts(text: string): string {
  return text.replaceAll(/\bacct_\w+/g, maskDistinctly(maskAccount));
}

/** Makes one call, without redirects, within 20 s. Never throws: a failure is part of the answer. */
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
