/** Calls of provider A's API. */
import { callApi, type Answer, type ApiReach, type ApiRequest } from "../api-call.ts";

/** The version whose shapes are written and read here; a newer default of the account changes nothing. */
export const API_VERSION = "2026-10-28.endive";

const USER_AGENT = "Service-Payouts/1.0";

const MODE = /^[a-z]+_(live|test)_/;

/** The vendor's mode that a key is of; undefined for one that does not say it. */
export function modeOf(api_key: string): string | undefined {
  return MODE.exec(api_key)?.[1];
}

export function isTestKey(api_key: string): boolean {
  return modeOf(api_key) === "test";
}

interface Sent {
  body?: string;
  contentType?: string;
  idempotency_key?: string;
  most_bytes?: number;
  /** In whose name; the key's own account unless given. */
  context?: string | null;
}

export function call(
  reach: ApiReach,
  api_key: string,
  method: ApiRequest["method"],
  path: string,
  { body, contentType, idempotency_key, most_bytes, context }: Sent = {},
): Promise<Answer> {
  return callApi(reach, {
    method,
    path,
    headers: {
      Authorization: `Bearer ${api_key}`,
      "Stripe-Version": API_VERSION,
      "User-Agent": USER_AGENT,
      ...(context === undefined || context === null ? {} : { "Stripe-Context": context }),
      ...(contentType === undefined ? {} : { "Content-Type": contentType }),
      ...(idempotency_key === undefined ? {} : { "Idempotency-Key": idempotency_key }),
    },
    ...(body === undefined ? {} : { body }),
    ...(most_bytes === undefined ? {} : { most_bytes }),
  });
}
