import { hmacHex, nowSeconds, uniqueId } from "./vendor.ts";

/** The envelope around every object of provider A. */
export interface EventA {
  id: string;
  object: "event";
  api_version: string;
  created: number;
  data: { object: { id: string; [field: string]: unknown } };
  livemode: boolean;
  pending_webhooks: number;
  request: { id: string | null; idempotency_key: string | null };
  type: string;
}

/** The options of every maker: the event's own id and time, and fields that replace those of its object. */
export interface Overrides {
  event_id?: string;
  created?: number;
  /** False of test mode. */
  livemode?: boolean;
  object?: Record<string, unknown>;
}

/** Any event of provider A around any object. */
export function eventA(type: string, object: Record<string, unknown>, overrides: Overrides = {}): EventA {
  return {
    id: overrides.event_id ?? uniqueId("evt_"),
    object: "event",
    api_version: "2025-07-30.basil",
    created: overrides.created ?? nowSeconds(),
    data: { object: { ...object, ...overrides.object } as EventA["data"]["object"] },
    livemode: overrides.livemode ?? true,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}

/** The body as the vendor sends it: pretty-printed. Sign and send this text, not the event. */
export function bodyOfA(event: EventA): string {
  return JSON.stringify(event, null, 2);
}

/** The signature header for a body; `timestamp` in seconds, now unless given. */
export async function signA(body: string | Uint8Array, secret: string, timestamp = nowSeconds()): Promise<string> {
  return `t=${timestamp},v1=${await hmacHex(secret, `${timestamp}.`, body)}`;
}
