import { fromBase64, hmacSha256, toBase64, toHex } from "../lib/crypto.ts";

export interface SignInput {
  /** The audit event's id, equal for every endpoint, retry and redelivery of one event. */
  event_id: string;
  /** When the attempt starts, whole seconds since the epoch. */
  timestamp: number;
  /** The exact bytes that will be sent. */
  body: Uint8Array;
  /** The current secret, then the previous one while it is valid. */
  secrets: readonly [string, ...string[]];
}

/**
 * The headers that prove a delivery's origin. Rejects for a secret that is not `whsec_` + base64: without its signature
 * no delivery may be sent.
 *
 * `X-Service-Signature` (HOOK-3): hex HMAC-SHA256 of the raw body, keyed with the whole text of the current secret.
 * `webhook-*` (HOOK-17): Standard Webhooks, `v1,<base64>` for each secret, keyed with the bytes that the secret
 * encodes.
 */
export async function signatureHeaders({
  event_id,
  timestamp,
  body,
  secrets,
}: SignInput): Promise<Record<string, string>> {
  const [hex, ...standard] = await Promise.all([
    hmacSha256(secrets[0], body).then(toHex),
    ...secrets.map(async (secret) => {
      return `v1,${toBase64(await hmacSha256(keyOf(secret), `${event_id}.${timestamp}.`, body))}`;
    }),
  ]);
  return {
    "X-Service-Signature": hex,
    "webhook-id": event_id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": standard.join(" "),
  };
}

const SECRET_PREFIX = "whsec_";

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = secret.startsWith(SECRET_PREFIX) ? fromBase64(secret.slice(SECRET_PREFIX.length)) : null;
  if (key === null || key.length === 0) throw new Error("A signing secret is not of the form whsec_<base64>.");
  return key;
}
