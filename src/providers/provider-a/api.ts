/** Calls of provider A's API. */
import { callApi, type Answer, type ApiReach, type ApiRequest } from "../api-call.ts";

/** The version of the shapes written and read here, independent of the account's default. */
export const API_VERSION = "2026-10-28.endive";

const USER_AGENT = "Service-Payouts/1.0";

const MODE = /^[a-z]+_(live|test)_/;

/** The vendor's mode of a key; undefined if the key does not show it. */
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
  /** The account in whose name the call is made; defaults to the key's own. */
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
